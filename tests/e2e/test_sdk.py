"""sdk/python on a real control plane: with the roles of users, with tokens, with the API server away, and as
docs/tasks/use-python.md says."""

import json
import os
import re
import sys
import threading

import pytest
import yaml
from tools.base.tree import ROOT
from tools.cluster import kubelet
from support.fake_kubelet import FakeKubelet
from support.outages import Components
from support.users import wait_until_user_may
from support.wait import lasting, wait_for

sys.path.insert(0, os.path.join(ROOT, "sdk", "python"))
import nervex  # noqa: E402
from nervex.kubeflow import TrainingClient  # noqa: E402

TOO_MUCH = "1000Ti"


def job(name="dqn", **fields):
    role = dict(image="nervex/nervex-mock:0.1.0", cpu="100m", memory="64Mi", port=80)
    return nervex.Job(name, coordinator=nervex.Role(**role), collector=nervex.Workers(**role, **fields.pop("collector", {})),
                      learner=nervex.Workers(**{**role, **fields.pop("learner", {})}), **fields)


@pytest.fixture
def client(target, namespace):
    """As administrator."""
    with nervex.Client(namespace, kubeconfig=target.kubeconfig) as one:
        yield one


@pytest.fixture(scope="module")
def fake_kubelet(target, tmp_path_factory):
    if not target.cluster:
        pytest.skip("the nodes of this cluster are its owner's")
    one = FakeKubelet(target.cluster.api(), tmp_path_factory.mktemp("kubelet"))
    yield one
    one.close()


class Later:
    """Steps in the background, whose errors the test sees."""

    def __init__(self):
        self._threads, self._errors = [], []

    def __call__(self, *steps):
        def run():
            try:
                for step in steps:
                    step()
            except BaseException as error:  # pytest.fail is one
                self._errors.append(error)
        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def join(self):
        for one in self._threads:
            one.join(60)
        assert not self._errors, self._errors


@pytest.fixture
def later():
    one = Later()
    yield one
    one.join()


# -- what a user sees and does


def test_a_user_with_edit_submits_understands_scales_and_stops(users, kubectl, namespace):
    path = users.kubeconfig("edit")
    for verb, what in (("create", "nervexjobs"), ("create", "pods"), ("get", "podgroups.nervex.sensetime.com")):
        wait_until_user_may(kubectl, path, verb, what)
    client = nervex.Client(kubeconfig=path)
    assert client.namespace == namespace
    with client.submit(job()) as run:
        assert run.wait("running", timeout=60).is_condition_true("Running")
        explained = run.explain()
        assert (explained.phase, explained.omitted) == ("Running", ())
        run.scale(collectors=1)
        wait_for(lambda: len(run.pods("collector")) == 1, "the new collector")
        assert "NerveXJobRunning" in [one["reason"] for one in run.events()]
        run.suspend()
        wait_for(lambda: run.explain().advice == "Suspended", "the job to be suspended")
        run.resume()
        run.wait("running", timeout=60)
        assert [one.name for one in client.list(phase="Running")] == ["dqn"]
    with pytest.raises(nervex.NotFound):
        client.job("dqn").status()
    with pytest.raises(nervex.Forbidden):
        client.list(all_namespaces=True)


def test_a_user_with_view_sees_and_changes_nothing(users, kubectl, client):
    run = client.submit(job())
    path = users.kubeconfig("view")
    for what in ("nervexjobs", "podgroups.nervex.sensetime.com", "pods"):
        wait_until_user_may(kubectl, path, "list", what)
    viewer = nervex.Client(kubeconfig=path)
    seen = viewer.job("dqn")
    assert seen.wait("running", timeout=60).phase == "Running"
    assert seen.explain().omitted == ()
    assert [one.name for one in viewer.list()] == ["dqn"]
    for change in (seen.suspend, seen.delete, lambda: seen.scale(collectors=1), lambda: viewer.submit(job("other"))):
        with pytest.raises(nervex.Forbidden):
            change()
    assert run.status().phase == "Running"


