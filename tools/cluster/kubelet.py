"""Does for pods what a kubelet does and a simulated node does not: runs the coordinator's program, and reports how a
container ended. Used by the demo and the end-to-end tests, as administrator."""

import os
import subprocess
import sys
import tempfile
import time

from tools.base.console import wait_for
from tools.base.tree import ROOT
from tools.cluster.api import ApiError

MAIN_CONTAINER = "nervex-container"
TOKEN_FILE = "KUBERNETES_NERVEX_SERVER_TOKEN_FILE"
SERVER_URLS = ("KUBERNETES_SERVER_URL", "KUBERNETES_NERVEX_SERVER_URL")
IMAGE_FOLDER = "/mock/"  # where the examples' image keeps examples/mock


def pod_path(namespace, name):
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def main_container(pod):
    """The container with that name, else the first (the contract's rule)."""
    containers = pod["spec"]["containers"]
    return next((c for c in containers if c["name"] == MAIN_CONTAINER), containers[0])


def environment(pod):
    """The main container's variables with a kubelet's values."""
    fields = {
        "metadata.name": pod["metadata"]["name"],
        "metadata.namespace": pod["metadata"]["namespace"],
        "metadata.uid": pod["metadata"]["uid"],
        "spec.nodeName": pod["spec"].get("nodeName", ""),
        "status.podIP": pod["status"].get("podIP", ""),
        "status.hostIP": pod["status"].get("hostIP", ""),
    }
    values = {}
    for variable in main_container(pod).get("env", []):
        source = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        values[variable["name"]] = fields.get(source, "") if source else variable.get("value", "")
    return values


def coordinator_command(pod, extra=()):
    """The pod's command line, with the image's folder replaced by that of this checkout."""
    container = main_container(pod)
    words = [*container.get("command", []), *container.get("args", [])]
    here = os.path.join(ROOT, "examples", "mock") + os.sep
    words = [here + word[len(IMAGE_FOLDER):] if word.startswith(IMAGE_FOLDER) else word for word in words]
    if words[:1] == ["python3"]:
        words[0] = sys.executable
    return words + list(extra)


def pod_token(api, pod):
    """The token that the pod's projected volume would hold."""
    sources = [source["serviceAccountToken"] for volume in pod["spec"].get("volumes", [])
               for source in volume.get("projected", {}).get("sources", []) if "serviceAccountToken" in source]
    wanted = next(source for source in sources if source.get("audience") == "nervex-server")
    meta = pod["metadata"]
    account = pod["spec"].get("serviceAccountName") or "default"
    review = api.post(f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{account}/token",
                      {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                       "spec": {"audiences": [wanted["audience"]], "expirationSeconds": wanted["expirationSeconds"],
                                "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": meta["name"],
                                                   "uid": meta["uid"]}}})
    return review["status"]["token"]


