"""Simulated nodes that exist for one test."""

import contextlib
import uuid

from tools.cluster.api import ApiError
from tools.cluster.nodes import simulated_node

from support.wait import wait_for

OWN = "nervex-e2e/own-node"  # label, with the node's name: for templates' nodeSelector


def add(api, name, gpus=0, labels=None, annotations=None):
    body = simulated_node(name, gpus)
    body["metadata"]["annotations"].update(annotations or {})
    body["metadata"]["labels"].update({OWN: name, **(labels or {})})
    api.post("/api/v1/nodes", body)


def remove(api, name):
    """Removes the node and its pods: pods of a deleted node would stay, and the next tests would see them."""
    def call(method, path, body=None):
        try:
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            return api.call(method, path, body, kind)
        except ApiError as error:
            if error.status != 404:
                raise
    call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
    for pod in api.get(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")["items"]:
        meta = pod["metadata"]
        call("DELETE", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}",
             {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})
    call("DELETE", f"/api/v1/nodes/{name}")


@contextlib.contextmanager
def own_nodes(api, *labels, gpus=0):
    """A node for each dict of labels, all with the same value of OWN; yields that value and the names, in order."""
    pool = f"own-{uuid.uuid4().hex[:6]}"
    names = [f"{pool}-{i}" for i in range(len(labels))]
    try:
        for name, more in zip(names, labels):
            add(api, name, gpus, labels={**more, OWN: pool})
        yield pool, names
    finally:
        for name in names:
            remove(api, name)


@contextlib.contextmanager
def own_node(api, gpus=0, annotations=None):
    name = f"own-{uuid.uuid4().hex[:6]}"
    add(api, name, gpus, annotations=annotations)
    try:
        yield name
    finally:
        remove(api, name)


def wait_usable(api, names):
    def look():
        seen = [api.get(f"/api/v1/nodes/{name}") for name in names]
        return all(is_usable(one) for one in seen), seen
    wait_for(look, f"nodes {names} to be usable")


def is_usable(node):
    """Ready, and without the initial taint that the controller manager removes once it has seen the node ready."""
    ready = [c["status"] for c in node["status"].get("conditions", []) if c["type"] == "Ready"]
    return ready == ["True"] and not node["spec"].get("taints")


def gpu_nodes(core):
    """{name: GPUs} of the nodes with GPUs."""
    found = {one.metadata.name: int(one.status.allocatable.get("nvidia.com/gpu", 0)) for one in core.list_node().items}
    return {name: gpus for name, gpus in found.items() if gpus}


def wait_for_free_gpus(core):
    """The same, after all pods of earlier tests have released theirs."""
    def look():
        holding = [pod.metadata.name for pod in core.list_pod_for_all_namespaces().items
                   if pod.status.phase not in ("Succeeded", "Failed")
                   for one in pod.spec.containers if (one.resources.limits or {}).get("nvidia.com/gpu")]
        return not holding, holding
    wait_for(look, "the GPUs of earlier tests to be given back")
    return gpu_nodes(core)
