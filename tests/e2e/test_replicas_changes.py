"""Removing and replacing replicas: the server's acceptance rows S3 to S5 and S12, and what the contract says
of DELETE and POST failed. What a call did is read from spec.requests first, then from the pods."""

import pytest
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
    """That, with 2 collectors and 3 learners, which are returned with the namespace."""
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
    """Until exactly these are listed, which is when their pods exist and no others do."""
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


def test_one_less_is_one_living_less(jobs, grown, replicas_api, node_agent):
    namespace, added = grown
    node_agent.set_phase(pod_of(added["collectors"][1]), "Succeeded")
    wait_for(lambda: jobs.get(NAME)["status"].get("ended"), "the end to be counted")
    reply = replicas_api.remove(namespace, COORDINATOR, collectors=1)
    assert reply.data["collectors"] == added["collectors"][:1]
    assert slots(jobs)["collector"] == [(4097, 0)]


def test_the_floor_goes_last(jobs, namespace, replicas_api):
    body = job(NAME)
    body["spec"]["collector"]["replicas"] = 2
    jobs.create(body)
    jobs.wait_phase(NAME, "Running")
    requested = replicas_api.add(namespace, COORDINATOR, collectors=1).data["collectors"]
    removed = replicas_api.remove(namespace, COORDINATOR, collectors=2).data["collectors"]
    assert len(removed) == 2 and removed[1:] == requested
    assert [{key: change[key] for key in ("attempt", "role", "ordinal", "removed")}
            for change in jobs.get(NAME)["spec"]["requests"]["floor"]] == \
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


def test_the_lists_do_not_decide_what_a_replica_is(jobs, grown, replicas_api):
    namespace, added = grown
    reply = replicas_api.replace(namespace, COORDINATOR, collectors=added["learners"][:1])
    assert lengths(reply.data) == (0, 1)


def test_what_was_removed_is_not_replaced_and_no_error(jobs, grown, replicas_api):
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