def project_token(api, pod):
    """Writes it to a separate file that only we can read; returns the path."""
    handle, path = tempfile.mkstemp(prefix="nervex-token-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(pod_token(api, pod))
    return path


def start_coordinator(api, namespace, name, server_url, extra=()):
    """Starts the coordinator pod's program here, with the pod's environment from the API and only the server's
    address replaced. Simulated pods serve no requests, so it exchanges no tasks with them, and works for two seconds
    unless `extra` says otherwise. Returns the Popen; its output is text on stdout."""
    pod = api.get(pod_path(namespace, name))
    values = environment(pod)
    for variable in SERVER_URLS:
        values[variable] = server_url.removeprefix("http://")
    if TOKEN_FILE in values:
        values[TOKEN_FILE] = project_token(api, pod)
    values["PATH"] = os.environ.get("PATH", "/usr/bin:/bin")
    return subprocess.Popen(coordinator_command(pod, ("--no-exchange", "--seconds=2", *extra)), env=values, text=True, bufsize=1,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def change_status(api, namespace, name, change):
    """Applies `change` to a copy of the pod's status until there is no conflict; returns the pod."""
    for tries_left in reversed(range(50)):
        pod = api.get(pod_path(namespace, name))
        status = pod.get("status", {})
        change(pod, status)
        body = {"metadata": {"uid": pod["metadata"]["uid"],
                             "resourceVersion": pod["metadata"]["resourceVersion"]}, "status": status}
        try:
            return api.patch(pod_path(namespace, name) + "/status", body)
        except ApiError as error:
            if error.status != 409 or not tries_left:
                raise


STAGES = "nervex-e2e/"  # annotations that tools/controlplane/stages look for
NOT_READY_TAINT = "node.kubernetes.io/not-ready"


def annotations(**values):
    """annotations(terminates="slowly", rejected="OutOfcpu", main_exits=3), for a pod's metadata."""
    return {STAGES + key.replace("_", "-"): str(value) for key, value in values.items()}


def annotate(api, namespace, name, **values):
    return api.patch(pod_path(namespace, name), {"metadata": {"annotations": annotations(**values)}})


def set_node_ready(api, name, ready, why="the tests' kubelet says so", timeout=60):
    """Makes a simulated node NotReady, or ready again, and waits until the controller manager has added or removed
    the taint that stops the scheduler. The other taint, NoExecute, follows later: it is rate-limited."""
    path = f"/api/v1/nodes/{name}"
    api.patch(path, {"metadata": {"annotations": {STAGES + "not-ready": None if ready else why}}})

    def look():
        node = api.get(path)
        taints = {(one["key"], one["effect"]) for one in node["spec"].get("taints", [])}
        conditions = node.get("status", {}).get("conditions", [])  # none before kwok has seen the node
        status = next((c["status"] for c in conditions if c["type"] == "Ready"), "Unknown")
        return status == str(ready) and ((NOT_READY_TAINT, "NoSchedule") in taints) != ready, f"Ready={status}, {taints}"

    wait_for(look, f"node {name} to be {'ready' if ready else 'NotReady'}", timeout)


def timestamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def set_container_states(pod, status, state_of):
    """Writes a status for every container; `state_of(container, old_state)` gives the new state."""
    old = {one["name"]: one for one in status.get("containerStatuses", [])}
    status["containerStatuses"] = []
    for container in pod["spec"]["containers"]:
        one = old.get(container["name"], {
            "name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0})
        state = state_of(container, one.get("state", {}))
        running = "running" in state
        status["containerStatuses"].append({**one, "state": state, "ready": running, "started": running})


def set_ready(status, ready, reason=None):
    for kind in ("Ready", "ContainersReady"):
        rest = [c for c in status.get("conditions", []) if c["type"] != kind]
        condition = {"type": kind, "status": "True" if ready else "False", "lastTransitionTime": timestamp()}
        status["conditions"] = rest + [{**condition, "reason": reason} if reason else condition]


def finish(api, namespace, name, exit_code=0, message="", sidecars_end=True):
    """The main container ended with `exit_code`. With `sidecars_end` the others end too and the pod gets its final
    phase; otherwise a pod with others stays in phase Running."""
    ended = {"exitCode": exit_code, "reason": "Completed" if exit_code == 0 else "Error", "finishedAt": timestamp()}
    if message:
        ended["message"] = message

    def change(pod, status):
        main = main_container(pod)["name"]
        began = status.get("startTime", timestamp())

        def state_of(container, old):
            if container["name"] == main:
                return {"terminated": {**ended, "startedAt": began}}
            if sidecars_end:
                return {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": began,
                                       "finishedAt": timestamp()}}
            return old or {"running": {"startedAt": began}}

        set_container_states(pod, status, state_of)
        if sidecars_end or len(pod["spec"]["containers"]) == 1:
            status["phase"] = "Succeeded" if exit_code == 0 else "Failed"
        set_ready(status, False, "PodCompleted" if exit_code == 0 else "PodFailed")

    return change_status(api, namespace, name, change)


def run(api, namespace, name):
    """Running with all containers ready, as a simulated node does on its own."""
    def change(pod, status):
        status["phase"] = "Running"
        status.setdefault("startTime", timestamp())
        set_container_states(pod, status, lambda _container, _old: {"running": {"startedAt": timestamp()}})
        set_ready(status, True)

    return change_status(api, namespace, name, change)


def set_phase(api, namespace, name, phase):
    """Running, Succeeded or Failed with matching states of the containers."""
    if phase == "Running":
        return run(api, namespace, name)
    if phase in ("Succeeded", "Failed"):
        return finish(api, namespace, name, 0 if phase == "Succeeded" else 1)
    raise ValueError(f"a pod cannot be put into phase {phase!r}")
