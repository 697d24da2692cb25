"""What may nervex-controller write, beyond its role? The policy of manifests/rbac/controller-policy.yaml limits it
to objects of NerveXJobs. Tried with a token of its account; all other tests show that it can still work."""

import json

import kubernetes
import pytest
from support.jobs import job
from support.wait import wait_for

ACCOUNT = "nervex-controller"
GROUP = "nervex.sensetime.com"
FINALIZER = "nervex.sensetime.com/job-tracking"
MERGE_PATCH = "application/merge-patch+json"
KINDS = {"pods": "/api/v1", "services": "/api/v1", "endpoints": "/api/v1",
         "endpointslices": "/apis/discovery.k8s.io/v1", "nervexjobs": f"/apis/{GROUP}/v1alpha1"}


class Holder:
    """A holder of the controller's token. Every call but those of `core` is a dry run; "" if it is
    allowed, else the refusal."""

    def __init__(self, client, namespace):
        self.client, self.namespace = client, namespace
        self.core = kubernetes.client.CoreV1Api(client)  # what only this account may create

    def _call(self, method, kind, name="", body=None, media="application/json"):
        path = f"{KINDS[kind]}/namespaces/{self.namespace}/{kind}" + (f"/{name}" if name else "")
        try:
            self.client.call_api(path, method, query_params=[("dryRun", "All")], body=body, response_type="object",
                                 header_params={"Content-Type": media, "Accept": "application/json"},
                                 auth_settings=["BearerToken"])
            return ""
        except kubernetes.client.ApiException as error:
            return json.loads(error.body)["message"]

    def create(self, kind, body):
        return self._call("POST", kind, body=body)

    def patch(self, kind, name, body):
        return self._call("PATCH", kind, name, body, MERGE_PATCH)

    def replace(self, kind, body):
        return self._call("PUT", kind, body["metadata"]["name"], body)

    def delete(self, kind, name):
        return self._call("DELETE", kind, name)


@pytest.fixture
def holder(target, core, namespace):
    if not target.cluster:
        pytest.skip("the accounts of this cluster are its owner's")
    token = core.create_namespaced_service_account_token(ACCOUNT, "nervex-system", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}).status.token
    administrator = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(target.kubeconfig, client_configuration=administrator)
    config = kubernetes.client.Configuration()
    config.host, config.ssl_ca_cert = administrator.host, administrator.ssl_ca_cert
    config.api_key = {"authorization": f"Bearer {token}"}
    found = Holder(kubernetes.client.ApiClient(config), namespace)
    wait_for(lambda: is_refused(found.create("pods", pod())), "the API server to know the policy", 30)
    return found


def is_refused(said):
    """Refused by the policy, not by a role."""
    return "ValidatingAdmissionPolicy 'nervex-controller'" in said


def owned(kind="NerveXJob", api=f"{GROUP}/v1alpha1", name="theirs", uid="00000000-0000-4000-8000-000000000000"):
    return [{"apiVersion": api, "kind": kind, "name": name, "uid": uid, "controller": True}]


def pod(**meta):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried", **meta},
            "spec": {"containers": [{"name": "main", "image": "i"}]}}


def service(name="tried", cluster_ip="None", spec=None, **meta):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, **meta},
            "spec": {"clusterIP": cluster_ip, "ports": [{"port": 1}], **(spec or {})}}


def endpoint_slice(service_name, labels, name="tried"):
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": [],
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service_name, **labels}},
            "endpoints": [{"addresses": ["10.0.0.1"]}]}


OURS = {"group-name": GROUP}
OUR_SLICE = {**OURS, "endpointslice.kubernetes.io/managed-by": "nervex-controller", "service.kubernetes.io/headless": ""}


# -- what belongs to others


def test_a_pod_of_others_is_out_of_reach(holder, core, namespace):
    made = core.create_namespaced_pod(namespace, pod(labels=OURS))  # a label makes no pod a job's
    assert is_refused(holder.delete("pods", "tried"))
    stored = core.api_client.sanitize_for_serialization(made)
    for patch in ({"metadata": {"labels": {"a": "b"}}}, {"metadata": {"ownerReferences": owned()}},
                  {"metadata": {"finalizers": [FINALIZER]}}, NOT_OF_ITS_PODS["the image"](stored)):
        assert is_refused(holder.patch("pods", "tried", patch)), patch


@pytest.mark.parametrize("owner", [None, owned("Job", "batch/v1"), owned(api="example.com/v1")],
                         ids=["no owner", "a Job's", "another NerveXJob's"])
def test_only_pods_of_jobs_can_be_created(holder, owner):
    assert is_refused(holder.create("pods", pod(**({"ownerReferences": owner} if owner else {}))))
    assert is_refused(holder.create("pods", pod(labels=OURS, finalizers=[FINALIZER])))


def test_services_and_endpoints_of_others_are_out_of_reach(holder, core, api_client, namespace):
    core.create_namespaced_service(namespace, service("theirs", cluster_ip="", spec={"selector": {"a": "b"}}))
    slices = kubernetes.client.DiscoveryV1Api(api_client)
    for name, service_name in (("theirs", "theirs"), ("named-so", namespace)):
        slices.create_namespaced_endpoint_slice(namespace, endpoint_slice(service_name, {}, name))
    core.create_namespaced_endpoints(namespace, {"metadata": {"name": "by-hand"}})
    for kind, name in (("services", "theirs"), ("endpointslices", "theirs"), ("endpointslices", "named-so"),
                       ("endpoints", "by-hand")):
        assert is_refused(holder.delete(kind, name)), (kind, name)
    assert is_refused(holder.patch("services", "theirs", {"spec": {"externalIPs": ["10.0.0.1"]}}))
    for name in ("theirs", "named-so"):
        assert is_refused(holder.replace("endpointslices", endpoint_slice(namespace, OUR_SLICE, name))), name


