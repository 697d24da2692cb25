"""Do the judges of test_contention.py notice a queue above its limit, and a job on nodes that are reserved for another
one? Shows them some. Needs no cluster."""

import dataclasses
import itertools

import pytest
from support import queue_model, reservation_model
from support.kept_nodes import KeptNodes
from support.queue_limits import Limits
from support.stored import Change, Group, Node, Pod, Queue, Reservation

GPU = "nvidia.com/gpu"
GRACE = 5


def story(*events):
    """From (second, object) or (second, object, "gone")."""
    number = itertools.count(1)
    return [Change(next(number), at, bool(gone), what) for at, what, *gone in events]


def node(name="a", node_class="", gpus=8):
    return Node(name, True, {GPU: gpus}, node_class)


def queue(name="team", limit=None, parent="", **by_class):
    limits = {(node_class, GPU): amount for node_class, amount in by_class.items()}
    return Queue(name, parent, {**limits, **({("", GPU): limit} if limit is not None else {})})


def pod(uid, gpus=1, node="a", queue="team", **more):
    """Of slot collector/0 of the job and PodGroup with its name."""
    return Pod(uid=uid, name=f"pod-{uid}", node=node, requests={GPU: gpus},
               **{"slot": (uid, "collector", 0), "group": uid, "queue": queue, **more})


def replaces(before, uid, **more):
    return dataclasses.replace(before, uid=uid, name=f"pod-{uid}", **more)


def group(uid, node="a", slot=("collector", 0), **more):
    return Group(uid, f"{uid}-1", frozenset({slot}), {slot: (1, node)}, **more)


# -- limits


def judged(*events, **options):
    return Limits(GRACE, **options).judge(story((0, node("a", "A")), (0, node("b", "B")), *events))


def broken(*events, **options):
    return judged(*events, **options).broken


def test_a_queue_may_use_its_whole_limit_and_no_more():
    assert broken((0, queue(limit=2)), (10, pod("1")), (10, pod("2"))) == []
    (said,) = broken((0, queue(limit=2)), (10, pod("1")), (10, pod("2")), (11, pod("3")))
    assert "pods of queue team use nvidia.com/gpu 3: its limit is 2" in said


def test_a_limit_of_zero_allows_nothing_and_no_limit_all():
    assert len(broken((0, queue(limit=0)), (10, pod("1")))) == 1
    judge = judged((0, queue()), (10, pod("1", gpus=100)))
    assert (judge.broken, judge.count) == ([], 0)


def test_pods_that_have_finished_or_are_gone_do_not_count_and_terminating_ones_do():
    first = pod("1")
    for ends in ((10, dataclasses.replace(first, finished="Succeeded")), (10, first, "gone")):
        assert broken((0, queue(limit=1)), (9, first), ends, (10, pod("2"))) == []
    terminating = dataclasses.replace(first, deleting=True)
    assert len(broken((0, queue(limit=1)), (9, first), (10, terminating), (10, pod("2")))) == 1
    assert broken((0, queue(limit=1)), (9, pod("1", node="")), (10, pod("2"))) == [], "it was not bound"


def test_thieves_and_jobs_without_a_queue_count_in_none():
    assert broken((0, queue(limit=1)), (9, pod("1", queue="")), (10, pod("2")),
                  (10, Pod("t", "thief", "a", {GPU: 4}, thief=True))) == []


def test_the_limit_of_a_parent_holds_for_its_parts_together():
    tree = [(0, queue("lab", limit=2)), (0, queue("x", parent="lab")), (0, queue("y", parent="x"))]
    assert broken(*tree, (10, pod("1", queue="x")), (10, pod("2", queue="y"))) == []
    (said,) = broken(*tree, (10, pod("1", queue="x")), (10, pod("2", queue="y")), (10, pod("3", queue="y")))
    assert "pods of queue lab" in said


def test_a_class_limit_counts_what_is_on_nodes_of_the_class():
    assert broken((0, queue(A=1)), (10, pod("1")), (10, pod("2", node="b")), (10, pod("3", node="b"))) == []
    (said,) = broken((0, queue(A=1)), (10, pod("1", node="b")), (10, pod("2")), (10, pod("3")))
    assert "on nodes of class A: its limit is 1" in said
    tree = [(0, queue("lab", A=1)), (0, queue("team", parent="lab"))]
    assert len(broken(*tree, (10, pod("1")), (10, pod("2")))) == 1


