"""One pod of a gang cannot run, and no other node would help: the gang is whole or requeued within its deadline,
never left in part, and its job says why. Constraints that the planner knows in advance (ports, volumes, quota):
test_planner_constraints.py; those that only kube-scheduler knows: test_hold.py; with another node: test_healing.py."""

import re
import uuid

import pytest
from tools.cluster import kubelet
from support import nodes
from support.jobs import job, template
from support.wait import always, wait_for

NAME = "partial"
PODS = 4  # coordinator, aggregator and two collectors
QUICK = "--bind-deadline=2s --node-lost-after=2s --healing-deadline=10s"
PAUSE = "registry.k8s.io/pause:3.10"


class Pool:
    """Nodes with 2 GPUs each, which a gang's collectors fill; one node at first."""

    def __init__(self, api):
        self.api, self.label, self.names = api, f"own-{uuid.uuid4().hex[:6]}", []

    def add(self):
        name = f"{self.label}-{len(self.names)}"
        self.names.append(name)
        nodes.add(self.api, name, 2, {nodes.OWN: self.label})

        def usable():
            one = self.api.get(f"/api/v1/nodes/{name}")
            ready = [c["status"] for c in one["status"].get("conditions", []) if c["type"] == "Ready"]
            return ready == ["True"] and not one["spec"].get("taints"), one
        wait_for(usable, f"node {name} to be usable")
        return name


@pytest.fixture
def pool(quick, programs):
    one = Pool(quick.api())
    try:
        one.add()
        yield one
    finally:
        for name in one.names:
            nodes.remove(one.api, name)


def gang(pool, **stages):
    body = template(gpus=1, nodeSelector={nodes.OWN: pool.label})
    if stages:
        body["metadata"] = {"annotations": kubelet.annotations(**stages)}
    return job(NAME, collector={"replicas": 2, "template": body})


# -- what is in the way: put(), remove(), and what the job says: while it waits, and while it is healed


