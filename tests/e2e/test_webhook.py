"""What `kubectl create` reports about a job: defaults, and refusals that name the field."""

import copy
import itertools
import json
import os

import kubernetes
import pytest
from tools.base.tree import ROOT
from support.jobs import Jobs, job, load, load_job, refusal_of, template
from support.wait import wait_for


def refusal(call, *arguments):
    """The API server's message; the call must be refused."""
    with pytest.raises(kubernetes.client.ApiException) as caught:
        call(*arguments)
    status = json.loads(caught.value.body)
    assert caught.value.status in (400, 403, 422), status
    return status["message"]


def with_policy(policy):
    return job("policy", cleanPodPolicy=policy)


# -- W1 to W6: the clean-up policy


@pytest.mark.parametrize("policy, stored", [("Running", "Running"), ("All", "All"), ("None", "None"), ("ALL", "All")])
def test_w1_a_known_policy_is_stored(jobs, policy, stored):
    assert jobs.create(with_policy(policy))["spec"]["cleanPodPolicy"] == stored


@pytest.mark.versions
@pytest.mark.parametrize("spec", [{"cleanPodPolicy": ""}, {}], ids=["empty", "absent"])
def test_w2_no_policy_becomes_running(jobs, spec):
    assert jobs.create(job("policy", **spec))["spec"]["cleanPodPolicy"] == "Running"


def test_w3_an_unknown_policy_is_refused(jobs):
    says = refusal(jobs.create, with_policy("hello"))
    assert "spec.cleanPodPolicy" in says
    assert "Invalid CleanPodPolicy" in says
    for allowed in ("Running", "All", "None"):
        assert allowed in says


@pytest.mark.parametrize("policy", ["All", "None", "Running"])
def test_w4_a_known_policy_is_stored_on_update(jobs, policy):
    jobs.create(with_policy("Running"))
    assert jobs.patch("policy", {"spec": {"cleanPodPolicy": policy}})["spec"]["cleanPodPolicy"] == policy


def test_w5_an_emptied_policy_becomes_running_on_update(jobs):
    jobs.create(with_policy("All"))
    assert jobs.patch("policy", {"spec": {"cleanPodPolicy": ""}})["spec"]["cleanPodPolicy"] == "Running"


def test_w6_an_unknown_policy_is_refused_on_update(jobs):
    jobs.create(with_policy("All"))
    assert "Invalid CleanPodPolicy" in refusal(jobs.patch, "policy", {"spec": {"cleanPodPolicy": "hello"}})
    assert jobs.get("policy")["spec"]["cleanPodPolicy"] == "All"


# -- wrong jobs


def change(path, value):
    """Sets, or with None removes, the value at `path` of a job ("spec.coordinator.template")."""
    def apply(body):
        *folders, last = [int(word) if word.isdigit() else word for word in path.split("/")]
        place = body
        for word in folders:
            place = place[word]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return apply


