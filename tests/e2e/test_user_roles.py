"""What manifests/rbac/users.yaml adds to Kubernetes' own roles: a user with `edit` or `view` in a namespace can do
there exactly what docs/tasks/run-a-job.md describes."""

import json

import kubernetes
import pytest
import yaml
from support.jobs import job
from support.wait import wait_for

GROUPS = "podgroups.nervex.sensetime.com"


@pytest.fixture
def people(target, namespace, core, api_client, tmp_path):
    """people("edit"): the kubeconfig of an account that has this ClusterRole in the test's namespace."""
    if not target.cluster:
        pytest.skip("the roles of this cluster are its owner's")
    with open(target.kubeconfig, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    cluster = config["clusters"][0]["cluster"]

    def make(role):
        name = f"person-{role}"
        core.create_namespaced_service_account(namespace, {"metadata": {"name": name}})
        kubernetes.client.RbacAuthorizationV1Api(api_client).create_namespaced_role_binding(namespace, {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]})
        token = core.create_namespaced_service_account_token(name, namespace, {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}).status.token
        path = tmp_path / role
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": token}}]}), encoding="utf-8")
        return str(path)
    return make


@pytest.fixture
def wait_may(kubectl):
    """A newly bound role applies after the API server's authorizer has seen it and, for additions to Kubernetes' own
    roles, the controller manager."""
    def look(kubeconfig, verb, what):
        wait_for(lambda: may(kubectl, kubeconfig, verb, what), f"the account to be allowed to {verb} {what}")
    return look


def may(kubectl, kubeconfig, verb, what):
    """`what`: "nervexjobs", "nervexjobs/scale"; with the group if another group has the same kind."""
    resource, _, subresource = what.partition("/")
    more = [f"--subresource={subresource}"] if subresource else []
    return kubectl("--kubeconfig", kubeconfig, "auth", "can-i", verb, resource, *more).stdout.strip() == "yes"


def test_a_user_who_may_edit_a_namespace_runs_jobs_there(people, kubectl, nervexctl, wait_may, jobs):
    editor = people("edit")
    for verb, what in (("create", "nervexjobs"), ("create", "pods"), ("get", GROUPS),
                       ("patch", "nervexjobs/scale")):
        wait_may(editor, verb, what)

    def do(*words, body=None):
        done = kubectl("--kubeconfig", editor, *words, body=body and json.dumps(body))
        assert done.returncode == 0, done.stderr
        return done.stdout
    do("create", "-f", "-", body=job("mine"))
    jobs.wait_phase("mine", "Running")
    assert "mine" in do("get", "nervexjobs", "-o", "wide")
    said = nervexctl("explain", "mine", "--kubeconfig", editor)
    assert said.returncode == 0 and "cannot show" not in said.stdout + said.stderr, said
    do("scale", "nvxjob", "mine", "--replicas", "1")
    jobs.wait_pods("mine", 3, "Running")
    do("patch", "nvxjob", "mine", "--type=merge", "-p", '{"spec": {"suspend": true}}')
    do("delete", "nvxjob", "mine")

    for verb, what in (("create", GROUPS), ("patch", GROUPS + "/status"), ("create", "aggregatorconfigs"),
                       ("patch", "nervexjobs/status")):
        assert not may(kubectl, editor, verb, what), (verb, what)


def test_a_user_who_may_view_a_namespace_sees_why_jobs_wait_there(people, kubectl, nervexctl, wait_may, jobs):
    viewer = people("view")
    jobs.create(job("theirs"))
    jobs.wait_phase("theirs", "Running")
    for what in ("nervexjobs", GROUPS, "aggregatorconfigs"):
        wait_may(viewer, "list", what)
    said = nervexctl("explain", "theirs", "--kubeconfig", viewer)
    assert said.returncode == 0 and "cannot show" not in said.stdout + said.stderr, said
    refused = kubectl("--kubeconfig", viewer, "delete", "nvxjob", "theirs")
    assert "cannot delete resource" in refused.stderr
