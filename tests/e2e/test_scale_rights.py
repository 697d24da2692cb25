"""Who may change a job's number of replicas? RBAC on the job decides, as for Deployments. The right to create pods
is required only if a request adds pod templates, not for more of the same. SECURITY.md documents it."""

import kubernetes
import pytest
from support.jobs import Jobs, job, refusal_of, template
from support.wait import wait_for

GROUP = "nervex.sensetime.com"
AUTOSCALER = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"


def rule(resource, *verbs, group=GROUP):
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


@pytest.fixture
def client_of(target):
    """client_of("name"): the API as that user sees it."""
    if not target.cluster:
        pytest.skip("the roles of this cluster are its owner's")

    def make(user):
        client = kubernetes.config.new_client_from_config(config_file=target.kubeconfig)
        client.default_headers["Impersonate-User"] = user
        return client
    return make


@pytest.fixture
def user_with(client_of, namespace, core, api_client):
    """user_with("name", rule, ...): the jobs of the test's namespace as a user with exactly these rights."""
    rbac = kubernetes.client.RbacAuthorizationV1Api(api_client)

    def make(name, *rules):
        rbac.create_namespaced_role(namespace, {"metadata": {"name": name}, "rules": rules})
        rbac.create_namespaced_role_binding(namespace, {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]})
        client = client_of(name)
        access = kubernetes.client.AuthorizationV1Api(client)

        def counts(one):
            resource, _, sub = one["resources"][0].partition("/")
            return all(access.create_self_subject_access_review({"spec": {"resourceAttributes": {
                "namespace": namespace, "group": one["apiGroups"][0], "resource": resource, "subresource": sub,
                "verb": verb}}}).status.allowed for verb in one["verbs"])
        wait_for(lambda: all(map(counts, rules)), f"the rights of {name} to count")
        return Jobs(core, kubernetes.client.CustomObjectsApi(client), namespace)
    return make


def scale(jobs, name, replicas, **options):
    return jobs.custom.patch_namespaced_custom_object_scale(
        GROUP, "v1alpha1", jobs.namespace, "nervexjobs", name, {"spec": {"replicas": replicas}}, **options)


@pytest.fixture
def running(jobs):
    jobs.create(job("theirs"))
    jobs.wait_phase("theirs", "Running")


def forbidden_to(user, call, *arguments):
    """RBAC refuses the call: the user's rights do not cover it."""
    return f'User "{user}" cannot' in refusal_of(call, *arguments)


def test_a_user_who_may_scale_a_job_changes_only_the_number_of_collectors(user_with, jobs, running):
    user = user_with("scaler", rule("nervexjobs/scale", "get", "patch", "update"))
    assert scale(user, "theirs", 2)["spec"]["replicas"] == 2
    jobs.wait_pods("theirs", 4, "Running")  # two, the coordinator and its aggregator
    assert "at most" in refusal_of(scale, user, "theirs", 5000)  # the limits of a job hold for everybody
    for call in ((user.patch, "theirs", {"spec": {"collector": {"replicas": 3}}}),
                 (user.patch, "theirs", {"spec": {"learner": {"replicas": 1}}}),
                 (user.create, job("mine")), (user.delete, "theirs")):
        assert forbidden_to("scaler", *call), call
    assert jobs.get("theirs")["spec"]["collector"]["replicas"] == 2


def test_a_horizontal_pod_autoscaler_may_scale_a_job(client_of, core, namespace, jobs, running):
    autoscaler = Jobs(core, kubernetes.client.CustomObjectsApi(client_of(AUTOSCALER)), namespace)
    found = autoscaler.custom.get_namespaced_custom_object_scale(GROUP, "v1alpha1", namespace, "nervexjobs", "theirs")
    assert found["status"]["selector"]
    found["spec"]["replicas"] = 1
    autoscaler.custom.replace_namespaced_custom_object_scale(
        GROUP, "v1alpha1", namespace, "nervexjobs", "theirs", found)
    jobs.wait_pods("theirs", 3, "Running")
    assert forbidden_to(AUTOSCALER, autoscaler.patch, "theirs", {"spec": {"collector": {"replicas": 2}}})


NEED_THE_RIGHT_TO_CREATE_PODS = {
    "a template": {"spec": {"collector": {"template": {"spec": {"terminationGracePeriodSeconds": 3}}}}},
    "a volume of the job": {"spec": {"volumes": [{"name": "a", "secret": {"secretName": "of-others"}}]}},
    "the class that the pods run with": {"spec": {"priorityClassName": "system-cluster-critical"}},
    "a role": {"spec": {"learner": {"template": template()}}},
}


def test_a_user_who_may_change_a_job_changes_replicas_without_the_right_to_create_pods(user_with, jobs, running):
    user = user_with("changer", rule("nervexjobs", "get", "patch", "create", "delete"))
    user.patch("theirs", {"spec": {"collector": {"replicas": 1}, "learner": {"replicas": 1}}})
    jobs.wait_pods("theirs", 4, "Running")
    user.patch("theirs", {"spec": {"suspend": True}})
    wait_for(lambda: not jobs.pods("theirs"), "the pods to go")
    user.patch("theirs", {"spec": {"suspend": False}})
    jobs.wait_pods("theirs", 4, "Running")
    idle = job("idle", suspend=True)  # may be changed in any way
    del idle["spec"]["learner"]
    jobs.create(idle)
    for what, patch in NEED_THE_RIGHT_TO_CREATE_PODS.items():
        assert "changer may not create pods in" in refusal_of(user.patch, "idle", patch), what
        assert not refusal_of(jobs.patch, "idle", patch), what
    assert "changer may not create pods in" in refusal_of(user.create, job("mine"))
    assert forbidden_to("changer", scale, user, "theirs", 2)  # the subresource is a right of its own


def test_the_right_to_create_pods_alone_changes_no_job(user_with, running):
    user = user_with("podder", rule("pods", "create", group=""))
    for call in ((scale, user, "theirs", 2), (user.patch, "theirs", {"spec": {"collector": {"replicas": 2}}}),
                 (user.create, job("mine"))):
        assert forbidden_to("podder", *call), call