def test_no_service_is_created_that_leads_traffic(holder, namespace):
    mine = {"ownerReferences": owned()}
    for body in (service(), service(namespace), service("other", labels=OURS), service(cluster_ip="", **mine),
                 service(namespace, cluster_ip="", labels=OURS), service(spec={"externalIPs": ["10.0.0.1"]}, **mine)):
        assert is_refused(holder.create("services", body)), body
    slices = [endpoint_slice("theirs", OUR_SLICE), endpoint_slice(namespace, {})]
    slices += [endpoint_slice(namespace, {key: value for key, value in OUR_SLICE.items() if key != left}) for left in OUR_SLICE]
    for body in slices:
        assert is_refused(holder.create("endpointslices", body)), body


def test_a_job_that_has_not_ended_is_not_deleted(holder, jobs):
    jobs.create(job("running"))
    jobs.wait_phase("running", "Running")
    assert is_refused(holder.delete("nervexjobs", "running"))


def test_a_job_that_has_ended_is_deleted_only_if_its_author_wants_it(holder, jobs, node_agent):
    jobs.create(job("ended"))
    jobs.wait_phase("ended", "Running")
    node_agent.finish("ended-coordinator")
    jobs.wait_phase("ended", "Succeeded")
    assert is_refused(holder.delete("nervexjobs", "ended"))
    jobs.patch("ended", {"spec": {"ttlSecondsAfterFinished": 10000}})
    assert holder.delete("nervexjobs", "ended") == ""


# -- what belongs to jobs


def test_what_belongs_to_a_job_can_be_written_as_the_controller_does(holder, jobs, core, api_client, namespace):
    jobs.create(job("mine", collector={"replicas": 1, "template": job("x")["spec"]["collector"]["template"]}))
    pods = jobs.wait_pods("mine", 3, "Running")
    name = pods[0].metadata.name
    assert holder.delete("pods", name) == ""
    assert holder.patch("pods", name, {"metadata": {"finalizers": None, "labels": {"seen-by": "a-webhook"}}}) == ""
    assert holder.delete("services", namespace) == ""
    assert holder.patch("services", namespace, {"spec": {"selector": None}}) == ""
    slices = kubernetes.client.DiscoveryV1Api(api_client)
    ours = wait_for(lambda: [one.metadata.name for one in slices.list_namespaced_endpoint_slice(
        namespace, label_selector=f"group-name={GROUP}").items], "an EndpointSlice of the job")
    assert holder.delete("endpointslices", ours[0]) == ""
    for kind, body in (("pods", pod(ownerReferences=owned(), finalizers=[FINALIZER])),
                       ("services", service(ownerReferences=owned())),
                       ("endpointslices", endpoint_slice(namespace, OUR_SLICE))):
        assert holder.create(kind, body) == "", kind


NOT_OF_ITS_PODS = {
    "the image": lambda one: {"spec": {"containers": [{**one["spec"]["containers"][0], "image": "evil"}]}},
    "the owner": lambda one: {"metadata": {"ownerReferences": None}},
    "finalizers of others": lambda one: {"metadata": {"finalizers": None}},
}


@pytest.mark.parametrize("what", NOT_OF_ITS_PODS)
def test_a_pod_of_a_job_is_only_released(holder, core, api_client, namespace, what):
    made = holder.core.create_namespaced_pod(
        namespace, pod(ownerReferences=owned(), finalizers=[FINALIZER, "example.com/theirs"]))
    try:
        stored = api_client.sanitize_for_serialization(made)
        said = holder.patch("pods", "tried", NOT_OF_ITS_PODS[what](stored))
        assert is_refused(said) and "changes nothing else" in said, said
        assert holder.patch("pods", "tried", {"metadata": {"finalizers": ["example.com/theirs"]}}) == ""
    finally:
        core.patch_namespaced_pod("tried", namespace, {"metadata": {"finalizers": None}})


def test_a_pod_that_its_job_left_behind_is_released(holder, core, namespace):
    core.create_namespaced_pod(namespace, pod(finalizers=[FINALIZER]))
    assert holder.patch("pods", "tried", {"metadata": {"finalizers": None}}) == ""
    core.patch_namespaced_pod("tried", namespace, {"metadata": {"finalizers": None}})


# -- what it costs, and whether it is right


def test_a_large_pod_is_within_the_cost_that_the_api_server_allows(holder, core, namespace):
    body = pod(ownerReferences=owned(), finalizers=[FINALIZER, "example.com/theirs"])
    body["spec"]["containers"] = [{"name": f"c{i}", "image": "i", "env": [
        {"name": f"V{n}", "value": "x" * 100} for n in range(250)]} for i in range(40)]
    assert len(json.dumps(body)) > 1_000_000
    holder.core.create_namespaced_pod(namespace, body)
    try:
        assert holder.patch("pods", "tried", {"metadata": {"finalizers": ["example.com/theirs"]}}) == ""
        assert holder.delete("pods", "tried") == ""
    finally:
        core.patch_namespaced_pod("tried", namespace, {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("name", ["nervex-controller", "nervex-requests"])
def test_a_policy_is_without_a_warning(api_client, holder, name):
    """The controller manager type-checks the policy's expressions against the kinds that it knows."""
    policies = kubernetes.client.AdmissionregistrationV1Api(api_client)

    def checked():
        found = policies.read_validating_admission_policy(name)
        seen = found.status and found.status.observed_generation == found.metadata.generation
        return found.status if seen else None

    status = wait_for(checked, f"{name} to be checked", 60)
    assert not (status.type_checking and status.type_checking.expression_warnings)
