"""What a start of ours costs that no scheduler can save: the default scheduler's pods, made like a job's step by step.

`content`: pods with all that a job's pods have. `watched`: the same while three programs watch pods as JSON, as our
controller, extender and server do. Both have names in DNS. What is left between `watched` and ours is our programs'."""

import threading

from gang import programs, sides

WATCHES = 3


def pods_like_a_jobs(side, scenario, gangs):
    return [], sides.pods(side, scenario, gangs, lambda pod, gang: make_like_a_jobs(pod, gang, scenario.nodes))


def make_like_a_jobs(pod, gang, nodes):
    meta, (container,) = pod["metadata"], pod["spec"]["containers"]
    name, domain = meta["name"], f"{pod['spec']['subdomain']}"
    meta["labels"].update({"controller-name": "nervex-operator", "group-name": "nervex.sensetime.com",
                           "nervexjob-name": gang, "pod-name": name, "replica-type": "collector"})
    meta["annotations"] = {"nervex.sensetime.com/incarnation": "0", "nervex.sensetime.com/placement": "5",
                           "nervex.sensetime.com/pod-group-uid": "c1151915-eef9-4c0e-98d5-d336b78494b5",
                           "nervex.sensetime.com/slot": "collector/3"}
    meta["finalizers"] = ["nervex.sensetime.com/job-tracking"]
    container["ports"] = [{"containerPort": 22270, "name": "nervex-port"}]
    container["env"] = [{"name": key, "value": value} for key, value in (
        ("COLLECTOR_PORT", "22270"), ("KUBERNETES_POD_NAMESPACE", domain), ("KUBERNETES_POD_NAME", name),
        ("KUBERNETES_SERVER_URL", "nervex-server.nervex-system:8080"),
        ("KUBERNETES_NERVEX_SERVER_URL", "nervex-server.nervex-system:8080"),
        ("KUBERNETES_COORDINATOR_URL", f"{gang}-coordinator.{domain}:22273"),
        ("KUBERNETES_AGGREGATOR_URL", f"{gang}-aggregator.{domain}:80"))]
    # A node of its own choice, two pods on each as long as there are enough.
    node = f"node-{int(name.rsplit('-', 1)[1]) // 2 % nodes:05}"
    pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}}}


class Watched(programs.Peer):
    """The default scheduler, and watches whose data is discarded."""

    def __init__(self, cluster):
        super().__init__(cluster, "default")
        self._connections = []

    def start(self):
        super().start()
        for _ in range(WATCHES):
            connection = self._cluster.api().connect(timeout=None)
            self._connections.append(connection)
            connection.request("GET", "/api/v1/pods?watch=1", headers={"Accept": "application/json"})
            threading.Thread(target=drain, args=(connection.getresponse(),), daemon=True).start()

    def stop(self):
        super().stop()
        for connection in self._connections:
            connection.sock.shutdown(2)  # wakes its reader, which closes it
        self._connections = []


def drain(response):
    try:
        while response.read1(1 << 20):
            pass
    except (OSError, ValueError):
        pass  # stop() ended it
    finally:
        response.close()


SIDES = (
    sides.Side("content", "default scheduler, pods like a job's", lambda cluster: programs.Peer(cluster, "default"),
               pods_like_a_jobs, False, service=True),
    sides.Side("watched", f"the same, pods watched {WATCHES} times", Watched, pods_like_a_jobs, False, service=True),
)
