"""Nodes that kwok plays, in the cluster of the real one: gangs with GPUs and thousands of pods stand next to containers
that really run. They are tainted, so that nothing goes there that does not ask for it."""

import json

from tools.base.console import Failure, step
from tools.cluster import nodes
from tools.realnode import settings as names

KEY, VALUE = names.SIMULATED
LABEL = ("type", "kwok")
TOLERATION = {"key": KEY, "operator": "Equal", "value": VALUE, "effect": "NoSchedule"}


def node(name, gpus):
    one = nodes.simulated_node(name, gpus)
    one["metadata"]["labels"][LABEL[0]] = LABEL[1]
    one["spec"] = {"taints": [{"key": KEY, "value": VALUE, "effect": "NoSchedule"}]}
    return one


def usable(one):
    """Ready, and with only its own taint."""
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in one["status"].get("conditions", []))
    return ready and [taint["key"] for taint in one["spec"].get("taints", [])] == [KEY]


def found(cluster):
    return json.loads(cluster.kubectl("get", "nodes", "-l", "=".join(LABEL), "-o", "json").stdout)["items"]


def add(cluster, gpu_nodes, cpu_nodes):
    """Adds the missing ones of this many nodes of each kind to the cluster of the real node; returns when pods can
    run on them."""
    wanted = [node(f"gpu-node-{i}", 8) for i in range(gpu_nodes)] + [node(f"cpu-node-{i}", 0) for i in range(cpu_nodes)]
    if not wanted:
        return
    with step(f"{len(wanted)} simulated nodes beside it"):
        if "kwok" not in cluster.programs:
            cluster.start("kwok")
        there = {one["metadata"]["name"] for one in found(cluster)}
        missing = [one for one in wanted if one["metadata"]["name"] not in there]
        if missing:
            cluster.kubectl("create", "-f", "-", body=json.dumps({"apiVersion": "v1", "kind": "List", "items": missing}))

        def look():
            lacking = {one["metadata"]["name"] for one in wanted} - {
                one["metadata"]["name"] for one in found(cluster) if usable(one)}
            return not lacking, f"not usable: {', '.join(sorted(lacking))}"
        cluster.wait(look, "the simulated nodes", 60)


def remove(cluster):
    """Removes all of them, and kwok. Delete their pods before: otherwise they never end."""
    left = [line for line in cluster.kubectl("get", "pods", "--all-namespaces", "--no-headers", "-o",
                                             "custom-columns=node:.spec.nodeName,name:.metadata.name").stdout.splitlines()
            if line.split()[0] in {one["metadata"]["name"] for one in found(cluster)}]
    if left:
        raise Failure(f"pods are on the simulated nodes still: {'; '.join(left[:5])}")
    cluster.kubectl("delete", "nodes", "-l", "=".join(LABEL))
    if "kwok" in cluster.programs:
        cluster.stop("kwok")
