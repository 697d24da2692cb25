"""Pods that are to be near each other, and node classes of roles (docs/concepts/placement.md, "Topology"): where they
start, where their replacements go when a node is drained or a domain is lost, and what a job says that waits."""

import collections

import kubernetes
import pytest
from support import nodes
from support.jobs import job, refusal_of, template
from support.replicas_api import pod_of
from support.wait import wait_for
from tools.cluster import kubelet

NAME = "near"
ZONE = "topology.kubernetes.io/zone"
CLASS = "nvidia.com/gpu.product"
A, B = {ZONE: "e2e-a"}, {ZONE: "e2e-b"}
QUICK = "--bind-deadline=2s --node-lost-after=2s --healing-deadline=60s"


@pytest.fixture
def healing(quick, programs):
    """The cluster with those deadlines, and every program running when the test ends."""
    return programs


def near(pool, learners, topology, **spec):
    """A job whose learners have a GPU each and this topology; the coordinator is on any node of the pool."""
    own = {nodes.OWN: pool}
    return job(NAME, coordinator={"template": template(nodeSelector=own)},
               learner={"replicas": learners, "topology": topology, "template": template(gpus=1, nodeSelector=own)}, **spec)


def count_by_node(jobs, role="learner"):
    return collections.Counter(pod.spec.node_name for pod in jobs.pods(NAME, role))


def wait_on(jobs, counts, role="learner"):
    """Waits until that many pods of the role run on each node."""
    def look():
        pods = jobs.pods(NAME, role)
        run = all(pod.status.phase == "Running" and not pod.metadata.deletion_timestamp for pod in pods)
        return run and count_by_node(jobs, role) == counts, [(pod.spec.node_name, pod.status.phase) for pod in pods]
    wait_for(look, f"{counts} pods of the {role}s to run", 60)


def wait_message(jobs, text):
    def look():
        messages = [one.get("message", "") for group in jobs.pod_groups(NAME)
                    for one in group.get("status", {}).get("gangs", [])]
        return any(text in message for message in messages), messages
    wait_for(look, f"a gang to say: {text}")


def test_learners_start_in_the_smallest_zone_that_holds_them(jobs, programs, starts):
    with nodes.own_nodes(programs.api(), A, A, B, B, B, gpus=2) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        jobs.create(near(pool, 4, {"level": ZONE}))
        wait_on(jobs, {machines[0]: 2, machines[1]: 2})
        starts.assert_first_plan(jobs, NAME)


def test_learners_that_no_zone_holds_say_which_zones_come_closest(jobs, programs):
    with nodes.own_nodes(programs.api(), A, A, B, B, B, gpus=2) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        jobs.create(near(pool, 7, {"level": ZONE}))
        wait_message(jobs, f"learner: 1 of 7 can never fit in one {ZONE}: e2e-b has capacity, even when empty, for 6, "
                           "e2e-a for 4; 2 together would hold all")


def test_preferred_learners_start_in_as_few_zones_as_possible(jobs, programs, starts):
    with nodes.own_nodes(programs.api(), A, A, B, B, gpus=2) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        jobs.create(near(pool, 5, {"level": ZONE, "policy": "Preferred"}))
        jobs.wait_pods(NAME, 5, "Running", role="learner")
        zones = collections.Counter()
        for node, count in count_by_node(jobs).items():
            zones[machines.index(node) // 2] += count
        assert sorted(zones.values()) == [1, 4]
        starts.assert_first_plan(jobs, NAME)


def test_a_drained_node_s_learner_stays_in_the_zone(jobs, core, healing):
    with nodes.own_nodes(healing.api(), A, A, A, B, B, B, B, gpus=1) as (pool, machines):
        nodes.wait_usable(healing.api(), machines)
        jobs.create(near(pool, 2, {"level": ZONE}))
        jobs.wait_pods(NAME, 2, "Running", role="learner")
        before = set(count_by_node(jobs))
        assert before < set(machines[:3])
        drained, spare = before.pop(), (set(machines[:3]) - set(count_by_node(jobs))).pop()
        core.patch_node(drained, {"spec": {"unschedulable": True}})
        for pod in jobs.pods(NAME, "learner"):
            if pod.spec.node_name != drained:
                continue
            core.create_namespaced_pod_eviction(pod.metadata.name, jobs.namespace, kubernetes.client.V1Eviction(
                metadata=kubernetes.client.V1ObjectMeta(name=pod.metadata.name)))
        wait_on(jobs, {before.pop(): 1, spare: 1})
        assert jobs.get(NAME)["status"]["attempt"] == 1


def test_a_lost_zone_moves_the_whole_role_and_nothing_else(jobs, healing):
    with nodes.own_nodes(healing.api(), A, A, B, B, B, gpus=1) as (pool, machines), \
            nodes.own_node(healing.api()) as other:
        nodes.wait_usable(healing.api(), [*machines, other])
        body = near(pool, 2, {"level": ZONE})
        body["spec"]["coordinator"]["template"] = template(nodeSelector={nodes.OWN: other})
        jobs.create(body)
        wait_on(jobs, {machines[0]: 1, machines[1]: 1})
        (coordinator,) = jobs.pods(NAME, "coordinator")
        for node in machines[:2]:
            kubelet.set_node_ready(healing.api(), node, False)

        def look():
            on = count_by_node(jobs)
            run = [pod for pod in jobs.pods(NAME, "learner") if pod.status.phase == "Running"]
            return len(run) == 2 and set(on) < set(machines[2:]), on
        wait_for(look, "the learners to run in the other zone", 60)
        assert [pod.metadata.uid for pod in jobs.pods(NAME, "coordinator")] == [coordinator.metadata.uid]
        assert jobs.get(NAME)["status"]["attempt"] == 1


def test_a_role_starts_on_one_of_its_node_classes_and_grows_onto_the_next(jobs, programs, replicas_api, starts):
    large, small = {CLASS: "e2e-large"}, {CLASS: "e2e-small"}
    with nodes.own_nodes(programs.api(), small, large, large, gpus=2) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        own = {nodes.OWN: pool}
        body = job(NAME, coordinator={"template": template(nodeSelector=own)},
                   collector={"replicas": 3, "nodeClasses": ["e2e-small", "e2e-large"],
                              "template": template(gpus=1, nodeSelector=own)})
        jobs.create(body)
        jobs.wait_pods(NAME, 3, "Running", role="collector")
        assert count_by_node(jobs, "collector")[machines[0]] == 0, "the small class does not hold all three"
        starts.assert_first_plan(jobs, NAME)
        reply = replicas_api.add(jobs.namespace, f"{NAME}-coordinator", collectors=3)
        assert reply.status == 200, reply
        jobs.wait_pods(NAME, 6, "Running", role="collector")
        added = {pod_of(url) for url in reply.data["collectors"]}
        on = collections.Counter(pod.spec.node_name for pod in jobs.pods(NAME, "collector") if pod.metadata.name in added)
        assert on[machines[0]] == 2, "each goes to the first class with capacity"


def test_admission_refuses_a_level_that_the_cluster_does_not_have(jobs):
    message = refusal_of(jobs.create, near("none", 2, {"level": "example.com/rack"}))
    assert "spec.learner.topology.level" in message
    assert f"must be one of: {ZONE}, kubernetes.io/hostname" in message