def test_a_limit_that_is_lowered_below_the_use_is_no_violation_and_a_start_after_it_is():
    begin = [(0, queue(limit=2)), (10, pod("1")), (10, pod("2")), (20, queue(limit=1))]
    assert broken(*begin) == []
    (said,) = broken(*begin, (30, pod("1"), "gone"), (31, group("3")), (32, pod("3")))
    assert "its limit is 1" in said
    assert broken(*begin, (30, pod("1"), "gone"), (30, pod("2"), "gone"), (31, group("3")), (32, pod("3"))) == []


def test_a_binding_right_after_its_limit_was_lowered_is_allowed_and_counted():
    judge = judged((0, queue(limit=1)), (20, queue(limit=0)), (20 + GRACE - 1, pod("1")))
    assert (judge.broken, judge.after) == ([], 1)
    assert len(broken((0, queue(limit=1)), (20, queue(limit=0)), (20 + GRACE + 1, pod("1")))) == 1


def test_a_plan_from_before_a_limit_was_lowered_may_still_start():
    assert broken((0, queue(limit=1)), (10, group("1")), (20, queue(limit=0)), (60, pod("1"))) == []
    dropped = dataclasses.replace(group("1"), placements={})
    assert len(broken((0, queue(limit=1)), (10, group("1")), (20, queue(limit=0)), (30, dropped), (40, group("1")),
                      (60, pod("1")))) == 1, "it was planned again under the lower limit"


def test_the_highest_limit_since_the_plan_counts():
    assert broken((0, queue(limit=0)), (10, group("1")), (12, queue(limit=1)), (20, queue(limit=0)),
                  (60, pod("1"))) == []


def test_a_pod_that_replaces_a_lost_one_keeps_its_part_of_a_limit_that_was_lowered():
    first = pod("1")
    lost = [(0, queue(limit=1)), (10, group("1")), (11, first), (60, queue(limit=0)), (80, first, "gone")]
    again = replaces(first, "1b")
    assert broken(*lost, (90, again)) == []
    assert broken(*lost, (82, dataclasses.replace(group("1"), placements={})), (83, group("1")), (90, again)) == []
    taken = [(0, queue(limit=1)), (10, group("1")), (11, first), (80, first, "gone"), (85, group("2")), (86, pod("2"))]
    (said,) = broken(*taken, (90, again))
    assert "it replaces a lost pod" in said, "another gang got its part"


def test_a_pod_that_replaces_a_lost_one_obeys_the_limits_of_classes():
    first = pod("1", node="a")
    lost = [(0, queue(B=0)), (10, group("1")), (11, first), (80, first, "gone")]
    (said,) = broken(*lost, (81, group("1", "b")), (90, replaces(first, "1b", node="b")))
    assert "on nodes of class B" in said
    assert broken(*lost, (90, replaces(first, "1b"))) == []
    lowered = [(0, queue(A=1)), (10, group("1")), (11, first), (60, queue(A=0)), (80, first, "gone")]
    assert broken(*lowered, (90, replaces(first, "1b"))) == [], "its job uses no more of the class than before"
    moved = [(0, queue(B=1)), *lost[1:], (85, queue(B=0)), (100, group("1", "b"))]
    (said,) = broken(*moved, (110, replaces(first, "1b", node="b")))
    assert "on nodes of class B" in said, "its job had nothing of that class"


def test_a_job_that_swaps_the_classes_of_two_lost_pods_uses_no_more_than_before():
    def places(first, second):
        slots = {("collector", 0): (1, first), ("collector", 1): (2, second)}
        return Group("1", "1-1", frozenset(slots), slots)
    one, two = pod("1"), replaces(pod("1", node="b"), "2", slot=("1", "collector", 1))
    runs = [(0, queue(A=1, B=1)), (10, places("a", "b")), (11, one), (11, two), (60, queue(A=0, B=0))]
    lost = [(80, one, "gone"), (80, two, "gone"), (90, places("b", "a"))]
    assert broken(*runs, *lost, (91, replaces(one, "1b", node="b")), (91, replaces(two, "2b", node="a"))) == []


