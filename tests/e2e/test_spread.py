"""The plan keeps topologySpreadConstraints of a template (docs/concepts/placement.md, "Topology spread"): a job starts
with its first plan, beside running pods that match."""

import collections

from support import nodes
from support.foreign_gangs import PAUSE
from support.jobs import job, template
from support.wait import wait_for

NAME = "spread"
LABEL = {"e2e-spread": "collector"}
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
A, B = {ZONE: "e2e-a"}, {ZONE: "e2e-b"}


def constraint(key, **more):
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": LABEL}, **more}


def spread(pool, collectors, *constraints, cpu="100m"):
    pods = template(nodeSelector={nodes.OWN: pool}, topologySpreadConstraints=list(constraints), cpu=cpu)
    pods["metadata"] = {"labels": LABEL}
    return job(NAME, coordinator={"template": template(nodeSelector={nodes.OWN: pool})},
               collector={"replicas": collectors, "template": pods})


def count_by(pods, names=None):
    """Pods by node, or by the value that `names` has for the node; highest first."""
    counts = collections.Counter((names or {}).get(pod.spec.node_name, pod.spec.node_name) for pod in pods)
    return sorted(counts.values(), reverse=True)


def wait_collectors(jobs, count):
    jobs.wait_phase(NAME, "Running", 60)
    return jobs.wait_pods(NAME, count, "Running", role="collector")


def test_a_spread_by_node_starts_with_the_first_plan(jobs, programs, starts):
    with nodes.own_nodes(programs.api(), *[{}] * 8) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        jobs.create(spread(pool, 8, constraint(HOST)))
        assert count_by(wait_collectors(jobs, 8)) == [1] * 8
        assert jobs.condition(NAME, "PlacementBestEffort") is None
        starts.assert_first_plan(jobs, NAME)


def test_a_spread_by_zone_and_node_at_once(jobs, programs, starts):
    with nodes.own_nodes(programs.api(), A, A, A, B, B) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        jobs.create(spread(pool, 6, constraint(ZONE), constraint(HOST, maxSkew=2)))
        pods = wait_collectors(jobs, 6)
        assert count_by(pods, {one: "a" if i < 3 else "b" for i, one in enumerate(machines)}) == [3, 3]
        assert count_by(pods)[0] <= 2
        starts.assert_first_plan(jobs, NAME)


def test_running_pods_of_others_count_and_a_domain_without_capacity_is_named(jobs, core, namespace, programs):
    with nodes.own_nodes(programs.api(), A, B) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        for i in range(2):  # bound before any scheduler sees them
            core.create_namespaced_pod(namespace, {
                "metadata": {"name": f"other-{i}", "labels": LABEL},
                "spec": {"nodeName": machines[0], "containers": [{"name": "main", "image": PAUSE}]}})
        jobs.create(spread(pool, 2, constraint(ZONE)))
        assert {pod.spec.node_name for pod in wait_collectors(jobs, 2)} == {machines[1]}
        jobs.delete(NAME)
        core.patch_node(machines[1], {"spec": {"unschedulable": True}})
        wait_for(lambda: (not jobs.pod_groups(NAME), "PodGroups"), "the job's PodGroup to be deleted")
        jobs.create(spread(pool, 2, constraint(ZONE)))
        want = f"maxSkew 1 of {ZONE}: e2e-b has the fewest pods and no capacity for more"

        def look():
            groups = jobs.pod_groups(NAME)
            messages = [one.get("message", "") for group in groups for one in group.get("status", {}).get("gangs", [])]
            return any(want in message for message in messages), messages
        wait_for(look, "the gang to say which zone keeps it waiting")
        core.patch_node(machines[1], {"spec": {"unschedulable": None}})
        assert {pod.spec.node_name for pod in wait_collectors(jobs, 2)} == {machines[1]}


def test_plain_pods_of_our_scheduler_are_spread_too(core, namespace, programs):
    with nodes.own_nodes(programs.api(), *[{}] * 4) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        for i in range(4):
            core.create_namespaced_pod(namespace, {
                "metadata": {"name": f"plain-{i}", "labels": LABEL},
                "spec": {"schedulerName": "nervex-scheduler", "nodeSelector": {nodes.OWN: pool},
                         "topologySpreadConstraints": [constraint(HOST)],
                         "containers": [{"name": "main", "image": PAUSE}]}})

        def look():
            pods = core.list_namespaced_pod(namespace).items
            return all(pod.spec.node_name for pod in pods), [pod.spec.node_name for pod in pods]
        wait_for(look, "the pods to be bound", 60)
        assert count_by(core.list_namespaced_pod(namespace).items) == [1] * 4
