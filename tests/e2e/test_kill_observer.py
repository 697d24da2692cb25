"""Does the observer of the kill tests notice violations? Shows it some. Needs no cluster."""

import pytest
from tools.cluster.api import ApiError
from support.observer import Observer


def pod(uid, slot="learner/0", node="", phase="Pending", cpu="1", incarnation=0, group="first", namespace="mine"):
    return {"metadata": {"name": f"pod-{uid}", "uid": uid, "namespace": namespace,
                         "annotations": {"nervex.sensetime.com/slot": slot,
                                         "nervex.sensetime.com/incarnation": str(incarnation),
                                         "nervex.sensetime.com/pod-group-uid": group},
                         "ownerReferences": [{"kind": "NerveXJob", "uid": "job"}]},
            "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": cpu}}}]},
            "status": {"phase": phase}}


class Nodes:
    """An API server with one node, "a"."""

    def get(self, path):
        if path == "/api/v1/nodes/a":
            return {"status": {"allocatable": {"cpu": "2", "pods": "10"}}}
        raise ApiError(404, "GET", path, {})


@pytest.fixture
def observer():
    return Observer(Nodes(), "mine")


def test_one_pod_after_another_is_accepted(observer):
    observer._see(pod("1", node="a"))
    observer._see(pod("1", node="a", phase="Failed"))
    observer._see(pod("2", node="a", incarnation=1))
    assert observer.broken == []
    assert observer.slots_bound("job") == {("learner", 0): 2}
    assert observer.bound_again("job") == []


def test_a_second_pod_of_one_incarnation_is_reported(observer):
    observer._see(pod("1", node="a"))
    observer._see(pod("1", node="a", phase="Failed"))
    observer._see(pod("2", node="a"))
    assert observer.bound_again("job") == [("learner", 0)]


def test_two_live_pods_of_one_slot_are_reported(observer):
    observer._see(pod("1", node="a"))
    observer._see(pod("2"))
    assert observer.broken == []
    observer._see(pod("2", node="a"))
    assert observer.broken == ["pods ['pod-1', 'pod-2'] of slot learner/0 are bound and live at once"]


def test_an_overcommitted_node_is_reported(observer):
    observer._see(pod("1", slot="learner/0", node="a", cpu="1500m"))
    observer._see(pod("2", slot="learner/1", node="a", cpu="501m"))
    assert observer.broken == ["a has cpu 2 and 2.001 bound to it, with pod-2"]


def test_a_coordinator_without_its_gang_is_reported_for_each_attempt(observer):
    gang = [("learner", 0), ("coordinator", 0)]
    for group in ("first", "second"):
        if group == "first":
            observer._see(pod("1", slot="learner/0"))
        observer._see(pod(f"2-{group}", slot="coordinator/0", group=group))
        observer._see(pod(f"2-{group}", slot="coordinator/0", group=group, node="a"))
        observer._see(pod(f"2-{group}", slot="coordinator/0", group=group, node="a", phase="Failed"))
        observer._see(pod(f"3-{group}", slot="learner/0", group=group))
    assert observer.lonely_coordinators("job", gang) == [[("learner", 0)]]


def test_pods_of_other_owners_are_not_checked(observer):
    """Pods left by other tests: too many for the node, on a deleted node, two of one slot."""
    for uid in ("1", "2"):
        observer._see(pod(uid, node="a", cpu="2", namespace="theirs"))
        observer._see(pod(f"{uid}-gone", node="deleted", namespace="theirs"))
    assert observer.broken == []
    assert observer.slots_bound("job") == {}


def test_pods_of_others_take_up_capacity(observer):
    observer._see(pod("1", slot="learner/0", node="a", namespace="theirs"))
    observer._see(pod("2", slot="learner/1", node="a", cpu="1"))
    assert observer.broken == []
    observer._see(pod("3", slot="learner/2", node="a", cpu="1"))
    assert observer.broken == ["a has cpu 2 and 3 bound to it, with pod-3"]


def test_a_pod_on_a_node_that_does_not_exist_is_reported(observer):
    observer._see(pod("1", node="deleted"))
    assert observer.broken == ["pod-1 is bound to deleted, and there is no such node"]


def test_an_observer_that_fails_says_so():
    class Broken(Nodes):
        def get(self, path):
            return {}  # no list of pods
    observer = Observer(Broken(), "mine")
    observer._run()
    assert observer.broken == ["the observer itself failed: KeyError('items')"]