COORDINATOR = "spec/coordinator/template/spec"
MAIN = COORDINATOR + "/containers/0"
WRONG = {
    # what is wrong: (how, the field that must be named, words that must be said)
    "C5: a thousandth of a GPU":
        (change(MAIN + "/resources/limits", {"nvidia.com/gpu": "1m"}),
         "spec.coordinator.template.spec.containers[0].resources.limits[nvidia.com/gpu]", "integer"),
    "more requested than the limit":
        (change(MAIN + "/resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
         "spec.coordinator.template.spec.containers[0].resources.requests[cpu]", "limit"),
    "no quantity":
        (change(MAIN + "/resources/requests/memory", "much"),
         "spec.coordinator.template.spec.containers[0].resources.requests[memory]", "much"),
    "no image":
        (change(MAIN + "/image", None), "spec.coordinator.template.spec.containers[0].image", "Required"),
    "no containers":
        (change(COORDINATOR + "/containers", []), "spec.coordinator.template.spec.containers", "Required"),
    "a misspelt field":
        (change(MAIN + "/comand", ["true"]), "spec.coordinator.template.spec.containers[0].comand", "did you mean `command`"),
    "a wrong type":
        (change(MAIN + "/command", "python3"), "spec.coordinator.template.spec.containers[0].command", "must be a list"),
    "two containers of one name":
        (change(COORDINATOR + "/containers", 2 * template()["spec"]["containers"]),
         "spec.coordinator.template.spec.containers[1].name", "Duplicate"),
    "no coordinator":
        (change("spec/coordinator", None), "spec.coordinator", "Required"),
    "negative base replicas":
        (change("spec/learner/replicas", -1), "spec.learner.replicas", "between 0 and"),
    "base replicas without a template":
        (change("spec/collector", {"replicas": 1}), "spec.collector.template", "Required"),
    "base replicas above the limit":
        (change("spec/collector/maxReplicas", 0), "spec.collector.replicas", "maxReplicas"),
    "a volume named twice":
        (change("spec/volumes", [{"name": "data", "emptyDir": {}}]), "spec.volumes[0].name", "Duplicate"),
    "a name that no service can have":
        (change("metadata/name", "2-learn"), "metadata.name", "start with a letter"),
    "a name too long for the pods":
        (change("metadata/name", "a" * 46), "metadata.name", "45"),
}


def good_job():
    body = job("wrong")
    body["spec"]["coordinator"]["template"]["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    body["spec"]["coordinator"]["template"]["spec"]["containers"][0]["resources"].setdefault("limits", {})
    body["spec"]["collector"]["replicas"] = 1
    return body


def test_the_job_that_the_wrong_ones_are_made_from_is_valid(jobs):
    jobs.create(good_job(), dry_run=True)


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_job_is_refused_with_its_field(jobs, what):
    apply, field, words = WRONG[what]
    body = copy.deepcopy(good_job())
    apply(body)
    says = refusal(jobs.create, body)
    assert f"{field}: " in says
    assert words in says


@pytest.mark.versions
def test_all_errors_are_reported_at_once(jobs):
    says = refusal(jobs.create, load_job("examples/wrong-job.yaml"))
    assert "spec.cleanPodPolicy: " in says
    assert "spec.learner.template.spec.containers[0].resources.limits[nvidia.com/gpu]: " in says


POLICY_CAUSE = ('spec.cleanPodPolicy: Unsupported value: "hello": '
                'supported values: "All", "None", "Running" (Invalid CleanPodPolicy)')


@pytest.mark.versions
def test_kubectl_prints_a_line_for_each_wrong_field(kubectl, namespace):
    said = kubectl("create", "-n", namespace, "-f", os.path.join(ROOT, "examples", "wrong-job.yaml"))
    assert said.returncode == 1
    first, *bullets = said.stderr.strip().splitlines()
    assert first.strip() == 'The NerveXJob "wrong-job" is invalid:'
    assert bullets == [
        f"* {POLICY_CAUSE}",
        "* spec.learner.template.spec.containers[0].resources.limits[nvidia.com/gpu]: "
        'Invalid value: "300m": must be an integer']


def test_kubectl_prints_a_single_wrong_field_in_one_line(kubectl, namespace):
    said = kubectl("create", "-n", namespace, "-f", "-", body=json.dumps(with_policy("hello")))
    assert said.returncode == 1
    assert said.stderr.strip() == f'The NerveXJob "policy" is invalid: {POLICY_CAUSE}'


VALIDATE_ONLY = "nervex-e2e/validate-only"


@pytest.fixture
def validated_only(target, api_client, jobs):
    """A label that excludes jobs from the mutating hook, so that the validating one decides."""
    if not target.cluster:
        pytest.skip("the webhook configuration of this cluster is its owner's")
    hooks = kubernetes.client.AdmissionregistrationV1Api(api_client)
    name = "nervex-mutating-webhook-configuration"

    def select(expressions):
        place = "/webhooks/0/objectSelector"
        hooks.patch_mutating_webhook_configuration(
            name, [{"op": "replace", "path": place, "value": {"matchExpressions": expressions}}])

    label = {VALIDATE_ONLY: "true"}
    old_spelling = with_policy("ALL")
    old_spelling["metadata"]["labels"] = label
    select([{"key": VALIDATE_ONLY, "operator": "DoesNotExist"}])
    wait_for(lambda: jobs.create(old_spelling, dry_run=True)["spec"]["cleanPodPolicy"] == "ALL",
             "the API server to pass the mutating hook by", 20)
    yield label
    select([])


@pytest.mark.parametrize("hook", ["mnervexjob.kb.io", "vnervexjob.kb.io"])
def test_a_denial_carries_the_kind_the_name_and_a_cause_for_each_field(jobs, request, hook):
    body = good_job()
    if hook == "vnervexjob.kb.io":
        body["metadata"]["labels"] = request.getfixturevalue("validated_only")
    change(MAIN + "/image", None)(body)  # the CRD's schema knows nothing of templates
    change(MAIN + "/resources/limits", {"nvidia.com/gpu": "1m"})(body)
    with pytest.raises(kubernetes.client.ApiException) as caught:
        jobs.create(body, dry_run=True)
    status = json.loads(caught.value.body)
    assert f'"{hook}" denied the request' in status["message"]
    assert (caught.value.status, status["code"], status["reason"]) == (422, 422, "Invalid")
    details = status["details"]
    assert (details["group"], details["kind"], details["name"]) == ("nervex.sensetime.com", "NerveXJob", "wrong")
    assert details["causes"] == [
        {"field": "spec.coordinator.template.spec.containers[0].image", "reason": "FieldValueRequired",
         "message": "Required value"},
        {"field": "spec.coordinator.template.spec.containers[0].resources.limits[nvidia.com/gpu]",
         "reason": "FieldValueInvalid", "message": 'Invalid value: "1m": must be an integer'}]


def test_a_wrong_change_is_refused_too(jobs):
    jobs.create(good_job())
    says = refusal(jobs.patch, "wrong", {"spec": {"collector": {"replicas": -5}}})
    assert "spec.collector.replicas: " in says


# -- the size of a job


def sized(collectors, learners, **spec):
    """Suspended, so that the planner does not plan this many pods."""
    body = job("size", suspend=True, **spec)
    body["spec"]["collector"]["replicas"] = collectors
    body["spec"]["learner"]["replicas"] = learners
    return body


def test_a_job_has_at_most_5000_pods(jobs):
    jobs.create(sized(3998, 1000), dry_run=True)
    says = refusal(jobs.create, sized(3999, 1000))
    assert "spec.collector.replicas: Invalid value: 3999: the job would have 5001 pods" in says
    assert "spec.learner.replicas: Invalid value: 1000: the job would have 5001 pods" in says
    jobs.create(sized(3999, 1000, aggregator="OnDemand"), dry_run=True)


def test_a_job_is_not_scaled_beyond_5000_pods(jobs, kubectl, namespace):
    """The scale subresource is not a NerveXJob, so only the schema can limit it."""
    jobs.create(sized(1, 1000))
    said = kubectl("scale", "nvxjob", "size", "--replicas=3999", "-n", namespace)
    assert said.returncode == 1
    assert "a job has at most 5000 pods" in said.stderr
    said = kubectl("scale", "nvxjob", "size", "--replicas=4097", "-n", namespace)
    assert "must be between 0 and 4096" in said.stderr
    said = kubectl("scale", "nvxjob", "size", "--replicas=3998", "-n", namespace)
    assert said.returncode == 0, said.stderr


# -- warnings


def test_what_the_planner_leaves_to_the_scheduler_is_warned_of(kubectl, namespace):
    body = job("claims")
    body["spec"]["learner"]["template"]["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpu"}]
    body["spec"]["collector"]["template"]["spec"]["topologySpreadConstraints"] = [  # planned
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {}}]
    body["spec"]["collector"]["template"]["spec"]["hostNetwork"] = True  # its ports are planned
    said = kubectl("create", "--dry-run=server", "-n", namespace, "-f", "-", body=json.dumps(body))
    assert said.returncode == 0, said.stderr
    assert ("Warning: spec.learner.template: resourceClaims is best effort: "
            "left to kube-scheduler, not planned") in said.stderr.splitlines()
    assert "topologySpreadConstraints" not in said.stderr
    assert ("Warning: spec.collector.template.spec.hostNetwork: gives access to the node "
            "(Pod Security baseline: Host Namespaces)") in said.stderr.splitlines()


