"""Does the observer of test_contention.py notice violations? Shows it some. Needs no cluster."""

import dataclasses
import itertools

from kubernetes.utils import parse_quantity
from tools.cluster import kubelet
from support.history import Bindings, group_at, in_order, in_part, rejected
from support.stored import THIEF, Change, Group, Node, Pod, Reservation, group_of, pod_of, queue_of

GPU = "nvidia.com/gpu"
SLOTS = frozenset({("coordinator", 0), ("collector", 0), ("collector", 1), ("aggregator", 0)})
KNOWN_AFTER, LOST = 3, 5


def pod(uid, role="collector", ordinal=0, node="a", **more):
    return Pod(uid=uid, name=f"pod-{uid}", node=node, requests={GPU: 1},
               **{"slot": ("job", role, ordinal), "group": "g", **more})


def thief(uid, gpus, node="a"):
    return Pod(uid=uid, name=f"thief-{uid}", node=node, requests={GPU: gpus}, thief=True)


def group(committed=True):
    return Group("g", "mine-1", SLOTS, {}, committed)


def node(ready=True, name="a", gpus=2):
    return Node(name, ready, {GPU: gpus})


def story(*events):
    """From (second, object) or (second, object, "gone")."""
    number = itertools.count(1)
    return [Change(next(number), at, bool(gone), what) for at, what, *gone in events]


def broken(*events):
    return Bindings(KNOWN_AFTER).judge(story((0, node()), *events)).broken


COMMITTED = (0, group())


def test_a_gang_bound_after_its_commit_with_the_coordinator_last_is_correct():
    assert broken((0, group(False)), (1, group()), (1, pod("1")), (1, pod("2", ordinal=1)),
                  (1, pod("3", "aggregator", node="b")), (2, pod("4", "coordinator", node="b"))) == []


def test_a_pod_bound_before_the_commit_is_reported():
    (said,) = broken((0, group(False)), (1, pod("1")), (1, group()))
    assert "is not committed" in said
    (said,) = broken((1, pod("1")))
    assert "is not committed" in said


def test_a_requested_pod_needs_the_commit_of_its_own_gang():
    slot = ("collector", 4096)
    asked = pod("5", ordinal=4096)
    (said,) = broken(COMMITTED, (1, asked))
    assert "is not committed" in said
    (said,) = broken((0, dataclasses.replace(group(), more={slot: "a"})), (1, asked))
    assert "is not committed" in said
    started = dataclasses.replace(group(), more={slot: "a"}, more_committed=frozenset({slot}))
    assert broken((0, started), (1, asked)) == []


def test_a_coordinator_bound_before_others_is_reported():
    (said,) = broken(COMMITTED, (1, pod("1")), (1, pod("2", ordinal=1)), (1, pod("3", "coordinator", node="b")))
    assert "before [('aggregator', 0)]" in said


def test_a_coordinator_need_not_wait_for_what_was_bound_and_lost():
    assert broken(COMMITTED, (1, pod("1")), (1, pod("2", ordinal=1)), (1, pod("3", "aggregator", node="b")),
                  (1, pod("1"), "gone"), (1, pod("4", "coordinator", node="b"))) == []


def test_two_live_pods_of_one_slot_are_reported():
    (said,) = broken(COMMITTED, (1, pod("1")), (2, pod("2", node="b")))
    assert "beside ['pod-1']" in said
    assert broken(COMMITTED, (1, pod("1")), (2, pod("1", finished="OutOfcpu")), (2, pod("2"))) == []
    assert broken(COMMITTED, (1, pod("1")), (2, pod("1"), "gone"), (2, pod("2"))) == []


def test_an_overcommitted_node_is_reported():
    told = broken(COMMITTED, (1, pod("1")), (1, pod("2", ordinal=1)), (1, pod("3", "aggregator", deleting=True)))
    assert len(told) == 1 and "take 3" in told[0], "a pod on its way out occupies"