def test_a_plan_that_moves_before_it_starts_keeps_its_time_but_for_another_class():
    begin = [(0, queue(limit=1, B=1)), (10, group("1"))]
    assert broken(*begin, (20, queue(limit=0, B=1)), (30, group("1", "b")), (60, pod("1", node="b"))) == []
    (said,) = broken(*begin, (20, queue(limit=1, B=0)), (30, group("1", "b")), (60, pod("1", node="b")))
    assert "on nodes of class B" in said


def test_what_was_reserved_for_requests_stays_in_use_when_a_limit_is_lowered():
    slot = ("collector", 4096)
    reserves = group("1", reserved={"a": {GPU: 1}})
    asks = dataclasses.replace(group("1"), more={slot: "a"})
    asked = replaces(pod("1"), "1r", slot=("1", *slot))
    begin = [(0, queue(limit=2)), (10, reserves), (11, pod("1")), (60, queue(limit=1))]
    assert broken(*begin, (80, asks), (81, asked)) == []
    begin[1] = (10, group("1"))
    assert len(broken(*begin, (80, asks), (81, asked))) == 1, "nothing was reserved"


def test_a_queue_that_is_moved_brings_its_use_without_a_violation():
    tree = [(0, queue("lab", limit=1)), (0, queue("x", parent="lab")), (0, queue("y"))]
    moved = [(10, pod("1", queue="x")), (10, pod("2", queue="y")), (20, queue("y", parent="lab"))]
    assert broken(*tree, *moved) == []
    assert len(broken(*tree, *moved, (40, pod("3", queue="x")))) == 1


def test_what_runs_in_a_deleted_queue_counts_in_its_parent_and_when_it_is_back():
    tree = [(0, queue("lab", limit=1)), (0, queue("x", parent="lab", limit=1)), (0, queue("y", parent="lab"))]
    deleted = [(10, pod("1", queue="x")), (20, queue("x", parent="lab", limit=1), "gone")]
    (said,) = broken(*tree, *deleted, (40, pod("2", queue="y")))
    assert "pods of queue lab use nvidia.com/gpu 2" in said
    assert broken(*tree, *deleted, (40, pod("1", queue="x"), "gone"), (41, pod("2", queue="y"))) == []
    assert len(broken(*tree, *deleted, (40, queue("x", limit=1)), (60, pod("2", queue="x")))) == 1


def test_a_resized_pod_counts_as_it_is():
    grown = dataclasses.replace(pod("1"), requests={GPU: 2})
    assert broken((0, queue(limit=2)), (10, pod("1")), (20, grown)) == [], "no binding"
    assert len(broken((0, queue(limit=2)), (10, pod("1")), (20, grown), (30, pod("2")))) == 1


def test_gangs_of_other_operators_count_in_the_queue_of_their_namespace():
    def guest(uid, **more):
        return Pod(uid, uid, "a", {GPU: 1}, namespace="guests", foreign=True, **more)
    ending = [(0, queue(limit=1)), (10, guest("1")), (20, guest("1", deleting=True))]
    (said,) = broken(*ending, (30, pod("2")), guests={"guests": "team"})
    assert "use nvidia.com/gpu 2" in said
    assert broken(*ending, (30, pod("2"))) == []
    (said,) = broken(*ending, (30, guest("2")), guests={"guests": "team"})
    assert said
    waits = dataclasses.replace(guest("1"), node="")
    lowered = [(0, queue(limit=1)), (1, waits), (20, queue(limit=0))]
    nominated = dataclasses.replace(waits, nominated=True)
    assert broken(*lowered[:2], (5, nominated), lowered[2], (30, guest("1")), guests={"guests": "team"}) == []
    assert len(broken(*lowered, (29, nominated), (30, guest("1")), guests={"guests": "team"})) == 1
    assert len(broken(*lowered, (30, guest("1")), guests={"guests": "team"})) == 1