def test_a_job_without_an_aggregator_config_is_warned(kubectl, namespace, programs, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("NERVEX_WEBHOOK_ARGS", "--aggregator-config=nervex-system/nobody")
        programs.restart("webhook")
        said = kubectl("create", "--dry-run=server", "-n", namespace, "-f", "-", body=json.dumps(job("alone")))
    programs.restart("webhook")
    assert "Warning: no AggregatorConfig nervex-system/nobody: the job starts without" in said.stderr


# -- who may, and what pods may


@pytest.fixture
def as_user(target, namespace, core, api_client):
    """as_user("nobody"): the jobs as a user who may do everything with jobs; as_user("x", pods=True) may also create
    pods."""
    if not target.cluster:
        pytest.skip("the roles of this cluster are its owner's")
    rbac = kubernetes.client.RbacAuthorizationV1Api(api_client)

    def make(name, pods=False):
        rules = [{"apiGroups": ["nervex.sensetime.com"], "resources": ["nervexjobs", "aggregatorconfigs"], "verbs": ["*"]}]
        rules += [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}] if pods else []
        rbac.create_namespaced_role(namespace, {"metadata": {"name": name}, "rules": rules})
        rbac.create_namespaced_role_binding(namespace, {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]})
        client = kubernetes.config.new_client_from_config(config_file=target.kubeconfig)
        client.default_headers["Impersonate-User"] = name
        return Jobs(core, kubernetes.client.CustomObjectsApi(client), namespace)
    return make


