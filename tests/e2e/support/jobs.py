"""NerveXJobs in one namespace: create, read, wait. Objects are plain dicts, as the API has them."""

import collections
import copy
import json
import os

import kubernetes
from tools.base.tree import ROOT
from tools.cluster import manifests

from support.wait import TIMEOUT, wait_for

GROUP, VERSION = "nervex.sensetime.com", "v1alpha1"


def refusal_of(call, *arguments):
    """The API server's message if it refuses the call; "" if it does not."""
    try:
        call(*arguments)
        return ""
    except kubernetes.client.ApiException as error:
        return json.loads(error.body)["message"]


def load(path):
    """The objects of a YAML file, by its path in the checkout ("examples/wrong-job.yaml")."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return [one for one in manifests.load_all(file) if one]


def load_job(path, name=None, **spec):
    """The file's only NerveXJob, renamed if wanted, with fields of its spec replaced."""
    job = copy.deepcopy(next(one for one in load(path) if one["kind"] == "NerveXJob"))
    job["metadata"].pop("namespace", None)
    if name:
        job["metadata"]["name"] = name
    job["spec"].update(spec)
    return job


def template(cpu="100m", memory="64Mi", gpus=0, **pod_spec):
    """A pod template with one main container."""
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    if gpus:
        resources["limits"] = {"nvidia.com/gpu": str(gpus)}
    return {"spec": {"containers": [{
        "name": "nervex-container", "image": "nervex/nervex-mock:0.1.0", "resources": resources,
        "ports": [{"name": "nervex-port", "containerPort": 80}]}], **pod_spec}}


def job(name, **spec):
    """A small job with coordinator, collector and learner templates; `spec` replaces whole fields."""
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "NerveXJob", "metadata": {"name": name},
            "spec": {"coordinator": {"template": template()}, "collector": {"template": template()},
                     "learner": {"template": template()}, **spec}}


