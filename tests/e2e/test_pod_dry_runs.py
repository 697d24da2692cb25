"""A waiting job shows at once which pods the API server would refuse: they are tried in a dry run."""

import kubernetes
import pytest
from support import nodes
from support.jobs import job, template
from support.wait import always, wait_for

REFUSED = "PodsRefused"


def waits(**learner):
    """A job too large for any node, so that none of its pods is ever created."""
    return job("waits", aggregator="OnDemand", learner={"replicas": 1, "template": template(memory="900Ti", **learner)})


def quota(core, namespace, **hard):
    core.create_namespaced_resource_quota(namespace, {"metadata": {"name": "team"}, "spec": {"hard": hard}})
    wait_for(lambda: core.read_namespaced_resource_quota("team", namespace).status.used, "the quota to count")


def unknown_account(core, namespace):
    return waits(serviceAccountName="trainer"), "spec.learner.template: error looking up service account"


def pod_security(core, namespace):
    core.patch_namespace(namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    return waits(), 'spec.coordinator.template, spec.learner.template: violates PodSecurity "restricted:latest"'


def limit_range(core, namespace):
    core.create_namespaced_limit_range(namespace, {"metadata": {"name": "small"}, "spec": {"limits": [
        {"type": "Container", "max": {"memory": "1Ti"}, "default": {"memory": "64Mi"}}]}})
    return waits(), "spec.learner.template: "


def quota_wants_limits(core, namespace):
    quota(core, namespace, **{"limits.cpu": "9"})
    return waits(), "must specify limits.cpu"


@pytest.mark.versions
@pytest.mark.parametrize("cause", [unknown_account, pod_security, limit_range, quota_wants_limits],
                         ids=lambda one: one.__name__)
def test_a_refused_dry_run_shows_while_the_job_waits(jobs, core, namespace, cause):
    body, says = cause(core, namespace)
    jobs.create(body)
    told = jobs.wait_condition("waits", REFUSED)
    assert says in told["message"]
    status = jobs.get("waits")["status"]
    assert (status["phase"], status["reason"], status["attempt"]) == ("Created", REFUSED, 1)
    assert jobs.wait_event("waits", REFUSED).message == told["message"]
    assert jobs.condition("waits", "Scheduled")["status"] == "False"
    assert not jobs.pods("waits")


@pytest.fixture
def policy(api_client, namespace):
    """policy(expression, message): another owner's admission policy for pods of the namespace; removed with the
    test."""
    admission = kubernetes.client.AdmissionregistrationV1Api(api_client)

    def make(expression, message):
        admission.create_validating_admission_policy({"metadata": {"name": namespace}, "spec": {
            "matchConstraints": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]},
            "validations": [{"expression": expression, "message": message}]}})
        admission.create_validating_admission_policy_binding({"metadata": {"name": namespace}, "spec": {
            "policyName": namespace, "validationActions": ["Deny"], "matchResources": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}}})
    yield make
    admission.delete_validating_admission_policy_binding(namespace)
    admission.delete_validating_admission_policy(namespace)


def test_refusals_of_other_webhooks_show_too(jobs, core, namespace, policy):
    policy("object.spec.containers.all(c, c.image.startsWith('registry.example/'))",
           "images come from registry.example")
    wait_for(lambda: is_refused(core, namespace), "the policy to count")
    jobs.create(waits())
    assert "images come from registry.example" in jobs.wait_condition("waits", REFUSED)["message"]


def is_refused(core, namespace):
    try:
        core.create_namespaced_pod(namespace, {"metadata": {"name": "try"}, "spec": {"containers": [
            {"name": "main", "image": "elsewhere/image"}]}}, dry_run="All")
    except kubernetes.client.ApiException as error:
        return error.status in (400, 403, 422), error.body
    return False, "accepted"


def test_each_role_of_a_waiting_job_gets_one_dry_run(jobs, namespace, audit):
    jobs.create(waits())
    wait_for(lambda: tried(audit, namespace) == 2, "a pod of each role to be tried")
    jobs.patch("waits", {"metadata": {"labels": {"a": "b"}}})
    always(lambda: tried(audit, namespace) == 2 and jobs.condition("waits", REFUSED) is None, "nothing more", 2)


def test_an_exhausted_quota_is_not_a_refusal(jobs, core, namespace, audit):
    quota(core, namespace, pods="1")
    core.create_namespaced_pod(namespace, {"metadata": {"name": "other"}, "spec": {"containers": [
        {"name": "main", "image": "registry.k8s.io/pause:3.10"}]}})
    wait_for(lambda: core.read_namespaced_resource_quota("team", namespace).status.used["pods"] == "1",
             "the quota's use to be counted")
    jobs.create(waits())
    wait_for(lambda: tried(audit, namespace), "the pods to be tried")
    always(lambda: jobs.condition("waits", REFUSED) is None, "no word of refused pods", 2)


def tried(audit, namespace):
    return audit.dry_runs(namespace)["controller", "create pods"]


def test_the_refusal_ends_with_its_cause(jobs, core, namespace):
    jobs.create(waits(serviceAccountName="trainer"))
    jobs.wait_condition("waits", REFUSED)
    core.create_namespaced_service_account(namespace, {"metadata": {"name": "trainer"}})
    jobs.patch("waits", {"spec": {"group": "asked-again"}})  # a change is asked about at once, else each minute
    told = jobs.wait_condition("waits", REFUSED, "False")
    assert told["reason"] == "PodsAccepted"
    wait_for(lambda: jobs.get("waits")["status"]["reason"] == "Unschedulable", "the job to wait for capacity alone")


def test_a_restarted_controller_asks_again(jobs, programs):
    jobs.create(waits(serviceAccountName="trainer"))
    before = jobs.wait_condition("waits", REFUSED)
    programs.restart("controller")
    jobs.patch("waits", {"spec": {"group": "other"}})

    def look():
        told = jobs.condition("waits", REFUSED)
        return told["observedGeneration"] == jobs.get("waits")["metadata"]["generation"], told
    wait_for(look, "the new leader to have asked")
    assert jobs.condition("waits", REFUSED)["message"] == before["message"]
    assert len(jobs.events("waits", REFUSED)) == 1


def test_a_job_that_was_refused_and_now_waits_says_that_it_waits(jobs, core, namespace, own_node, target):
    """It was refused and lost its turn, and the cause is fixed: only the capacity is missing."""
    api = target.cluster.api()
    body = job("refused", learner={"replicas": 1, "template": template(
        serviceAccountName="trainer", nodeSelector={nodes.OWN: own_node})})
    jobs.create(body)
    assert "service account" in jobs.wait_condition("refused", "PodsCreated", "False")["message"]
    api.patch(f"/api/v1/nodes/{own_node}", {"spec": {"unschedulable": True}})
    jobs.wait_condition("refused", REFUSED, timeout=60)  # the next attempt waits, and is refused in a dry run
    assert jobs.get("refused")["status"]["reason"] == REFUSED
    core.create_namespaced_service_account(namespace, {"metadata": {"name": "trainer"}})
    jobs.patch("refused", {"spec": {"group": "asked-again"}})
    jobs.wait_condition("refused", REFUSED, "False")
    wait_for(lambda: jobs.get("refused")["status"]["reason"] == "Unschedulable", "the job to wait for capacity alone")
    assert jobs.condition("refused", "PodsCreated")["status"] == "False"  # the back-off goes by it
    api.patch(f"/api/v1/nodes/{own_node}", {"spec": {"unschedulable": None}})
    jobs.wait_phase("refused", "Running")
    jobs.wait_condition("refused", "PodsCreated")
