"""kube-scheduler enforces topology spread: the pin of a planned pod does not disable it (docs/concepts/placement.md,
"What the planner knows")."""

import collections
import json

from support import nodes
from support.jobs import job, template

NAME = "spread"
LABEL = {"e2e-spread": "collector"}
QUICK = "--hold-deadline=2s"


def spread(pool, key, collectors, **constraint):
    pods = template(nodeSelector={nodes.OWN: pool}, topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {"matchLabels": LABEL}, **constraint}])
    pods["metadata"] = {"labels": LABEL}
    return job(NAME, collector={"replicas": collectors, "template": pods})


def wait_by_node(jobs, count):
    """Number of collectors per node, highest first, once all of them run."""
    jobs.wait_phase(NAME, "Running", 240)
    pods = jobs.wait_pods(NAME, count, "Running", role="collector")
    return sorted(collections.Counter(pod.spec.node_name for pod in pods).values(), reverse=True)


def test_a_hard_spread_by_node_is_kept_after_some_plans(jobs, programs, quick, starts):
    with nodes.own_nodes(programs.api(), *[{}] * 4) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        jobs.create(spread(pool, "kubernetes.io/hostname", 4))
        assert wait_by_node(jobs, 4) == [1, 1, 1, 1]
        assert "collector: topologySpreadConstraints" in jobs.condition(NAME, "PlacementBestEffort")["message"]
        uid = jobs.pod_groups(NAME)[0]["metadata"]["uid"]
        starts.catch_up()
        assert starts.is_whole(uid)
        print(f"plans refused: {len(starts.refusals(uid))}")


def test_a_spread_that_honours_the_pin_has_no_effect_and_is_warned_of(jobs, programs, quick, kubectl, namespace):
    with nodes.own_nodes(programs.api(), *[{}] * 2) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        body = spread(pool, "kubernetes.io/hostname", 4, nodeAffinityPolicy="Honor")
        said = kubectl("create", "-n", namespace, "-f", "-", body=json.dumps(body))
        assert ("Warning: spec.collector.template.spec.topologySpreadConstraints[0].nodeAffinityPolicy: Honor: "
                "ignored, pods are pinned to nodes") in said.stderr.splitlines(), said
        assert sum(wait_by_node(jobs, 4)) == 4
        pods = jobs.pods(NAME, "collector")
        assert {one.node_affinity_policy for pod in pods for one in pod.spec.topology_spread_constraints} == {"Honor"}