class Jobs:
    """The jobs, pods, services and events of one namespace. `not_yet`: kinds of exceptions (support/wait.py) that
    the waits below tolerate, for tests that stop the API server."""

    def __init__(self, core, custom, namespace):
        self.core, self.custom, self.namespace = core, custom, namespace
        self.not_yet = ()

    # -- jobs and their PodGroups

    def create(self, body, dry_run=False):
        return self.custom.create_namespaced_custom_object(
            GROUP, VERSION, self.namespace, "nervexjobs", body, **({"dry_run": "All"} if dry_run else {}))

    def get(self, name):
        return self.custom.get_namespaced_custom_object(GROUP, VERSION, self.namespace, "nervexjobs", name)

    def patch(self, name, body):
        """A JSON merge patch. The client's own method sends a kind of patch that custom resources refuse."""
        return self.custom.api_client.call_api(
            f"/apis/{GROUP}/{VERSION}/namespaces/{self.namespace}/nervexjobs/{name}", "PATCH", body=body,
            header_params={"Content-Type": "application/merge-patch+json", "Accept": "application/json"},
            auth_settings=["BearerToken"], response_type="object", _return_http_data_only=True)

    def replace(self, name, body):
        return self.custom.replace_namespaced_custom_object(GROUP, VERSION, self.namespace, "nervexjobs", name, body)

    def delete(self, name):
        return self.custom.delete_namespaced_custom_object(GROUP, VERSION, self.namespace, "nervexjobs", name)

    def phase(self, name):
        return self.get(name).get("status", {}).get("phase")

    def counts(self, name):
        """{"Coordinator": {"active": 1, ...}, ...}; a missing count is 0."""
        kinds = ("active", "succeeded", "failed")
        return collections.defaultdict(
            lambda: dict.fromkeys(kinds, 0),
            {role: {kind: seen.get(kind, 0) for kind in kinds}
             for role, seen in self.get(name).get("status", {}).get("replicaStatus", {}).items()})

    def condition(self, name, kind):
        return next((c for c in self.get(name).get("status", {}).get("conditions", []) if c["type"] == kind), None)

    def pod_groups(self, name):
        items = self.custom.list_namespaced_custom_object(GROUP, VERSION, self.namespace, "podgroups")["items"]
        return [one for one in items
                if any(o["kind"] == "NerveXJob" and o["name"] == name for o in one["metadata"].get("ownerReferences", []))]

    # -- what belongs to a job, as client objects, sorted by name

    def pods(self, name, role=None):
        selector = f"nervexjob-name={name}" + (f",replica-type={role}" if role else "")
        return sorted(self.core.list_namespaced_pod(self.namespace, label_selector=selector).items,
                      key=lambda one: one.metadata.name)

    def services(self, name):
        return sorted(self.core.list_namespaced_service(
            self.namespace, label_selector=f"nervexjob-name={name}").items, key=lambda one: one.metadata.name)

    def shared_service(self):
        """The Service with the namespace's name, of any owner; None if there is none."""
        found = self.core.list_namespaced_service(
            self.namespace, field_selector=f"metadata.name={self.namespace}").items
        return found[0] if found else None

    def addresses(self):
        """{pod's name: addresses} that the namespace's pods resolve for <name>.<namespace>, by Kubernetes' rules for
        DNS: the hostname of an endpoint of the Service with the namespace's name, by the first search domain, or any
        other headless Service's own name, by the second."""
        found = collections.defaultdict(set)
        # As text: the client refuses slices without endpoints.
        reply = kubernetes.client.DiscoveryV1Api(self.core.api_client).list_namespaced_endpoint_slice(
            self.namespace, _preload_content=False)
        for piece in json.loads(reply.data)["items"]:
            service = piece["metadata"]["labels"]["kubernetes.io/service-name"]
            for one in piece.get("endpoints") or []:
                name = one.get("hostname") if service == self.namespace else service
                if name:
                    found[name].update(one["addresses"])
        return dict(found)

    def wait_names(self, name, count):
        """Waits until each of the job's pods is Running and its name resolves to exactly its address."""
        def look():
            pods = {one.metadata.name: {one.status.pod_ip} for one in self.pods(name)}
            found = {pod: seen for pod, seen in self.addresses().items() if pod in pods}
            return len(pods) == count and found == pods, (pods, found)
        return self.wait(look, f"the names of the {count} pods of job {name}")

    def events(self, name, reason=None):
        """Events of the job object."""
        items = self.core.list_namespaced_event(
            self.namespace, field_selector=f"involvedObject.kind=NerveXJob,involvedObject.name={name}").items
        return [one for one in items if reason in (None, one.reason)]

    # -- waiting

    def wait(self, predicate, what, timeout=TIMEOUT):
        return wait_for(predicate, what, timeout, not_yet=self.not_yet)

    def wait_phase(self, name, phase, timeout=TIMEOUT):
        def look():
            status = self.get(name).get("status", {})
            return status.get("phase") == phase, status
        return self.wait(look, f"job {name} to be {phase}", timeout)

    def wait_pods(self, name, count, phase=None, timeout=TIMEOUT, role=None):
        """Waits until the job has exactly `count` pods (in that phase); returns them."""
        def look():
            pods = self.pods(name, role)
            fit = [one for one in pods if phase in (None, one.status.phase)]
            seen = [(one.metadata.name, one.status.phase, one.spec.node_name) for one in pods]
            return (True, pods) if len(fit) == len(pods) == count else (False, seen)
        return self.wait(look, f"job {name} to have {count} pods" + (f" {phase}" if phase else ""), timeout)

    def wait_bound(self, name, count, timeout=TIMEOUT):
        def look():
            pods = self.pods(name)
            seen = [(one.metadata.name, one.spec.node_name) for one in pods]
            return (True, pods) if len(pods) == count and all(one.spec.node_name for one in pods) else (False, seen)
        return self.wait(look, f"the {count} pods of job {name} to be bound", timeout)

    def wait_condition(self, name, kind, status="True", timeout=TIMEOUT):
        def look():
            seen = self.get(name).get("status", {})
            found = [c for c in seen.get("conditions", []) if c["type"] == kind and c["status"] == status]
            return (True, found[0]) if found else (False, seen)
        return self.wait(look, f"condition {kind}={status} on job {name}", timeout)

    def wait_checked(self, name, timeout=TIMEOUT):
        """A job that waits is checked a moment later, which changes its PodGroup: until the planner has answered that,
        too, its state is not final."""
        def look():
            groups = self.pod_groups(name)
            seen = [(one["metadata"]["generation"], one.get("status", {}).get("observedGeneration"),
                     one["spec"]["gangs"][0].get("startCheck", {}).get("state")) for one in groups]
            return bool(seen) and all(
                generation == observed and state in ("Passed", "Blocked") for generation, observed, state in seen), seen
        wait_for(look, f"{name} to be checked", timeout)

    def wait_event(self, name, reason, timeout=TIMEOUT):
        return self.wait(lambda: self.events(name, reason), f"event {reason} on job {name}", timeout)[0]
