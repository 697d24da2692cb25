"""Each verb of nervexctl with Kubernetes' own roles in one namespace: what works with `edit` and `view`, and what the user is
told about the rest."""

import json
import re

import pytest
from support.jobs import job
from support.replicas_api import pod_of
from support.wait import wait_for

WITHOUT_CLUSTER = {"certs", "completion", "replicas"}  # replicas: its own verbs are below


@pytest.fixture
def file(tmp_path):
    body = job("dqn")
    body["spec"]["collector"] = {**body["spec"].get("collector", {}), "replicas": 1,
                                 "template": body["spec"]["coordinator"]["template"]}
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(body), encoding="utf-8")
    return str(path)


@pytest.fixture
def verbs(nervexctl):
    """All of them, as the help lists them."""
    def listed(*group):
        text = nervexctl(*group, "--help").stdout.partition("Verbs:\n")[2].partition("\n\n")[0]
        return {" ".join([*group, name]) for name in re.findall(r"^  ([a-z]+) ", text, re.MULTILINE)}
    return listed() - WITHOUT_CLUSTER | listed("replicas")


class User:
    """A user who runs verbs; `used` has those that were tried."""

    def __init__(self, run, server):
        self.run, self.server, self.used = run, ["--server", server], set()

    def can(self, *words):
        """What it prints, on both streams."""
        said = self.call(words)
        assert said.returncode == 0, (words, said.stdout, said.stderr)
        return said.stdout + said.stderr

    def cannot(self, *words):
        said = self.call(words)
        assert said.returncode == 1, (words, said.stdout, said.stderr)
        return said.stderr

    def call(self, words):
        is_group = words[0] == "replicas"
        self.used.add(" ".join(words[:2 if is_group else 1]))
        return self.run(*words, *(self.server if is_group else []))


def test_an_editor_uses_every_verb_and_is_told_what_it_cannot_see(nervexctl_as, verbs, file, jobs, pod_logs, env, namespace):
    user = User(nervexctl_as("edit"), env["NERVEX_SERVER_URL"])
    user.can("validate", "-f", file, "--server")
    user.can("simulate", file)
    assert "dqn created" in user.can("submit", file)
    user.can("wait", "dqn", "--for=running", "--timeout", "60s")
    assert "dqn" in user.can("list")
    assert "cannot show" not in user.can("explain", "dqn")
    assert "NerveXJobRunning" in user.can("events", "dqn")
    pod_logs.write("dqn-coordinator", "step 1")
    assert user.can("logs", "dqn") == "step 1\n"
    assert "of namespace" in user.can("queue")
    user.can("scale", "dqn", "--collectors", "2")
    assert jobs.get("dqn")["spec"]["collector"]["replicas"] == 2

    (url,) = json.loads(user.can("replicas", "add", "dqn", "--collectors", "1", "-o", "json"))["collectors"]
    wait_for(lambda: pod_of(url) in user.can("replicas", "get", "dqn"), "the replica to be listed")
    user.can("replicas", "replace", "dqn", pod_of(url))
    user.can("replicas", "remove", "dqn", "--collectors", "1")

    user.can("suspend", "dqn")
    user.can("wait", "dqn", "--for=condition=Suspended", "--timeout", "60s")
    user.can("resume", "dqn")

    assert f"this is namespace {namespace} alone, without nodes" in user.can("top")
    assert "Hidden" in user.can("doctor")
    assert "you may not list nervexjobs.nervex.sensetime.com in the whole cluster" in user.cannot("list", "-A")
    assert "in namespace kube-system" in user.cannot("explain", "dqn", "-n", "kube-system")
    user.can("delete", "dqn")
    assert user.used == verbs


def test_a_viewer_uses_the_verbs_that_read_and_is_told_which_role_the_others_need(
        nervexctl_as, verbs, file, jobs, pod_logs, env, namespace):
    user = User(nervexctl_as("view"), env["NERVEX_SERVER_URL"])
    jobs.create(job("dqn"))
    jobs.wait_phase("dqn", "Running")
    pod_logs.write("dqn-coordinator", "step 1")
    for words in (["list"], ["explain", "dqn"], ["events", "dqn"], ["logs", "dqn"], ["queue"], ["top"], ["doctor"],
                  ["wait", "dqn", "--for=running"], ["replicas", "get", "dqn"]):
        user.can(*words)
    for words in (["submit", file, "--set", "name=other"], ["scale", "dqn", "--collectors", "1"], ["suspend", "dqn"],
                  ["resume", "dqn"], ["delete", "dqn"], ["simulate", file, "--set", "name=other"]):
        said = user.cannot(*words)
        assert f"in namespace {namespace}: choose another one with -n, or ask for the role edit" in said, (words, said)
    unchecked = user.call(["validate", "-f", file, "--server"])
    assert unchecked.returncode == 2
    assert re.search(rf"not checked: you may not (create|update) nervexjobs in namespace {namespace}", unchecked.stdout), unchecked
    assert jobs.phase("dqn") == "Running"
    # A server without tokens lets everyone in; with tokens: test_nervexctl_faults.py.
    assert user.used == verbs - {"replicas add", "replicas remove", "replicas replace"}
