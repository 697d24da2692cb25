"""sdk/python inside a job: the replicas API with tokens, as a coordinator and as users call it."""

import urllib.parse

import pytest
from tools.cluster import kubelet
from support.sdk import Call, job, nervex
from support.users import wait_until_user_may
from support.wait import wait_for
from nervex.operator_server import OperatorServer, RequestFailed

TOKEN_FILE = kubelet.TOKEN_FILE


def test_a_coordinator_scales_its_job_with_its_token(in_coordinator, monkeypatch):
    with monkeypatch.context() as without:
        without.setenv(TOKEN_FILE, "")
        with pytest.raises(nervex.ReplicasRefused) as caught:
            nervex.ReplicasClient.from_environment().list()
        assert caught.value.status == 401
    replicas = nervex.ReplicasClient.from_environment()
    added = replicas.add(collectors=2, learners=nervex.ReplicaRequest(1, cpus="0.2"))
    assert (len(added.collectors), len(added.learners)) == (2, 1)
    wait_for(lambda: replicas.list() == added, "the new replicas")
    (removed,) = replicas.remove(collectors=1).collectors
    (replacement,) = replicas.replace(learners=added.learners).learners
    wait_for(lambda: replicas.list() == nervex.Replicas(
        tuple(one for one in added.collectors if one != removed), (replacement,)), "the replicas to change")


def test_a_coordinator_learns_which_replicas_were_taken_away(in_coordinator, core, namespace):
    replicas = nervex.ReplicasClient.from_environment()
    added = replicas.add(collectors=2)
    reclaimed = []
    changes = replicas.watch(0.1, on_reclaim=reclaimed.append)

    def watch_until(is_reached):
        return Call(lambda: next(one for one in changes if is_reached(one.now))).result()
    watch_until(lambda now: now == added)
    (removed,) = replicas.remove(collectors=1).collectors
    watch_until(lambda now: removed not in now.collectors)
    assert reclaimed == []
    (kept,) = set(added.collectors) - {removed}
    core.delete_namespaced_pod(kept.partition(".")[0], namespace)
    watch_until(lambda now: kept not in now.collectors)
    assert reclaimed == [nervex.Replicas((kept,))]


def test_di_engines_calls_work_with_a_token(in_coordinator, env, namespace, monkeypatch):
    address = urllib.parse.urlsplit(env["NERVEX_SERVER_URL"])
    server = OperatorServer(address.hostname, address.port, "v1alpha1", False, namespace, "dqn-coordinator")
    server.set_worker_type("coordinator")
    success, code, _, added = server.post_replicas({"collectors": {"replicas": 2}, "learners": {"replicas": 1}})
    assert (success, code, len(added["collectors"]), len(added["learners"])) == (True, 0, 2, 1)
    wait_for(lambda: len(server.get_replicas()[3]["collectors"]) == 2, "the new collectors")
    assert len(server.post_replicas_failed(collectors=added["collectors"][:1])[3]["collectors"]) == 1
    assert len(server.delete_replicas(n_collectors=1)[3]["collectors"]) == 1
    monkeypatch.setenv(TOKEN_FILE, "")
    with pytest.raises(RequestFailed):
        server.get_replicas()


@pytest.mark.parametrize("role,may_change", [("edit", True), ("view", False)])
def test_a_user_has_the_rights_of_the_role(token_auth, sdk_client, users, kubectl, env, namespace, role, may_change):
    sdk_client.submit(job()).wait("running", timeout=120)
    path = users.kubeconfig(role)
    wait_until_user_may(kubectl, path, "get", "nervexjobs")
    if may_change:
        wait_until_user_may(kubectl, path, "patch", "nervexjobs")
    token = users.token(role, "nervex-server")
    replicas = nervex.ReplicasClient(env["NERVEX_SERVER_URL"], namespace, "dqn-coordinator", token=lambda: token)
    assert replicas.list() == nervex.Replicas()
    if may_change:
        assert len(replicas.add(collectors=1).collectors) == 1
    else:
        with pytest.raises(nervex.ReplicasRefused) as caught:
            replicas.add(collectors=1)
        assert caught.value.status == 403