@pytest.mark.versions
def test_a_user_who_may_not_create_pods_creates_no_job(jobs, as_user):
    user = as_user("no-pods")
    said = wait_for(lambda: refusal_seen(user.create, job("theirs", suspend=True)), "the role to count")
    assert "no-pods may not create pods in namespace" in said
    jobs.create(job("theirs", suspend=True))
    assert "no-pods may not create pods" in refusal(
        user.patch, "theirs", {"spec": {"learner": {"template": {"spec": {"terminationGracePeriodSeconds": 3}}}}})
    user.patch("theirs", {"spec": {"backoffLimit": 2}})  # brings no pods
    user.delete("theirs")


def refusal_seen(call, *arguments):
    """Admission's answer; None while the authorizer still refuses, until it has seen a role."""
    says = refusal(call, *arguments)
    return None if "cannot create resource" in says else says


def test_a_user_who_may_create_pods_creates_jobs(as_user):
    user = as_user("with-pods", pods=True)

    def create():
        try:
            return user.create(job("theirs", suspend=True))
        except kubernetes.client.ApiException as error:
            assert "with-pods" in error.body, error.body
            return None  # the authorizer has not seen the roles yet
    wait_for(create, "the roles to count")


def test_an_aggregator_config_comes_from_those_who_may_create_pods_everywhere(as_user, namespace):
    """Its pods run in the namespaces of all jobs, so the right to create pods in one is not enough."""
    user = as_user("config-author", pods=True)
    (config,) = load("examples/nervex-mock-agconfig.yaml")
    config["metadata"].pop("namespace")
    place = ("nervex.sensetime.com", "v1alpha1", namespace, "aggregatorconfigs", config)
    said = wait_for(lambda: refusal_seen(user.custom.create_namespaced_custom_object, *place), "the role to count")
    assert "config-author may not create pods in all namespaces" in said


def test_access_to_the_node_is_refused_where_the_cluster_says_so(jobs, programs, monkeypatch):
    body = job("host", volumes=[{"name": "data", "hostPath": {"path": "/data"}}])
    with monkeypatch.context() as patch:
        patch.setenv("NERVEX_WEBHOOK_ARGS", "--host-access=refuse")
        programs.restart("webhook")
        says = refusal(jobs.create, body)
    programs.restart("webhook")
    assert "spec.volumes[0].hostPath: Forbidden: gives access to the node" in says
    jobs.create(body, dry_run=True)