def test_a_job_that_cannot_start_is_an_error_that_says_what_helps(client):
    run = client.submit(job(learner={"memory": TOO_MUCH, "replicas": 2}))
    said = []
    with pytest.raises(nervex.CannotStart) as caught:
        run.wait(timeout=60, grace=1, progress=said.append)
    explanation = caught.value.explanation
    assert explanation.advice == said[-1].advice == "AskForLess"
    (wait,) = explanation.waits
    assert (wait.cause["code"], wait.cause["role"], wait.remedy) == ("NeverFits", "learner", "AskForLess")


def test_a_wrong_job_names_its_fields(client):
    with pytest.raises(nervex.Invalid) as caught:
        client.submit(job(clean_pod_policy="hello"))
    assert "Invalid CleanPodPolicy" in str(caught.value)


@pytest.mark.parametrize("made", ["running", "too large", "never allowed", "suspended", "refused"])
def test_an_explanation_says_what_nervexctl_says(client, namespace, nervexctl, made):
    fields, settled = {
        "running": ({}, "Running"),
        "too large": ({"learner": {"memory": TOO_MUCH, "replicas": 1}, "schedule_timeout_seconds": 900}, "AskForLess"),
        "never allowed": ({"learner": {"node_selector": {"no": "node"}, "replicas": 1}}, "AllowNodes"),
        "suspended": ({"suspend": True}, "Suspended"),
        "refused": ({"learner": {"service_account": "absent", "replicas": 1}}, "FixRefusal"),
    }[made]
    run = client.submit(job(**fields))
    wait_for(lambda: (run.explain().advice == settled, run.explain()), f"the job to be {settled}")
    wait_for(lambda: compare(run.explain(), json.loads(nervexctl("explain", "dqn", "-n", namespace, "-o", "json").stdout)),
             "both to say the same")


def compare(mine, theirs):
    """(are they equal?, both): a job may change between two reads."""
    ours = {
        "phase": mine.phase, "reason": mine.reason, "advice": {"code": mine.advice, "message": mine.help},
        "waits": [[one.subject, one.gang, one.reason, one.message, dict(one.pods)] for one in mine.waits],
        "notes": [{"code": code, "message": message} for code, message in mine.notes],
        "roles": {role: [one.wanted, one.placed, one.running, one.succeeded, one.failed] for role, one in mine.roles.items()},
        "problems": [one.pod for one in mine.problems],
        "failsAt": f"{mine.fails_at:%Y-%m-%dT%H:%M:%SZ}" if mine.fails_at else None}
    told = {
        **{name: theirs.get(name, "") for name in ("phase", "reason", "advice", "notes")}, "failsAt": theirs.get("failsAt"),
        "waits": [[one["subject"], one.get("gang", ""), one["reason"], one["message"], one.get("pods", {})]
                  for one in theirs["waits"]],
        "roles": {one["role"]: [one[name] for name in ("wanted", "placed", "running", "succeeded", "failed")]
                  for one in theirs["roles"]},
        "problems": [one["pod"] for one in theirs["problems"]]}
    return ours == told, (ours, told)


def test_names_of_kubeflow_work(target, namespace, node_agent):
    client = TrainingClient(namespace, kubeconfig=target.kubeconfig)
    client.create_job(job())
    client.wait_for_job_conditions("dqn", expected_conditions={"Running"}, wait_timeout=60)
    node_agent.finish("dqn-coordinator")
    assert client.wait_for_job_conditions("dqn", wait_timeout=60).succeeded
    assert [one.name for one in client.list_jobs()] == ["dqn"]
    client.delete_job("dqn")


# -- logs