def test_a_thief_counts_if_it_was_there_for_some_time_before_the_commit():
    (said,) = broken((0, thief("t", 2)), (4, group()), (4, pod("1")))
    assert "thieves that were known 2" in said
    assert broken((2, thief("t", 2)), (4, group()), (9, pod("1"))) == [], "it could not be known at the commit"
    assert broken((0, thief("t", 2)), (3, thief("t", 2), "gone"), (4, group()), (4, pod("1"))) == []


def test_a_thief_counts_for_a_successor_if_it_was_there_for_some_time_before_it():
    begin = [COMMITTED, (1, pod("1")), (1, pod("1"), "gone"), (2, thief("t", 2))]
    (said,) = broken(*begin, (9, pod("2")))
    assert "thieves that were known 2" in said
    assert broken(*begin, (4, pod("2"))) == []


# -- in part

WHOLE = [(0, group()), (1, pod("1")), (1, pod("2", ordinal=1)), (2, pod("3", "coordinator"))]


def times(*events, now=100):
    return [(one.begin, one.end, one.least, one.quorum) for one in in_part(story((0, node()), *events), LOST, now)]


def test_a_start_lasts_from_the_first_pod_to_the_last_one():
    assert times(*WHOLE) == [(1, 2, 1, 3)], "the aggregator is not of the quorum"


def test_a_gang_that_lost_a_pod_is_partial_until_it_is_whole_or_deleted():
    assert times(*WHOLE, (10, pod("1", deleting=True)), (14, pod("4")))[1:] == [(10, 14, 2, 3)]
    assert times(*WHOLE, (10, pod("1", finished="OutOfcpu")))[1:] == [(10, 100, 2, 3)]
    assert times(*WHOLE, (10, pod("1"), "gone"), (11, pod("2"), "gone"), (13, pod("3"), "gone"))[1:] == [(10, 13, 1, 3)]


def test_a_gang_whose_worker_has_finished_is_whole_without_it():
    assert times(*WHOLE, (10, pod("1", finished="Succeeded")))[1:] == []
    (lost,) = times(*WHOLE, (10, pod("1", finished="Succeeded")), (12, pod("2", ordinal=1, deleting=True)))[1:]
    assert lost == (12, 100, 1, 3)


def test_the_pods_that_outlive_their_job_are_no_gang_in_part():
    assert times(*WHOLE, (10, pod("3", "coordinator", finished="Succeeded")), (12, pod("1"), "gone"))[1:] == []


def test_a_node_that_is_down_for_long_counts_as_lost():
    elsewhere = [(0, node(name="b")), *WHOLE[:3], (2, pod("3", "coordinator", node="b"))]
    assert times(*elsewhere, (10, node(False, "b")), (14, node(True, "b")))[1:] == []
    assert times(*elsewhere, (10, node(False, "b")), (20, node(True, "b")))[1:] == [(15, 20, 2, 3)]
    assert times(*elsewhere, (10, node(name="b"), "gone"))[1:] == [(15, 100, 2, 3)]


def test_a_watch_that_lags_behind_changes_neither_order_nor_times():
    late = [Change(1, 9, False, node()), Change(3, 5, False, node()), Change(2, 4, False, node()),
            Change(4, 7, False, node())]
    assert [(one.version, one.at) for one in in_order(late)] == [(1, 4), (2, 4), (3, 5), (4, 7)]


# -- what the API server's objects become