def test_the_use_of_each_queue_has_its_parts_and_what_is_reserved():
    judge = judged((0, queue("lab", limit=9)), (0, queue("x", parent="lab")), (0, queue("y", parent="lab")),
                   (0, queue("old")), (5, queue("old"), "gone"),
                   (10, pod("1", queue="x")), (10, pod("2", gpus=3, queue="y")), (10, pod("3", queue="old")),
                   (10, group("2", reserved={"a": {GPU: 2}}, queue="y")), (11, pod("1", queue="x"), "gone"))
    assert judge.use() == {"lab": {GPU: 5}, "x": {}, "y": {GPU: 5}}
    assert judge.most["lab", "", GPU] == 4 and judge.most["lab", "A", GPU] == 4


# -- reserved nodes

NO_PLAN = dataclasses.replace(group("head", queue="team", queued_since=100), placements={})
EPOCH = 1000                  # at second 0


def head(gpus=6, on="a", **more):
    kept = {key: more.pop(key) for key in ("due", "counts_on") if key in more}
    return dataclasses.replace(NO_PLAN, reservation=Reservation({on: {GPU: gpus}}, **kept), **more)


def behind(uid, **more):
    return group(uid, **{"queue": "team", "queued_since": 200, "grace": 10, **more})


def starts(uid, at, gpus=4, **more):
    return [(at, behind(uid, **more)), (at + 1, dataclasses.replace(behind(uid, **more), committed=True)),
            (at + 2, pod(uid, gpus=gpus))]


def taken(*events):
    return KeptNodes(GRACE, EPOCH).judge(story((0, node()), (0, queue()), *events)).broken


def test_a_job_without_an_end_that_starts_on_reserved_nodes_is_reported():
    (said,) = taken((10, head()), *starts("1", 20))
    assert "6 of 8 is reserved for head-1" in said and "use 4" in said
    assert len(taken((10, head()), *starts("1", 20, gpus=1), *starts("2", 30, gpus=2))) == 1, "the second one"
    assert len(taken((10, head()), *starts("1", 20), *starts("2", 30, preemptible=True))) == 1, "and not the second one"


def test_what_a_reservation_leaves_of_a_node_is_free():
    assert taken((10, head()), *starts("1", 20, gpus=2)) == []
    ended = dataclasses.replace(pod("1", gpus=2), finished="Succeeded")
    for ends in ((40, ended, "gone"), (40, ended)):
        assert taken((10, head()), *starts("1", 20, gpus=2), ends, *starts("2", 50, gpus=2)) == []
    assert taken((10, head(on="b")), *starts("1", 20)) == []


def test_what_was_planned_before_the_reservation_or_at_the_same_time_is_not_judged():
    assert taken((8, behind("1")), (10, head()), (60, pod("1", gpus=4))) == []
    assert taken((10, head()), *starts("1", 10 + GRACE - 1)) == []
    assert taken((10, NO_PLAN), (50, head()), *starts("1", 20)[:1], (60, pod("1", gpus=4))) == []


def test_a_job_that_ends_in_time_may_start_and_one_that_ends_later_not():
    due = EPOCH + 1000
    assert taken((10, head(due=due)), *starts("1", 20, seconds=900)) == []
    assert len(taken((10, head(due=due)), *starts("1", 20, seconds=1000))) == 1
    assert len(taken((10, head(due=due)), *starts("1", 20, seconds=975))) == 1, "its pods take 10 s to end"
    assert len(taken((10, head(due=due)), *starts("1", 20, seconds=900, grace=None))) == 1, "its pods stay"
    assert len(taken((10, head()), *starts("1", 20, seconds=900))) == 1, "the head waits for jobs without an end"
    later = [(10, head(due=due)), (20, behind("1", seconds=900)), (25, head(due=due - 500))]
    assert taken(*later, (26, pod("1", gpus=4))) == [], "when it was planned it ended in time"
    longer = [(10, head(due=due - 500)), (20, behind("1", seconds=900)), (21, head(due=due)), (22, pod("1", gpus=4))]
    assert taken(*longer) == [], "the planner knew the later time"


def test_a_job_that_ends_in_time_since_the_due_time_became_later_does_not_count():
    prolonged = [(10, head(due=EPOCH + 500)), *starts("1", 20, gpus=2, seconds=900), (40, head(due=EPOCH + 2000))]
    assert taken(*prolonged, *starts("2", 60, gpus=2)) == []
    assert len(taken(*prolonged[:-1], *starts("2", 60, gpus=2))) == 1


