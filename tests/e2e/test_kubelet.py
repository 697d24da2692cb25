"""Behaviour of kubelets that simulated nodes lack by default: rejected pods, slow ends, a main container that ends
before its sidecar, a node that is NotReady (tools/controlplane/stages)."""

import pytest
from tools.cluster import kubelet
from support import nodes
from support.jobs import job, template
from support.wait import always, wait_for

NAME = "real"
COORDINATOR = f"{NAME}-coordinator"


def asking(gpus=0, containers=(), seconds=None, **stages):
    """A template whose pods request these stages from their node."""
    one = template(gpus=gpus, **({"terminationGracePeriodSeconds": seconds} if seconds else {}))
    one["metadata"] = {"annotations": kubelet.annotations(**stages)}
    one["spec"]["containers"] += [{"name": name, "image": "nervex/nervex-mock:0.1.0"} for name in containers]
    return one


def uids(pods):
    return {pod.metadata.uid for pod in pods}


def test_workers_that_the_kubelet_rejects_are_replaced(jobs, observer):
    jobs.create(job(NAME, collector={"replicas": 2, "template": asking(rejected="OutOfcpu")}))
    wait_for(lambda: (len(jobs.get(NAME).get("status", {}).get("replaced", [])) == 2, jobs.get(NAME).get("status")),
             "both to be rejected and replaced")
    pods = jobs.wait_pods(NAME, 4, "Running")
    assert {pod.metadata.annotations["nervex.sensetime.com/incarnation"] for pod in pods
            if pod.metadata.labels["replica-type"] == "collector"} == {"1"}
    jobs.wait_phase(NAME, "Running")
    wait_for(lambda: (jobs.counts(NAME)["Collector"] == {"active": 2, "succeeded": 0, "failed": 0}, jobs.counts(NAME)),
             "a rejected pod not to be counted as failed")
    observer.catch_up()
    assert observer.broken == []
    assert observer.slots_bound(jobs.get(NAME)["metadata"]["uid"])["collector", 0] == 2


def test_the_next_attempt_avoids_a_node_that_rejects_the_coordinator(jobs, target, observer):
    if not target.cluster:
        pytest.skip("the nodes of this cluster are its owner's")
    api = target.cluster.api()

    def cordon(node, is_cordoned):
        api.call("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": is_cordoned}}, "application/merge-patch+json")
    with nodes.own_nodes(api, {}, {}) as (pool, (first, second)):
        coordinator = template(nodeSelector={nodes.OWN: pool})
        coordinator["metadata"] = {"annotations": kubelet.annotations(rejected_on=first)}
        cordon(second, True)  # so that the first attempt is on the other one
        jobs.create(job(NAME, coordinator={"template": coordinator}))
        wait_for(lambda: jobs.pods(NAME, "coordinator"), "the pod of the first attempt")
        cordon(second, False)
        jobs.wait_phase(NAME, "Running")
        status = jobs.get(NAME)["status"]
        assert status["attempt"] == 2, status
        assert [(one["role"], one["node"], one["times"]) for one in status["avoid"]] == [("coordinator", first, 1)]
        assert f" on node {first}: OutOfcpu" in status["lastAttempt"]["message"]
        assert [pod.spec.node_name for pod in jobs.pods(NAME, "coordinator")] == [second]
        observer.catch_up()
        assert observer.broken == []
        jobs.delete(NAME)
        wait_for(lambda: (not jobs.pods(NAME), jobs.pods(NAME)), "its pods to be deleted")


