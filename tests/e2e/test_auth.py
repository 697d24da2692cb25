"""nervex-server --auth=token with nervex-controller --server-auth=token: who may change which job."""

import kubernetes
import pytest
from tools.cluster import kubelet
from support.jobs import job, load_job
from support.wait import wait_for


@pytest.fixture
def call(token_auth, replicas_api, namespace):
    """call("POST", token, coordinator): the reply to a request for one collector, or to a list."""
    def send(method, token, coordinator):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if method == "GET":
            return replicas_api.call("GET", headers=headers, namespace=namespace, coordinator=coordinator)
        return replicas_api.call(method, body={"namespace": namespace, "coordinator": coordinator,
                                               "collectors": {"replicas": 1}}, headers=headers)
    return send


def wait_until_allowed(api_client, namespace, account, verbs):
    """A newly bound role counts only after the API server's own cache has it."""
    def is_allowed(verb):
        review = kubernetes.client.AuthorizationV1Api(api_client).create_subject_access_review({"spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "resourceAttributes": {"verb": verb, "group": "nervex.sensetime.com", "resource": "nervexjobs",
                                   "namespace": namespace}}})
        return review.status.allowed
    wait_for(lambda: all(map(is_allowed, verbs)), f"{account} to be allowed to {verbs}")


@pytest.fixture
def account_token(core, namespace):
    """A token of a separate service account that no pod uses; `rights`: verbs on nervexjobs."""
    def make(name, rights, audience="nervex-server"):
        core.create_namespaced_service_account(namespace, {"metadata": {"name": name}})
        if rights:
            rbac = kubernetes.client.RbacAuthorizationV1Api(core.api_client)
            rbac.create_namespaced_role(namespace, {"metadata": {"name": name}, "rules": [
                {"apiGroups": ["nervex.sensetime.com"], "resources": ["nervexjobs"], "verbs": rights}]})
            rbac.create_namespaced_role_binding(namespace, {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]})
            wait_until_allowed(core.api_client, namespace, name, rights)
        review = core.create_namespaced_service_account_token(name, namespace, {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": [audience]}})
        return review.status.token
    return make


def test_a_pod_may_change_its_own_job_and_no_other(jobs, call, token_of):
    for name in ("mine", "theirs"):
        jobs.create(job(name))
        jobs.wait_phase(name, "Running")
    token = token_of("mine-coordinator")
    added = call("POST", token, "mine-coordinator")
    assert added.status == 200 and len(added.data["collectors"]) == 1, added
    assert call("GET", token, "mine-coordinator").status == 200
    for method in ("POST", "GET"):
        refused = call(method, token, "theirs-coordinator")
        assert refused.status == 403, refused
        assert "may not" in refused.json["message"]
    jobs.wait_pods("mine", 3, "Running")
    assert len(jobs.pods("theirs")) == 2


def test_a_caller_without_a_valid_token_is_refused(jobs, call, account_token):
    jobs.create(job("shut"))
    jobs.wait_phase("shut", "Running")
    for token in ("", "rubbish", account_token("api", [], audience="https://kubernetes.default.svc.cluster.local")):
        refused = call("POST", token, "shut-coordinator")
        assert refused.status == 401, refused
        assert refused.json["success"] is False


def test_a_user_needs_the_right_to_patch_the_job(jobs, call, account_token):
    jobs.create(job("hers"))
    jobs.wait_phase("hers", "Running")
    assert call("POST", account_token("reader", ["get", "list"]), "hers-coordinator").status == 403
    assert call("POST", account_token("writer", ["patch"]), "hers-coordinator").status == 200


def test_a_token_ends_with_its_pod(jobs, core, namespace, call, token_of):
    jobs.create(job("dies"))
    jobs.wait_phase("dies", "Running")
    token = token_of("dies-coordinator")
    core.delete_namespaced_pod("dies-coordinator", namespace, grace_period_seconds=0)
    wait_for(lambda: call("GET", token, "dies-coordinator").status == 401, "the token to be refused")


@pytest.fixture
def restart_with(programs, monkeypatch):
    """restart_with(server="--auth=token"): the program has these flags until the test ends."""
    changed = []

    def restart(**flags):
        for program, value in flags.items():
            monkeypatch.setenv(f"NERVEX_{program.upper()}_ARGS", value)
            changed.append(program)
            programs.restart(program)
    yield restart
    monkeypatch.undo()
    for program in set(changed):
        programs.restart(program)


def test_authentication_is_turned_on_while_a_client_of_2021_runs(programs, jobs, namespace, replicas_api, restart_with):
    """The steps of docs/tasks/secure.md. The client sends neither token nor key. Its pod's address is ours."""
    def call(method, coordinator, collectors=1, **headers):
        if method == "GET":
            return replicas_api.call("GET", namespace=namespace, coordinator=coordinator, headers=headers)
        return replicas_api.call(method, headers=headers, body={
            "namespace": namespace, "coordinator": coordinator, "collectors": {"replicas": collectors}})

    def add(collectors):
        """Numbers differ: a server that starts takes an equal request for the repeat of one before."""
        reply = call("POST", "old-coordinator", collectors)
        assert reply.status == 200 and len(reply.data["collectors"]) == collectors, reply

    for name in ("old", "other"):
        jobs.create(job(name))
        jobs.wait_phase(name, "Running")
    kubelet.change_status(programs.api(), namespace, "old-coordinator", lambda _, status: status.update(
        podIP="127.0.0.1", podIPs=[{"ip": "127.0.0.1"}]))
    add(1)

    restart_with(controller="--server-auth=token")  # step 2
    add(2)
    jobs.create(job("new"))
    jobs.wait_phase("new", "Running")

    restart_with(server="--auth=transition")  # step 3
    wait_for(lambda: call("GET", "old-coordinator").json["success"], "the list of replicas")
    add(3)
    for method in ("GET", "POST"):
        for theirs in ("other-coordinator", "new-coordinator"):
            assert call(method, theirs, **{"X-Forwarded-For": "10.0.0.1"}).status == 403
    jobs.wait_pods("old", 2 + 6, "Running")
    api = programs.api()
    token = kubelet.pod_token(api, api.get(kubelet.pod_path(namespace, "new-coordinator")))
    assert call("POST", "new-coordinator", Authorization=f"Bearer {token}").status == 200
    assert call("POST", "old-coordinator", Authorization=f"Bearer {token}").status == 403

    restart_with(server="--auth=token")  # step 5
    assert call("GET", "old-coordinator").status == 401


def test_the_mock_coordinator_completes_with_authentication_on(jobs, token_auth, node_agent):
    jobs.create(load_job("examples/nervex-mock-nervexjob.yaml"))
    jobs.wait_phase("nervexjob-example-1", "Running")
    process = node_agent.start_coordinator("nervexjob-example-1-coordinator", "--seconds=0")
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 0, output
    jobs.wait_pods("nervexjob-example-1", 4, "Running")
