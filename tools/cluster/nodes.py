"""Simulated nodes: objects for which kwok acts as the kubelet."""

import time

from tools.base.console import wait_for


def simulated_node(name, gpus):
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    capacity = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    if gpus:
        labels["nvidia.com/gpu.present"] = "true"
        capacity["nvidia.com/gpu"] = str(gpus)
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "status": {"capacity": capacity, "allocatable": capacity}}


def ready_node(name):
    """A complete node object that needs no additions."""
    one, now = simulated_node(name, 0), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    one["metadata"]["labels"].update({"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"})
    one["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                                    "message": "made so", "lastHeartbeatTime": now, "lastTransitionTime": now}]
    return one


def add_nodes(api, settings):
    wanted = [simulated_node(f"gpu-node-{i}", 8) for i in range(settings.gpu_nodes)]
    wanted += [simulated_node(f"cpu-node-{i}", 0) for i in range(settings.cpu_nodes)]
    for one in wanted:
        api.post("/api/v1/nodes", one)


def wait_for_nodes(api, count, timeout=60, interval=0.1):
    """Waits until at least this many are ready, and without the initial taint that the controller manager removes
    once it has seen the node ready."""
    def usable(one):
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in one["status"].get("conditions", []))
        return ready and not one["spec"].get("taints")

    def look():
        nodes = api.get("/api/v1/nodes")["items"]
        found = sum(usable(one) for one in nodes)
        return found >= count, f"{found} of {len(nodes)} nodes usable"

    wait_for(look, "the simulated nodes", timeout, interval)
