"""Removing and replacing replicas: the server's acceptance rows S3 to S5 and S12, and the contract on DELETE and
POST failed. The effect of a call is read from spec.requests first, then from the pods."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tools.cluster import pod_groups
from support.jobs import job
from support.replicas_api import pod_of
from support.wait import wait_for

NAME = "row"
COORDINATOR = f"{NAME}-coordinator"


@pytest.fixture
def running(jobs, namespace):
    """A job whose coordinator runs; returns its namespace."""
    jobs.create(job(NAME))
    jobs.wait_phase(NAME, "Running")
    return namespace


@pytest.fixture
def grown(jobs, running, replicas_api):
    """A running job with 2 collectors and 3 learners, which are returned with the namespace."""
    added = replicas_api.add(running, COORDINATOR, collectors=2, learners=3).data
    jobs.wait_pods(NAME, 7, "Running")
    return running, added


def lengths(data):
    return len(data["collectors"]), len(data["learners"])


def slots(jobs):
    """{"collector": [(ordinal, incarnation), ...], ...} as the job wants them."""
    found = {"collector": [], "learner": []}
    for entry in jobs.get(NAME)["spec"]["requests"]["entries"]:
        found[entry["role"]] += [(slot["ordinal"], slot["incarnation"]) for slot in entry["slots"]]
    return found


def wait_listed(api, namespace, urls):
    """Waits until exactly these are listed, which means that their pods exist and no others do."""
    def look():
        data = api.get(namespace=namespace, coordinator=COORDINATOR).data
        return all(sorted(data[role]) == sorted(urls[role]) for role in ("collectors", "learners")), data
    return wait_for(look, f"{urls} to be listed")


# -- DELETE


def test_s5_the_newest_are_removed(jobs, grown, replicas_api):
    namespace, added = grown
    reply = replicas_api.remove(namespace, COORDINATOR, collectors=1, learners=1)
    assert reply.status == 200, reply
    assert reply.data["collectors"] == added["collectors"][1:]
    assert reply.data["learners"] == added["learners"][2:]
    assert slots(jobs) == {"collector": [(4096, 0)], "learner": [(4096, 0), (4097, 0)]}
    wait_listed(replicas_api, namespace, {"collectors": added["collectors"][:1], "learners": added["learners"][:2]})
    jobs.wait_pods(NAME, 5, "Running")


def test_fewer_than_asked_removes_what_there_is(jobs, grown, replicas_api):
    namespace, added = grown
    reply = replicas_api.remove(namespace, COORDINATOR, collectors=5000)
    assert reply.status == 200, reply
    assert reply.data["collectors"] == added["collectors"]
    assert slots(jobs) == {"collector": [], "learner": [(4096, 0), (4097, 0), (4098, 0)]}
    assert lengths(replicas_api.remove(namespace, COORDINATOR, collectors=1).data) == (0, 0)
    jobs.wait_pods(NAME, 5, "Running")


def test_an_ordinal_that_was_removed_is_not_used_again(jobs, grown, replicas_api):
    namespace, added = grown
    replicas_api.remove(namespace, COORDINATOR, collectors=2)
    again = replicas_api.add(namespace, COORDINATOR, collectors=2).data
    assert not set(again["collectors"]) & set(added["collectors"])
    assert slots(jobs)["collector"] == [(4098, 0), (4099, 0)]


def test_removing_one_removes_a_live_replica(jobs, grown, replicas_api, node_agent):
    namespace, added = grown
    node_agent.set_phase(pod_of(added["collectors"][1]), "Succeeded")
    wait_for(lambda: jobs.get(NAME)["status"].get("ended"), "the end to be counted")
    reply = replicas_api.remove(namespace, COORDINATOR, collectors=1)
    assert reply.data["collectors"] == added["collectors"][:1]
    assert slots(jobs)["collector"] == [(4097, 0)]


def test_the_base_replicas_are_removed_last(jobs, namespace, replicas_api):
    body = job(NAME)
    body["spec"]["collector"]["replicas"] = 2
    jobs.create(body)
    jobs.wait_phase(NAME, "Running")
    requested = replicas_api.add(namespace, COORDINATOR, collectors=1).data["collectors"]
    removed = replicas_api.remove(namespace, COORDINATOR, collectors=2).data["collectors"]
    assert len(removed) == 2 and removed[1:] == requested
    assert [{key: change[key] for key in ("attempt", "role", "ordinal", "removed")}
            for change in jobs.get(NAME)["spec"]["requests"]["base"]] == \
        [{"attempt": 1, "role": "collector", "ordinal": 1, "removed": True}]
    jobs.wait_pods(NAME, 1, "Running", role="collector")


# -- POST failed


def test_s3_s4_each_failed_replica_has_a_replacement(jobs, grown, replicas_api):
    namespace, added = grown
    reply = replicas_api.replace(namespace, COORDINATOR, collectors=[pod_of(added["collectors"][0])],
                                 learners=[added["learners"][1]])
    assert reply.status == 200, reply
    assert lengths(reply.data) == (1, 1)
    assert not set(reply.data["collectors"] + reply.data["learners"]) & set(added["collectors"] + added["learners"])
    assert slots(jobs) == {"collector": [(4096, 1), (4097, 0)], "learner": [(4096, 0), (4097, 1), (4098, 0)]}
    wait_listed(replicas_api, namespace, {
        "collectors": [reply.data["collectors"][0], added["collectors"][1]],
        "learners": [added["learners"][0], reply.data["learners"][0], added["learners"][2]]})
    jobs.wait_pods(NAME, 7, "Running")


def test_s12_a_name_given_twice_counts_once(jobs, grown, replicas_api):
    namespace, added = grown
    one = added["collectors"][0]
    reply = replicas_api.replace(namespace, COORDINATOR, collectors=[one, pod_of(one), one])
    assert lengths(reply.data) == (1, 0)
    assert slots(jobs)["collector"] == [(4096, 1), (4097, 0)]


def test_a_name_that_was_replaced_is_answered_with_its_successor(jobs, grown, replicas_api):
    namespace, added = grown
    first = replicas_api.replace(namespace, COORDINATOR, learners=added["learners"][:1]).data["learners"]
    again = replicas_api.replace(namespace, COORDINATOR, learners=[pod_of(added["learners"][0])]).data["learners"]
    assert again == first
    second = replicas_api.replace(namespace, COORDINATOR, learners=first).data["learners"]
    assert second != first
    assert replicas_api.replace(namespace, COORDINATOR, learners=added["learners"][:1]).data["learners"] == second
    assert slots(jobs)["learner"][0] == (4096, 2)


def test_a_replica_may_be_named_in_either_list(jobs, grown, replicas_api):
    namespace, added = grown
    reply = replicas_api.replace(namespace, COORDINATOR, collectors=added["learners"][:1])
    assert lengths(reply.data) == (0, 1)


def test_a_removed_replica_is_not_replaced_and_no_error(jobs, grown, replicas_api):
    namespace, _ = grown
    removed = replicas_api.remove(namespace, COORDINATOR, collectors=1).data["collectors"]
    before = slots(jobs)
    for names in (removed, [COORDINATOR]):
        reply = replicas_api.replace(namespace, COORDINATOR, collectors=names)
        assert reply.status == 200, reply
        assert lengths(reply.data) == (0, 0)
    assert slots(jobs) == before


def test_only_names_that_never_belonged_to_the_job_are_404(jobs, grown, replicas_api):
    namespace, added = grown
    for name in ("nobody", f"{NAME}-collector-bcdfg", "../pods", added["collectors"][0].replace(namespace, "other")):
        reply = replicas_api.replace(namespace, COORDINATOR, collectors=[added["collectors"][1], name])
        assert reply.status == 404, reply
        assert reply.json["success"] is False
    assert slots(jobs)["collector"] == [(4096, 0), (4097, 0)]  # nor was the other one replaced


def test_naming_nothing_replaces_nothing(running, replicas_api):
    reply = replicas_api.replace(running, COORDINATOR, collectors=[])
    assert reply.status == 200, reply
    assert lengths(reply.data) == (0, 0)


def test_a_failed_pod_is_replaced_by_a_running_one(jobs, grown, replicas_api, node_agent):
    namespace, added = grown
    node_agent.set_phase(pod_of(added["collectors"][0]), "Failed")
    wait_listed(replicas_api, namespace, {"collectors": added["collectors"][1:], "learners": added["learners"]})
    reply = replicas_api.replace(namespace, COORDINATOR, collectors=added["collectors"][:1])
    wait_listed(replicas_api, namespace,
                {"collectors": [reply.data["collectors"][0], added["collectors"][1]], "learners": added["learners"]})


# -- how these are read


@pytest.mark.parametrize("method, wrong", [
    ("DELETE", {"collectors": {"replicas": "1"}}), ("DELETE", {"collectors": [1]}), ("DELETE", {"learners": {"replicas": -1}}),
    ("POST", {"collectors": {"replicas": 1}}), ("POST", {"collectors": "row"}), ("POST", {"learners": [1]}),
    ("POST", {"learners": [""]}), ("POST", {"learners": ["x"] * 1001})])
def test_a_bad_body_is_400(running, replicas_api, method, wrong):
    path = replicas_api.PATH if method == "DELETE" else replicas_api.FAILED
    reply = replicas_api.call(method, path, body={"namespace": running, "coordinator": COORDINATOR, **wrong})
    assert reply.status == 400, reply
    assert reply.json["success"] is False


def test_keys_are_read_as_go_reads_them(grown, replicas_api):
    namespace, added = grown
    body = {"NAMESPACE": namespace, "Coordinator": COORDINATOR, "Collectors": {"Replicas": 1, "disk": None}, "learners": None}
    assert lengths(replicas_api.call("DELETE", body=body).data) == (1, 0)
    body = {"NAMESPACE": namespace, "Coordinator": COORDINATOR, "Learners": added["learners"][:1], "job": 3}
    assert lengths(replicas_api.call("POST", replicas_api.FAILED, body=body).data) == (0, 1)


@pytest.mark.parametrize("method", ["remove", "replace"])
def test_a_finished_job_is_409(running, jobs, replicas_api, node_agent, method):
    node_agent.finish(COORDINATOR)
    jobs.wait_phase(NAME, "Succeeded")
    reply = getattr(replicas_api, method)(running, COORDINATOR)
    assert reply.status == 409, reply


# -- the life of a job that asks for many


@pytest.mark.extended
def test_placed_requests_become_one_and_their_pods_run_on(jobs, running, replicas_api):
    """One POST for every few replicas, like a client that requests as needed: the job's objects do not grow with the
    number of POSTs, and no pod is affected."""
    posts = 50  # two entries each: the server merges what is placed when it finds 100
    added = {"collectors": [], "learners": []}
    for _ in range(posts):
        named = replicas_api.add(running, COORDINATOR, collectors=1, learners=1).data
        for role, urls in added.items():
            urls += named[role]
    base = 2  # coordinator and aggregator
    pods = jobs.wait_pods(NAME, base + 2 * posts, "Running", timeout=120)
    before = {one.metadata.uid: one.metadata.annotations for one in pods}
    jobs.wait_condition(NAME, "RequestsScheduled")
    added["collectors"] += replicas_api.add(running, COORDINATOR, collectors=1).data["collectors"]

    entries = jobs.get(NAME)["spec"]["requests"]["entries"]
    assert [len(one["slots"]) for one in entries] == [posts, posts, 1], entries
    assert slots(jobs)["collector"] == [(ordinal, 0) for ordinal in range(4096, 4096 + posts + 1)]

    def is_followed():
        group, = jobs.pod_groups(NAME)
        sets = [one["name"] for one in pod_groups.sets(group)]
        gangs = [one["name"] for one in group["status"]["gangs"]]
        seen = group["status"]["observedGeneration"] == group["metadata"]["generation"]
        return seen and len(sets) == base + 3 and len(gangs) == 1 + 3, (sets, gangs)
    wait_for(is_followed, "the gangs to be one for each role")
    pods = jobs.wait_pods(NAME, base + 2 * posts + 1, "Running")
    after = {one.metadata.uid: one.metadata.annotations for one in pods}
    assert {uid: after.get(uid) for uid in before} == before

    removed = replicas_api.remove(running, COORDINATOR, collectors=2).data["collectors"]
    assert removed == added["collectors"][-2:]  # the newest go first
    again = replicas_api.replace(running, COORDINATOR, collectors=added["collectors"][:1]).data["collectors"]
    wait_listed(replicas_api, running, {**added, "collectors": [*again, *added["collectors"][1:-2]]})


def test_a_job_that_changes_constantly_still_grows(jobs, running, replicas_api):
    """Like its status while pods start: only writers of spec.requests may conflict."""
    done = threading.Event()

    def annotate(key):
        count = 0
        while not done.is_set():
            count += 1
            jobs.patch(NAME, {"metadata": {"annotations": {f"example.com/{key}": str(count)}}})
        return count

    with ThreadPoolExecutor() as pool:
        writers = [pool.submit(annotate, key) for key in "abcd"]
        try:
            replies = [replicas_api.add(running, COORDINATOR, collectors=1) for _ in range(10)]
        finally:
            done.set()
    assert [reply.status for reply in replies] == [200] * 10, replies
    assert [reply.json["success"] for reply in replies] == [True] * 10, replies
    assert sum(writer.result() for writer in writers) > 0
    assert slots(jobs)["collector"] == [(ordinal, 0) for ordinal in range(4096, 4106)]


def test_a_replica_without_names_left_continues_under_others_without_a_call(jobs, grown, replicas_api):
    namespace, added = grown
    # As if the controller had replaced it 217 times.
    jobs.patch(f"{NAME}/status", {"status": {"replaced": [{"role": "collector", "ordinal": 4096, "incarnation": 218}]}})

    def look():
        data = replicas_api.get(namespace=namespace, coordinator=COORDINATOR).data
        new = set(data["collectors"]) - set(added["collectors"])
        return len(data["collectors"]) == 2 and len(new) == 1, data
    listed = wait_for(look, "its successor to be listed")
    (successor,) = set(listed["collectors"]) - set(added["collectors"])
    assert added["collectors"][1] in listed["collectors"]

    # Its last name is answered with its present one, which a call replaces as any.
    reply = replicas_api.replace(namespace, COORDINATOR, collectors=added["collectors"][:1])
    assert reply.status == 200, reply
    assert reply.data["collectors"] == [successor]
    assert slots(jobs)["collector"] == [(4096, 0), (4097, 0)]
    reply = replicas_api.replace(namespace, COORDINATOR, collectors=[successor])
    assert reply.status == 200, reply
    assert slots(jobs)["collector"] == [(4096, 219), (4097, 0)]
    wait_listed(replicas_api, namespace, {**added, "collectors": [*reply.data["collectors"], added["collectors"][1]]})
    jobs.wait_condition(NAME, "Ready")
    assert jobs.condition(NAME, "ReplacementLimitExceeded") is None
    assert replicas_api.remove(namespace, COORDINATOR, collectors=2).status == 200
    jobs.wait_pods(NAME, 5)