def test_the_time_limit_of_a_queue_counts():
    limited = dataclasses.replace(queue(), max_seconds=900)
    assert taken((1, limited), (10, head(due=EPOCH + 1000)), *starts("1", 20)) == []


def test_a_preemptible_job_may_start():
    assert taken((10, head()), *starts("1", 20, preemptible=True)) == []


def test_jobs_before_the_head_and_jobs_of_other_queues_may_start():
    assert taken((10, head()), *starts("1", 20, queued_since=50)) == []
    assert taken((10, head()), *starts("1", 20, priority=1)) == []
    assert len(taken((10, head(priority=1)), *starts("1", 20, queued_since=50))) == 1
    assert taken((1, queue("other")), (10, head()), (20, behind("1")), (21, pod("1", gpus=4, queue="other"))) == []
    fifo = dataclasses.replace(queue(), by_rank=False)
    assert taken((1, fifo), (10, head()), *starts("1", 20)) == []


def test_the_head_itself_and_gangs_that_heal_may_use_the_nodes():
    judge = KeptNodes(GRACE, EPOCH).judge(story((0, node()), (10, head()), (21, pod("head", gpus=6))))
    assert (judge.broken, judge.reservations, judge.count) == ([], 1, 0)
    lost = pod("1", gpus=4, node="b")
    runs = [(1, behind("1", node="b", committed=True)), (2, lost), (10, head()), (20, lost, "gone")]
    assert taken(*runs, (21, behind("1", node="a", committed=True)), (22, replaces(lost, "1b", node="a"))) == []
    moved = [(1, behind("1", node="b", committed=True)), (10, head()), (21, behind("1", node="a", committed=True))]
    assert taken(*moved, (22, pod("1", gpus=4))) == [], "it was committed elsewhere"


def test_requests_of_running_jobs_are_not_judged():
    assert taken((10, head()), (20, behind("1")), (21, pod("1", gpus=4, slot=("1", "collector", 4096)))) == []


def test_a_reservation_that_ended_keeps_nothing():
    assert taken((10, head()), (15, NO_PLAN), *starts("1", 20)) == []
    assert taken((10, head()), (15, head(), "gone"), *starts("1", 20)) == []


def test_a_reservation_that_changes_is_judged_as_a_new_one():
    begin = [(10, head(gpus=4)), *starts("1", 20, gpus=4)]
    assert taken(*begin, (30, head(gpus=6, counts_on=("1",))), *starts("2", 40, gpus=2)) == []
    assert taken(*begin, (30, head(gpus=4, counts_on=("1",))), *starts("2", 40, gpus=4)) == []
    assert len(taken(*begin, (30, head(gpus=4)), *starts("2", 40, gpus=4))) == 1, "nothing has changed"
    assert len(taken(*begin, (30, head(gpus=6, counts_on=("1",))), *starts("2", 40, gpus=4))) == 1


# -- histories of small schedulers

SEEDS, STEPS = range(20), 600


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_found_in_a_history_that_keeps_the_rules(seed):
    judge = Limits(GRACE).judge(queue_model.Model(seed).run(STEPS))
    assert judge.broken == []
    assert judge.count > 20, "the limits concern some bindings"
    judge = KeptNodes(GRACE, 0).judge(reservation_model.Model(seed).run(STEPS))
    assert judge.broken == []
    assert judge.count > 5, "some bindings are on reserved nodes"


@pytest.mark.parametrize("fault", queue_model.FAULTS)
def test_each_fault_with_limits_is_found(fault):
    histories = {seed: queue_model.Model(seed, fault).run(STEPS) for seed in SEEDS}
    found = [seed for seed, changes in histories.items() if Limits(GRACE).judge(changes).broken]
    assert len(found) >= 3, found


@pytest.mark.parametrize("fault", reservation_model.FAULTS)
def test_each_fault_with_reserved_nodes_is_found(fault):
    histories = {seed: reservation_model.Model(seed, fault).run(STEPS) for seed in SEEDS}
    found = [seed for seed, changes in histories.items() if KeptNodes(GRACE, 0).judge(changes).broken]
    assert len(found) >= 3, found
