"""A user with the role `edit` in one namespace who means harm, and what must hold in spite of that."""

import contextlib
import json

import kubernetes
from tools.cluster import kubelet

from support import nodes
from support.jobs import GROUP, VERSION, Jobs, job, refusal_of, template
from support.wait import absent, always, conflict, wait_for

GPU = "nvidia.com/gpu"
LONG = 60
YEARS = 10**9  # seconds


class Tenant:
    """The clients of the user, a node with 8 GPUs for what the user asks for, and the user's jobs and pods."""

    def __init__(self, users, namespace, node, administrator=None):
        self.namespace, self.node, self.administrator = namespace, node, administrator
        self.kubeconfig = users.kubeconfig("edit")
        self.client = kubernetes.config.new_client_from_config(config_file=self.kubeconfig)
        self.core = kubernetes.client.CoreV1Api(self.client)
        self.custom = kubernetes.client.CustomObjectsApi(self.client)
        self.apps = kubernetes.client.AppsV1Api(self.client)
        self.jobs = Jobs(self.core, self.custom, namespace)
        wait_for(self._has_rights, "the user to have the role")

    def _has_rights(self):
        """Kubernetes' own and those that the suite adds."""
        review = kubernetes.client.AuthorizationV1Api(self.client)
        return all(review.create_self_subject_access_review({"spec": {"resourceAttributes": {
            "namespace": self.namespace, "verb": "create", "group": group, "resource": what}}}).status.allowed
            for group, what in (("", "pods"), (GROUP, "nervexjobs")))

    def call(self, method, path, body=None, kind="application/merge-patch+json"):
        """(status, the answer as an object) of a request to the API server."""
        headers = {"Accept": "application/json", "Content-Type": kind if method == "PATCH" else "application/json"}
        try:
            reply = self.client.call_api(path, method, body=body, header_params=headers, auth_settings=["BearerToken"],
                                         response_type="object", _return_http_data_only=False)
            return reply[1], reply[0]
        except kubernetes.client.ApiException as error:
            return error.status, json.loads(error.body)

    def path(self, plural, name="", group=f"apis/{GROUP}/{VERSION}", namespace=None):
        return f"/{group}/namespaces/{namespace or self.namespace}/{plural}" + (f"/{name}" if name else "")

    def pod_path(self, name="", namespace=None):
        return self.path("pods", name, "api/v1", namespace)

    # -- what the user makes

    def template(self, gpus, slow=False, **pod_spec):
        """On the test's node. `slow`: the pod takes its whole grace period to end, an hour."""
        one = template(gpus=gpus, nodeSelector={nodes.OWN: self.node}, **pod_spec)
        if slow:
            one["spec"]["terminationGracePeriodSeconds"] = 3600
            one["metadata"] = {"annotations": kubelet.annotations(terminates="slowly")}
        return one

    def job(self, name, gpus, slow=False, replicas=1, **spec):
        """A job of a coordinator and collectors with so many GPUs each."""
        role = {"replicas": replicas, "template": self.template(gpus, slow)}
        return job(name, collector=role, **{"aggregator": "OnDemand", **spec})

    def run(self, name, gpus, **more):
        self.jobs.create(self.job(name, gpus, **more))
        self.jobs.wait_phase(name, "Running", LONG)

    def pod(self, name, gpus, labels=None, annotations=None, **spec):
        limits = {"limits": {GPU: str(gpus)}} if gpus else {}
        return {"metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
                "spec": {"schedulerName": "nervex-scheduler", "nodeSelector": {nodes.OWN: self.node},
                         "terminationGracePeriodSeconds": 0,
                         "containers": [{"name": "main", "image": "i", "resources": limits}], **spec}}

    def create_pod(self, *words, **more):
        return self.core.create_namespaced_pod(self.namespace, self.pod(*words, **more))

    def wait_bound(self, *names):
        for name in names:
            wait_for(lambda name=name: self.core.read_namespaced_pod(name, self.namespace).spec.node_name,
                     f"pod {name} to be bound", LONG)

    def delete_slowly(self, name, seconds=YEARS):
        self.core.delete_namespaced_pod(name, self.namespace, grace_period_seconds=seconds)

    def detach(self, name):
        """Tries to take the owner off a pod of a job, which is refused. An administrator then does it: what follows must
        hold without the policy, too."""
        change = {"metadata": {"ownerReferences": None}}
        refusal = refusal_of(self.core.patch_namespaced_pod, name, self.namespace, change)
        assert "only the garbage collector may take a pod from its NerveXJob" in refusal, refusal
        self.administrator.patch_namespaced_pod(name, self.namespace, change)

    # -- what is seen

    def gpus_in_use(self):
        """Of the pods that are bound and have not ended, in the user's namespace."""
        return sum(gpus_of(pod) for pod in self.core.list_namespaced_pod(self.namespace).items
                   if pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed"))

    def check_at_most(self, gpus, seconds=0.5):
        always(lambda: ((used := self.gpus_in_use()) <= gpus, used), f"at most {gpus} GPUs are in use", seconds)

    def suspend(self, name, value):
        """Admission lets a job resume only after it was suspended."""
        said = refusal_of(self.jobs.patch, name, {"spec": {"suspend": value}})
        assert not said or "before the controller has suspended" in said, said

    def wait_reason(self, name, *reasons):
        """Waits until the job, or a gang of its, waits for one of these reasons; returns the message."""
        def look():
            said = [self.jobs.condition(name, "Scheduled") or {}]
            said += [gang for group in self.jobs.pod_groups(name) for gang in group.get("status", {}).get("gangs", [])]
            found = [one.get("message", "") for one in said if one.get("reason") in reasons]
            return (True, found[0]) if found else (False, said)
        return wait_for(look, f"{name} to wait with reason {reasons}", LONG)

    def wait_pod_says(self, name, words):
        """An event of a pod without a gang."""
        def look():
            seen = [one.message for one in self.core.list_namespaced_event(
                self.namespace, field_selector=f"involvedObject.kind=Pod,involvedObject.name={name}").items]
            return any(words in one for one in seen), seen
        wait_for(look, f"an event of pod {name}: {words}", LONG)


def gpus_of(pod):
    """As Kubernetes counts: sidecars beside containers."""
    sidecars = [one for one in pod.spec.init_containers or [] if one.restart_policy == "Always"]
    return sum(int((one.resources.limits or {}).get(GPU, 0)) for one in pod.spec.containers + sidecars if one.resources)


@contextlib.contextmanager
def attempt(to):
    """A call that may be refused for a race: the object was changed or deleted meanwhile."""
    try:
        yield
    except kubernetes.client.ApiException as error:
        if not (absent(error) or conflict(error)):
            raise AssertionError(f"{to}: {error.body}") from error