def test_a_slot_waits_for_its_pod_that_ends_slowly(jobs, core, namespace, observer):
    """Its node is occupied while it exists, and so is its slot in the job."""
    jobs.create(job(NAME, learner={"replicas": 1, "template": asking(gpus=8, seconds=5, terminates="slowly")}))
    jobs.wait_pods(NAME, 3, "Running")
    (learner,) = jobs.pods(NAME, "learner")
    core.delete_namespaced_pod(learner.metadata.name, namespace)

    def ending():
        (one,) = [pod for pod in jobs.pods(NAME, "learner") if pod.metadata.uid == learner.metadata.uid]
        return one.metadata.deletion_timestamp is not None
    assert ending(), "the node lets it take its time"

    def replaced():
        now = jobs.pods(NAME, "learner")
        return (len(now) == 1 and learner.metadata.uid not in uids(now) and now[0].status.phase == "Running",
                [(pod.metadata.name, pod.status.phase, pod.metadata.deletion_timestamp) for pod in now])
    wait_for(replaced, "its successor to run")
    observer.catch_up()
    assert observer.broken == [], "two of one slot at once, or more on the node than it has"


def test_an_attempt_begins_when_the_last_pod_of_the_one_before_has_ended(jobs, node_agent, observer):
    jobs.create(job(NAME, backoffLimit=1,
                    collector={"replicas": 1, "template": asking(seconds=5, terminates="slowly")}))
    before = jobs.wait_pods(NAME, 3, "Running")
    jobs.wait_phase(NAME, "Running")
    node_agent.finish(COORDINATOR, 3)
    wait_for(lambda: jobs.get(NAME)["status"]["attempt"] == 2, "the next attempt")

    def runs():
        status = jobs.get(NAME)["status"]
        return status["phase"] == "Running", status
    wait_for(runs, "it to run")
    assert not uids(before) & uids(jobs.wait_pods(NAME, 3, "Running"))
    observer.catch_up()
    assert observer.broken == []
    assert observer.slots_bound(jobs.get(NAME)["metadata"]["uid"]) == {
        ("coordinator", 0): 2, ("aggregator", 0): 2, ("collector", 0): 2}


def test_the_job_ends_with_its_main_container(jobs, node_agent):
    """Even if a sidecar continues and the pod is still Running."""
    jobs.create(job(NAME, cleanPodPolicy="None", coordinator={"template": asking(containers=["sidecar"])}))
    jobs.wait_phase(NAME, "Running")
    node_agent.annotate(COORDINATOR, main_exits=3)
    jobs.wait_phase(NAME, "Failed")
    assert "3" in jobs.condition(NAME, "Failed")["message"]
    (coordinator,) = jobs.pods(NAME, "coordinator")
    assert coordinator.status.phase == "Running"
    states = {one.name: one.state for one in coordinator.status.container_statuses}
    assert states["sidecar"].running and states["nervex-container"].terminated.exit_code == 3


def test_a_node_may_be_not_ready_from_its_first_moment_on(target):
    """Whether the stages see it ready before they learn that it is not is a matter of milliseconds."""
    if not target.cluster:
        pytest.skip("the nodes of this cluster are its owner's")
    api = target.cluster.api()
    with nodes.own_node(api, annotations=kubelet.annotations(not_ready="never came up")) as name:
        kubelet.set_node_ready(api, name, False)
        kubelet.set_node_ready(api, name, True)


def test_no_gang_is_placed_on_a_node_that_is_not_ready(jobs, target, own_node):
    api = target.cluster.api()
    kubelet.set_node_ready(api, own_node, False)
    jobs.create(job(NAME, learner={"replicas": 1, "template": template(nodeSelector={nodes.OWN: own_node})}))
    told = jobs.wait_condition(NAME, "Scheduled", "False")
    wait_for(lambda: ((told := jobs.condition(NAME, "Scheduled"))["reason"] == "Unschedulable", told),
             "the planner's answer")
    assert "learner" in jobs.condition(NAME, "Scheduled")["message"], told
    always(lambda: not jobs.pods(NAME), "a waiting gang without pods")
    kubelet.set_node_ready(api, own_node, True)
    jobs.wait_pods(NAME, 3, "Running")
    assert jobs.pods(NAME, "learner")[0].spec.node_name == own_node