def test_a_wrong_aggregator_config_is_refused(custom, namespace):
    (config,) = load("examples/nervex-mock-agconfig.yaml")
    config["metadata"].pop("namespace")
    pod = config["spec"]["aggregator"]["template"]["spec"]
    place = ("nervex.sensetime.com", "v1alpha1", namespace, "aggregatorconfigs", config)
    custom.create_namespaced_custom_object(*place, dry_run="All")
    pod["containers"][0]["imagee"] = "x"
    pod["containers"][0]["ports"][0]["containerPort"] = 70000
    with pytest.raises(kubernetes.client.ApiException) as caught:
        custom.create_namespaced_custom_object(*place, dry_run="All")
    fields = {one["field"] for one in json.loads(caught.value.body)["details"]["causes"]}
    assert "spec.aggregator.template.spec.containers[0].imagee" in fields
    assert "spec.aggregator.template.spec.containers[0].ports[0].containerPort" in fields


# -- GitOps tools apply the same file again and again

# Each field that a user may set, once.
FULL = {"suspend": True, "group": "examples", "queue": "missing", "cleanPodPolicy": "None", "aggregator": "OnDemand",
        "reservationSeconds": 60, "activeDeadlineSeconds": 600, "scheduleTimeoutSeconds": 600,
        "ttlSecondsAfterFinished": 60, "backoffLimit": 2, "volumes": [{"name": "cache", "emptyDir": {}}],
        "collector": {"replicas": 1, "reservedReplicas": 2, "maxReplicas": 3, "template": template()}}


@pytest.mark.parametrize("way", [[], ["--server-side"]], ids=["client-side", "server-side"])
def test_the_same_file_applied_again_changes_nothing(way, jobs, kubectl, namespace):
    """Fields that a hook or the schema fills in are neither removed nor shown as a difference."""
    bodies = [load_job("examples/nervex-mock-nervexjob.yaml"), job("full", **FULL), job("plain", suspend=True)]
    bodies[0]["spec"]["suspend"] = True
    bodies[0]["metadata"].pop("namespace", None)
    text = "\n---\n".join(map(json.dumps, bodies))

    def run(*words):
        return kubectl(*words, *way, "-n", namespace, "-f", "-", body=text)
    assert run("apply").returncode == 0

    def is_settled(name):  # the controller has answered, and writes no more
        found = jobs.get(name)
        return "Suspended" in {one["type"] for one in found.get("status", {}).get("conditions", [])}, found
    names = [body["metadata"]["name"] for body in bodies]
    before = {name: wait_for(lambda one=name: is_settled(one), f"job {name} to be suspended") for name in names}
    said = run("diff")
    assert (said.returncode, said.stdout) == (0, ""), said.stdout + said.stderr
    said = run("apply")
    assert said.returncode == 0, said.stderr
    for name, found in before.items():
        again = jobs.get(name)
        assert (again["spec"], again["metadata"]["generation"]) == (found["spec"], found["metadata"]["generation"])
        assert way or f"nervexjob.nervex.sensetime.com/{name} unchanged" in said.stdout


# -- spec.requests belongs to nervex-server


def test_requests_written_by_other_users_are_dropped(jobs):
    requests = {"next": {"collector": 5000, "learner": 5000}, "entries": []}
    assert "requests" not in jobs.create(job("requests", requests=requests))["spec"]
    assert "requests" not in jobs.patch("requests", {"spec": {"requests": requests}})["spec"]


def test_users_cannot_choose_who_submitted_a_job(jobs):
    key = "nervex.sensetime.com/submitted-by"

    def claimed(user):
        return {"metadata": {"annotations": {key: user}}}
    body = job("submitted")
    body["metadata"].update(claimed("another")["metadata"])
    creator = jobs.create(body)["metadata"]["annotations"][key]
    assert creator not in ("", "another")
    for user in ("another", None):
        assert jobs.patch("submitted", claimed(user))["metadata"]["annotations"][key] == creator


def test_a_queue_is_a_name(jobs):
    assert "spec.queue: Invalid value" in refusal_of(jobs.create, job("queued", queue="Not_A_Name"))


