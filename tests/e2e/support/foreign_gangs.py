"""Gangs of other operators: pods with the label and the PodGroup of scheduling.x-k8s.io."""

import re

from tools.cluster import training_operator
from tools.cluster.api import ApiError

from support.wait import absent, wait_for

GROUP = "scheduling.x-k8s.io"
LABEL = f"{GROUP}/pod-group"
CRD = f"podgroups.{GROUP}"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PAUSE = "registry.k8s.io/pause:3.10"


def install(api, crds=None):
    """Installs these CRDs, by default that of PodGroups; returns when they are served."""
    for crd in crds or training_operator.crds(f"{GROUP}_*.yaml"):
        try:
            api.post(CRDS, crd)
        except ApiError as error:
            if error.status != 409:
                raise

        def look(name=crd["metadata"]["name"]):
            seen = api.get(f"{CRDS}/{name}").get("status", {}).get("conditions") or []
            return any(c["type"] == "Established" and c["status"] == "True" for c in seen), seen
        wait_for(look, f"CRD {crd['metadata']['name']} to be established")


def wait_known(cluster):
    """Waits until the extender knows the kind: pods keep its earlier message, and nothing requeues them."""
    def look():
        with open(cluster.programs["extender"]["log"], encoding="utf-8") as log:
            said = re.findall(rf"(kind is (?:not )?installed) path=/apis/{re.escape(GROUP)}/", log.read())
        return said[-1:] == ["kind is installed"], said[-1:]
    wait_for(look, "the extender to know the PodGroups")


def uninstall(api):
    try:
        api.call("DELETE", f"{CRDS}/{CRD}")
    except ApiError as error:
        if error.status != 404:
            raise

    def look():
        try:
            return False, api.get(f"{CRDS}/{CRD}")["status"]
        except ApiError as error:
            if absent(error):
                return True, None
            raise
    wait_for(look, "the CRD to be gone")


def pod(name, gang, gpus=1, nodes=None, **spec):
    """A pod of that gang. `nodes`: names of own nodes that it may use."""
    if nodes is not None:
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [one]}]} for one in nodes]
        spec.setdefault("affinity", {})["nodeAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"metadata": {"name": name, "labels": {LABEL: gang}},
            "spec": {"schedulerName": "nervex-scheduler", "terminationGracePeriodSeconds": 0, **spec,
                     "containers": [{"name": "main", "image": PAUSE,
                                     "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}}


class Gangs:
    """The foreign gangs of one namespace."""

    def __init__(self, api, core, namespace):
        self.api, self.core, self.namespace = api, core, namespace
        self._path = f"/apis/{GROUP}/v1alpha1/namespaces/{namespace}/podgroups"

    def create(self, name, pods, min_member=None, more=None, **kind):
        """Creates the PodGroup, then this many pods."""
        self.create_group(name, pods if min_member is None else min_member, **(more or {}))
        self.add_pods(name, range(pods), **kind)

    def create_group(self, name, min_member, **spec):
        self.api.post(self._path, {"apiVersion": f"{GROUP}/v1alpha1", "kind": "PodGroup",
                                   "metadata": {"name": name}, "spec": {"minMember": min_member, **spec}})

    def add_pods(self, name, numbers, **kind):
        for number in numbers:
            self.core.create_namespaced_pod(self.namespace, pod(f"{name}-{number}", name, **kind))

    def delete(self, name):
        """Deletes its pods."""
        self.core.delete_collection_namespaced_pod(
            self.namespace, label_selector=f"{LABEL}={name}", grace_period_seconds=0)

    def end(self, name):
        """Deletes its PodGroup, and its pods, which have their grace period."""
        self.api.call("DELETE", f"{self._path}/{name}")
        self.core.delete_collection_namespaced_pod(self.namespace, label_selector=f"{LABEL}={name}")

    def pods(self, name):
        found = self.core.list_namespaced_pod(self.namespace, label_selector=f"{LABEL}={name}").items
        return sorted(found, key=lambda one: one.metadata.name)

    def bound(self, name):
        return [one.spec.node_name for one in self.pods(name) if one.spec.node_name]

    def group(self, name):
        return self.api.get(f"{self._path}/{name}")

    def phase(self, name):
        return self.group(name).get("status", {}).get("phase")

    def message(self, name):
        """kube-scheduler's message about the gang's first pod."""
        conditions = self.pods(name)[0].status.conditions or []
        return next((c.message or "" for c in conditions if c.type == "PodScheduled" and c.status == "False"), "")

    def wait_running(self, name, count, timeout=60):
        def look():
            pods = self.pods(name)
            seen = [(one.metadata.name, one.metadata.resource_version, one.status.phase, one.spec.node_name,
                     one.status.nominated_node_name) for one in pods]
            return sum(one.status.phase == "Running" for one in pods) == count, seen
        wait_for(look, f"{count} pods of {name} to run", timeout)

    def wait_message(self, name, text, timeout=60):
        def look():
            said = self.message(name)
            return text in said, said
        wait_for(look, f"kube-scheduler to say of {name}: {text}", timeout)

    def wait_event(self, name, text, timeout=60):
        def look():
            seen = self.events(name)
            return any(text in message for _, message, _ in seen), seen
        wait_for(look, f"an event of podgroup {name}: {text}", timeout)

    def wait_phase(self, name, phase, timeout=60):
        def look():
            status = self.group(name).get("status", {})
            return status.get("phase") == phase, status
        wait_for(look, f"podgroup {name} to be {phase}", timeout)

    def events(self, name):
        found = self.core.list_namespaced_event(
            self.namespace, field_selector=f"involvedObject.kind=PodGroup,involvedObject.name={name}").items
        return [(one.reason, one.message, one.count) for one in found]