def test_a_followed_log_says_why_the_job_waits_and_how_it_ended(client, fake_kubelet, node_agent, later):
    """Over a lost connection."""
    run = client.submit(job(suspend=True))
    pod = "dqn-coordinator"
    fake_kubelet.write(pod, "epoch 1")

    def speak():
        reads = fake_kubelet.reads
        run.resume()
        wait_for(lambda: fake_kubelet.reads > reads, "the log to be followed")
        fake_kubelet.cut()
        wait_for(lambda: fake_kubelet.reads > reads + 1, "the log to be followed again")
        fake_kubelet.write(pod, "epoch 2")
        node_agent.finish(pod, 3, "no data")
        fake_kubelet.end(pod)
    lines = []
    for line in run.logs(follow=True):
        lines.append(line)
        if len(lines) == 1:
            later(speak)
    assert "Suspended" in lines[0]
    assert [line for line in lines if not isinstance(line, nervex.Notice)] == ["epoch 1", "epoch 2"]
    assert any("exit code 3" in line and "no data" in line for line in lines[-2:]), lines
    assert lines[-1].startswith("# dqn: Failed"), lines


# -- while things are away


def test_a_wait_survives_an_api_server_that_is_away(target, client, node_agent, later):
    if not target.cluster:
        pytest.skip("the control plane of this cluster is its owner's")
    components = Components(target.cluster)
    try:
        run = client.submit(job())
        run.wait("running", timeout=60)

        def outage():
            components.kill("kube-apiserver")
            lasting(2)
            components.start("kube-apiserver")
            components.wait_until_ready()
            node_agent.finish("dqn-coordinator")
        later(outage)
        assert run.wait(timeout=90).succeeded
    finally:
        components.close()


# -- inside a job


def test_a_coordinator_scales_its_job_with_its_token(token_auth, client, node_agent, namespace, env, monkeypatch):
    client.submit(job()).wait("running", timeout=60)
    api = token_auth.api()
    for name, value in node_agent.environment("dqn-coordinator").items():
        if name.startswith("KUBERNETES_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("KUBERNETES_SERVER_URL", env["NERVEX_SERVER_URL"])
    with monkeypatch.context() as without:
        without.setenv("KUBERNETES_NERVEX_SERVER_TOKEN_FILE", "")
        with pytest.raises(nervex.ReplicasRefused) as caught:
            nervex.ReplicasClient.from_environment().list()
        assert caught.value.status == 401
    path = kubelet.project_token(api, api.get(kubelet.pod_path(namespace, "dqn-coordinator")))
    monkeypatch.setenv("KUBERNETES_NERVEX_SERVER_TOKEN_FILE", path)
    replicas = nervex.ReplicasClient.from_environment()
    added = replicas.add(collectors=2, learners=nervex.ReplicaRequest(1, cpus="0.2"))
    assert (len(added.collectors), len(added.learners)) == (2, 1)
    change = next(one for one in replicas.watch(0.1) if len(one.now.collectors + one.now.learners) == 3)
    assert change.now == added
    (gone,) = replicas.remove(collectors=1).collectors
    (replaced,) = replicas.replace(learners=added.learners).learners
    wait_for(lambda: replicas.list() == nervex.Replicas(
        tuple(one for one in added.collectors if one != gone), (replaced,)), "the replicas to change")
    os.remove(path)


# -- the tutorial


def test_the_tutorial_works_as_it_is_written(target, namespace, monkeypatch, tmp_path, fake_kubelet, node_agent, later, capsys):
    """Its blocks in order, in one program, as a user whose context names the namespace."""
    with open(target.kubeconfig, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    config["contexts"][0]["context"]["namespace"] = namespace
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(path))
    fake_kubelet.write("smallest-coordinator", "epoch 1")
    with open(os.path.join(ROOT, "docs", "tasks", "use-python.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6

    def end():
        wait_for(lambda: fake_kubelet.reads > reads, "the log to be followed")
        node_agent.finish("smallest-coordinator")
        fake_kubelet.end("smallest-coordinator")
    names = {}
    for block in blocks:
        if "follow=True" in block:
            reads = fake_kubelet.reads
            later(end)
        exec(compile(block, "use-python.md", "exec"), names)
    said = capsys.readouterr().out
    assert "epoch 1" in said and "exit code 0" in said
    assert "can never fit" in said
    assert nervex.Client().list() == []