def test_a_pod_is_read_as_the_api_server_has_it():
    body = {"metadata": {"uid": "1", "name": "mine", "annotations": {
                "nervex.sensetime.com/slot": "learner/3", "nervex.sensetime.com/pod-group-uid": "g",
                "nervex.sensetime.com/incarnation": "0", **kubelet.annotations(rejected="OutOfcpu")},
                         "ownerReferences": [{"kind": "NerveXJob", "uid": "job"}]},
            "spec": {"nodeName": "a", "containers": [{"resources": {"requests": {GPU: "2"}}}]},
            "status": {"phase": "Failed", "reason": "OutOfcpu"}}
    seen = pod_of(body)
    assert (seen.slot, seen.group, seen.finished, seen.requests[GPU]) == (("job", "learner", 3), "g", "OutOfcpu", 2)
    assert rejected(story((1, seen))) == {"1"}
    stolen = pod_of({"metadata": {"uid": "2", "name": "thief", "labels": {THIEF: "yes"}}, "spec": {"containers": [{}]},
                     "status": {}})
    assert stolen.thief and not stolen.occupies and not stolen.slot


def test_a_pod_that_is_resized_in_place_has_the_larger_request():
    body = {"metadata": {"uid": "1", "name": "mine"},
            "spec": {"containers": [{"resources": {"requests": {"cpu": "2"}}}]},
            "status": {"containerStatuses": [{"allocatedResources": {"cpu": "3"}}]}}
    assert pod_of(body).requests == {"pods": 1, "cpu": 3}
    body["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "4"
    assert pod_of(body).requests["cpu"] == 4


def test_a_pod_group_is_read_as_the_api_server_has_it():
    member = {"name": "collector", "role": "collector", "requests": {GPU: "1"}, "slots": [{"ordinal": 0, "count": 2}]}
    asked = {"name": "asked", "role": "collector", "requests": {GPU: "1"}, "slots": [{"ordinal": 4096}]}
    places = {"role": "collector", "nodes": [{"ordinal": 4096, "node": "b", "number": 7}]}
    seen = group_of({
        "metadata": {"uid": "g", "name": "mine-1", "namespace": "rl"},
        "spec": {"priority": 5, "queuedSince": "1970-01-01T00:01:00.5Z", "activeDeadlineSeconds": 60,
                 "preemptible": True,
                 "gangs": [{"name": "base", "members": [member]}, {"name": "request-1", "members": [asked]}]},
        "status": {"queue": {"name": "team"}, "gangs": [
            {"name": "base", "reserved": [{"set": "collector", "nodes": [{"node": "a", "count": 3}]}],
             "reservation": {"nodes": [{"set": "collector", "nodes": [{"node": "a", "count": 2}, {"node": "b"}]}],
                             "countsOn": ["other"], "due": "1970-01-01T00:02:00Z", "since": "1970-01-01T00:01:00Z"}},
            {"name": "request-1", "committed": True, "placements": [places]}]}})
    assert seen.slots == {("collector", 0), ("collector", 1)} and not seen.placements and not seen.committed
    assert (seen.more, seen.more_committed) == ({("collector", 4096): "b"}, {("collector", 4096)})
    assert (seen.queue, seen.rank, seen.seconds, seen.grace, seen.preemptible) == (
        "team", (-5, 60.5, "rl", "mine-1"), 60, None, True)
    assert seen.reserved == {"a": {GPU: 3}}
    assert seen.reservation == Reservation({"a": {GPU: 2}, "b": {GPU: 1}}, ("other",), 120)


def test_a_queue_is_read_as_the_api_server_has_it():
    seen = queue_of({"metadata": {"name": "team"}, "spec": {"parent": "lab", "fairUsers": True, "limit": [
        {"resources": {GPU: 8, "cpu": "500m"}}, {"nodeClass": "A100", "resources": {GPU: "4"}}]}})
    assert seen.limits == {("", GPU): 8, ("", "cpu"): parse_quantity("0.5"), ("A100", GPU): 4}
    assert (seen.name, seen.parent, seen.by_rank) == ("team", "lab", False)


def test_a_group_is_found_as_it_was_at_a_version():
    changes = story((0, group(False)), (1, pod("1")), (2, group()))
    assert not group_at(changes, "g", 2).committed
    assert group_at(changes, "g", 3).committed
    assert group_at(changes, "other", 3) is None