class Thief:
    """Another owner's pod takes one of the GPUs. kube-scheduler refuses the pod that was placed there."""

    says = r"collector: (\d of 2 do(es)? not|does not) fit"
    heals = r"^collector/\d is refused on node .* by kube-scheduler: .*Insufficient nvidia.com/gpu"

    def __init__(self, pool, core, namespace):
        self._node, self._core, self._namespace = pool.names[0], core, namespace

    def put(self):
        self._core.create_namespaced_pod(self._namespace, {
            "metadata": {"name": "thief"},
            "spec": {"nodeName": self._node, "containers": [
                {"name": "main", "image": PAUSE, "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})
        wait_for(lambda: self._core.read_namespaced_pod("thief", self._namespace).status.phase == "Running",
                 "the thief to run")

    def remove(self):
        self._core.delete_namespaced_pod("thief", self._namespace, grace_period_seconds=0)


class Cordon:
    says = "no node is allowed: .*1 is cordoned"
    heals = rf"^collector/\d .*; a new place is searched until 20.*; no place yet: .*{says}"
    there, gone = {"unschedulable": True}, {"unschedulable": None}

    def __init__(self, pool, core, namespace):
        self._api, self._path = pool.api, f"/api/v1/nodes/{pool.names[0]}"

    def put(self):
        self._api.call("PATCH", self._path, {"spec": self.there}, "application/merge-patch+json")

    def remove(self):
        self._api.call("PATCH", self._path, {"spec": self.gone}, "application/merge-patch+json")


class Taint(Cordon):
    says = "no node is allowed: .*1 has an untolerated taint"
    heals = rf"^collector/\d .*; a new place is searched until 20.*; no place yet: .*{says}"
    there, gone = {"taints": [{"key": "mine", "value": "yes", "effect": "NoSchedule"}]}, {"taints": None}


class DeadNode:
    says = "no node is allowed: .*1 is not ready"
    heals = rf"^collector/\d .*; a new place is searched until 20.*; no place yet: .*{says}"

    def __init__(self, pool, core, namespace):
        self._api, self._node = pool.api, pool.names[0]

    def put(self):
        kubelet.set_node_ready(self._api, self._node, False)

    def remove(self):
        kubelet.set_node_ready(self._api, self._node, True)


@pytest.fixture(params=[pytest.param(Thief, id="thief"), pytest.param(Cordon, id="cordon"),
                        pytest.param(Taint, id="taint", marks=pytest.mark.extended),
                        pytest.param(DeadNode, id="dead-node", marks=pytest.mark.extended)])
def obstacle(request, pool, core, namespace):
    return request.param(pool, core, namespace)


# -- the cases


def wait_said(jobs, pattern, pods):
    """Waits until the job says so, and has pods or none."""
    def look():
        found = jobs.condition(NAME, "Scheduled") or {}
        there = [pod.metadata.name for pod in jobs.pods(NAME)]
        said = found.get("status") == "False" and re.search(pattern, found.get("message", ""))
        return bool(said) and bool(there) == pods, (found, there)
    wait_for(look, f"the job to say {pattern}")


def wait_whole(jobs, starts, observer, attempt=1):
    jobs.wait_pods(NAME, PODS, "Running")
    jobs.wait_phase(NAME, "Running")
    assert jobs.get(NAME)["status"]["attempt"] == attempt
    starts.catch_up()
    (group,) = jobs.pod_groups(NAME)
    assert starts.is_whole(group["metadata"]["uid"])
    assert starts.broken() == []
    observer.catch_up()
    assert observer.broken == []


@pytest.mark.scheduled
def test_a_loss_before_the_commit_requeues_the_whole_gang(jobs, programs, starts, observer, pool, obstacle):
    programs.stop("scheduler")
    jobs.create(gang(pool))
    jobs.wait_pods(NAME, PODS)
    obstacle.put()
    wait_said(jobs, obstacle.says, pods=False)
    programs.start("scheduler")
    always(lambda: (not jobs.pods(NAME), jobs.pods(NAME)), "a waiting gang without pods")
    assert jobs.get(NAME)["status"]["reason"] == "Unschedulable"
    obstacle.remove()
    wait_whole(jobs, starts, observer)


def test_a_loss_after_the_commit_is_healed_or_requeues_the_whole_gang(
        jobs, core, namespace, programs, starts, observer, pool, obstacle):
    jobs.create(gang(pool))
    wait_whole(jobs, starts, observer)
    programs.stop("scheduler")
    lost = jobs.pods(NAME, "collector")[0]
    core.delete_namespaced_pod(lost.metadata.name, namespace)
    wait_for(lambda: len([pod for pod in jobs.pods(NAME, "collector") if not pod.spec.node_name]) == 1, "its successor")
    obstacle.put()
    programs.start("scheduler")
    wait_said(jobs, obstacle.heals, pods=True)
    assert jobs.get(NAME)["status"]["reason"] == "Healing"

    requeued = jobs.wait_condition(NAME, "Requeued")
    assert requeued["reason"] == "HealingDeadlineExceeded", requeued
    assert re.search(r"^collector/\d .*; not all pods .* in time", requeued["message"]), requeued
    wait_said(jobs, obstacle.says, pods=False)
    obstacle.remove()
    wait_whole(jobs, starts, observer, attempt=2)


def test_a_kubelets_rejection_requeues_the_whole_gang(jobs, starts, observer, pool):
    """The only node rejects the collectors that kube-scheduler binds to it."""
    jobs.create(gang(pool, rejected_on=pool.names[0]))
    requeued = jobs.wait_condition(NAME, "Requeued")
    assert requeued["reason"] == "HealingDeadlineExceeded", requeued
    assert re.search(rf"collector/\d was stopped on node {pool.names[0]}: OutOfcpu", requeued["message"]), requeued
    pool.add()
    jobs.wait_phase(NAME, "Running")
    jobs.wait_pods(NAME, PODS, "Running")
    assert {pod.spec.node_name for pod in jobs.pods(NAME, "collector")} == {pool.names[1]}
    starts.catch_up()
    assert starts.broken() == []
    observer.catch_up()
    assert observer.broken == []