# -- could it ever run?


def too_large():
    body = job("huge", suspend=True)
    body["spec"]["learner"].update(replicas=1, template=template(gpus=64))
    return body


def test_a_job_that_could_never_run_is_warned_of(kubectl, namespace, programs):
    def created():
        said = kubectl("create", "--dry-run=server", "-n", namespace, "-f", "-", body=json.dumps(too_large()))
        assert said.returncode == 0, said.stderr
        warned = "Warning: spec.learner.template: can never fit: it needs nvidia.com/gpu 64; the largest node has 8"
        return warned in said.stderr, said.stderr
    wait_for(created, "the webhook to know the nodes")


def test_a_job_that_could_never_run_is_refused_where_the_cluster_says_so(jobs, programs, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("NERVEX_WEBHOOK_ARGS", "--capacity=refuse")
        programs.restart("webhook")
        wait_for(lambda: "spec.learner.template: Forbidden: can never fit" in refusal_of(jobs.create, too_large()),
                 "the webhook to know the nodes")
        jobs.create(job("small"), dry_run=True)
    programs.restart("webhook")


# -- updates


def test_a_stored_error_does_not_block_updates(jobs, validated_only, api_client):
    """Like a fault that an older version admitted: here created briefly without the validating hook."""
    hooks = kubernetes.client.AdmissionregistrationV1Api(api_client)
    name, rules = "nervex-validating-webhook-configuration", "/webhooks/0/objectSelector"
    body = job("faulty", suspend=True)
    body["metadata"]["labels"] = validated_only
    change(MAIN + "/image", None)(body)
    assert "image" in refusal(jobs.create, body)

    def select(expressions):
        hooks.patch_validating_webhook_configuration(
            name, [{"op": "replace", "path": rules, "value": {"matchExpressions": expressions}}])

    select([{"key": VALIDATE_ONLY, "operator": "DoesNotExist"}])
    wait_for(lambda: not refusal_of(jobs.create, body), "the API server to pass the hook by", 20)
    select([])
    fields = (f"image{number}" for number in itertools.count())  # one that got in meanwhile is stored, and excused
    wait_for(lambda: "unknown field" in refusal_of(jobs.patch, "faulty", {"spec": {"learner": {"template": {
        "spec": {"containers": [{"name": "a", "image": "i", next(fields): "x"}]}}}}}), "the hook to be asked again", 20)
    jobs.patch("faulty", {"spec": {"backoffLimit": 1, "activeDeadlineSeconds": 60, "cleanPodPolicy": "All"}})
    jobs.patch("faulty", {"spec": {"suspend": False}})
    jobs.patch("faulty", {"spec": {"suspend": True}})


@pytest.mark.versions
def test_templates_do_not_change_while_a_job_runs(jobs):
    jobs.create(job("runs"))
    jobs.wait_phase("runs", "Running")
    image = {"spec": {"learner": {"template": {"spec": {"containers": [{"name": "nervex-container", "image": "j"}]}}}}}
    says = refusal(jobs.patch, "runs", image)
    assert "spec.learner.template: Forbidden: may not change while the job starts or runs" in says
    assert "spec.learner.template: Forbidden: may not be removed" in refusal(
        jobs.patch, "runs", {"spec": {"learner": None}})
    jobs.patch("runs", {"spec": {"learner": {"replicas": 1, "maxReplicas": 3}, "backoffLimit": 2}})
    image["spec"]["suspend"] = True
    jobs.patch("runs", image)
    jobs.wait_pods("runs", 0)
    jobs.patch("runs", {"spec": {"suspend": False}})
    jobs.wait_phase("runs", "Running")
    (learner,) = jobs.pods("runs", "learner")
    assert learner.spec.containers[0].image == "j"


def test_a_long_name_is_accepted_if_the_pods_names_fit(jobs):
    body = job("a" * 51, suspend=True)
    for role in ("collector", "learner"):
        body["spec"].pop(role)
    jobs.create(body, dry_run=True)
    body["metadata"]["name"] += "a"
    assert "may not be more than 51 bytes, cut 1" in refusal(jobs.create, body)
