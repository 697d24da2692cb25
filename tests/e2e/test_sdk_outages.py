"""sdk/python while the API server is unavailable: calls are retried, watches and logs resume, each change takes effect
once."""

import contextlib
import logging
import urllib.parse

import pytest
from support.sdk import Call, Reader, job, lines_of, nervex
from support.users import wait_until_user_may
from support.wait import lasting, wait_for
from nervex.operator_server import OperatorServer


@pytest.mark.parametrize("role", ["admin", pytest.param("edit", marks=pytest.mark.extended)])
def test_calls_survive_an_api_server_that_is_unavailable(target, users, kubectl, components, env, namespace, pod_logs,
                                                         node_agent, caplog, role):
    caplog.set_level(logging.DEBUG, "nervex")
    path = users.kubeconfig(role)
    for verb, what in (("create", "nervexjobs"), ("create", "pods"), ("get", "podgroups.nervex.sensetime.com")):
        wait_until_user_may(kubectl, path, verb, what)
    with contextlib.closing(nervex.Client(kubeconfig=path)) as client:
        for name in ("dqn", "scaled", "suspended", "deleted"):
            client.submit(job(name))
        for name in ("dqn", "scaled", "suspended", "deleted"):
            client.job(name).wait("running", timeout=120)
        pod_logs.write("dqn-coordinator", "epoch 1")
        run = client.job("dqn")
        reader = Reader(run.logs(follow=True))
        reader.wait_for_line("epoch 1")
        replicas = nervex.ReplicasClient(env["NERVEX_SERVER_URL"], namespace, "dqn-coordinator")

        components.kill("kube-apiserver")
        calls = {what: Call(*function) for what, function in {
            "wait": (run.wait,), "status": (run.status,), "explain": (run.explain,), "events": (run.events,),
            "pods": (run.pods,), "list": (client.list,), "submit": (client.submit, job("submitted")),
            "scale": (lambda: client.job("scaled").scale(collectors=1),), "suspend": (client.job("suspended").suspend,),
            "delete": (client.job("deleted").delete,), "add": (lambda: replicas.add(collectors=1),)}.items()}
        waiting = {call.thread for call in (*calls.values(), reader)}
        wait_for(lambda: waiting <= {one.threadName for one in caplog.records}, "each call to be retried")
        pod_logs.write("dqn-coordinator", "epoch 2")
        components.start("kube-apiserver")
        components.wait_until_ready()

        done = {what: call.result() for what, call in calls.items() if what != "wait"}
        assert (done["status"].name, done["explain"].name, len(done["pods"]) >= 1) == ("dqn", "dqn", True)
        assert len(done["add"].collectors) == 1
        wait_for(lambda: len(client.job("scaled").pods("collector")) == 1, "the new collector")
        wait_for(lambda: client.job("suspended").status().is_condition_true("Suspended"), "the job to be suspended")
        assert done["submit"].wait("running", timeout=120).name == "submitted"
        assert [one.name for one in client.list()] == ["dqn", "scaled", "submitted", "suspended"]
        wait_for(lambda: replicas.list() == done["add"], "the one added collector")

        reader.wait_for_line("epoch 2")
        node_agent.finish("dqn-coordinator")
        pod_logs.end("dqn-coordinator")
        assert calls["wait"].result().succeeded
        assert lines_of(reader.result()) == ["epoch 1", "epoch 2"]


def test_a_coordinators_calls_with_a_token_survive_an_api_server_that_is_unavailable(in_coordinator, components, env, namespace,
                                                                                     caplog):
    replicas = nervex.ReplicasClient.from_environment()
    address = urllib.parse.urlsplit(env["NERVEX_SERVER_URL"])
    di_engine = OperatorServer(address.hostname, address.port, "v1alpha1", False, namespace, "dqn-coordinator")

    def post_until_success():
        """As DI-engine's coordinator does."""
        for _ in range(240):
            success, _, message, added = di_engine.post_replicas({"learners": {"replicas": 1}})
            if success:
                return added["learners"]
            failures.append(message)
            lasting(0.5)
        raise AssertionError(failures[-1])
    failures = []
    components.kill("kube-apiserver")
    calls = [Call(replicas.add, collectors=1), Call(post_until_success)]
    wait_for(lambda: failures and calls[0].thread in {one.threadName for one in caplog.records}, "both calls to be retried")
    components.start("kube-apiserver")
    components.wait_until_ready()
    added, learners = (call.result() for call in calls)
    wait_for(lambda: replicas.list() == nervex.Replicas(added.collectors, tuple(learners)), "one replica of each call")
