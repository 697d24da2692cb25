"""nervexctl submit: from a file to the end of the job."""

import json

import pytest
from support.commands import Background
from support.jobs import job, template
from support.wait import wait_for


@pytest.fixture
def write(tmp_path):
    """write(job): its file."""
    def make(body):
        path = tmp_path / "job.yaml"
        path.write_text(json.dumps(body), encoding="utf-8")
        return str(path)
    return make


def test_an_editor_submits_a_job_with_other_fields(jobs, nervexctl_as, write):
    editor = nervexctl_as("edit")
    said = editor("submit", write(job("mine")), "--set", "metadata.name=other", "--set", "learner.replicas=1")
    assert (said.returncode, said.stdout) == (0, "nervexjob.nervex.sensetime.com/other created\n"), said.stderr
    assert jobs.get("other")["spec"]["learner"]["replicas"] == 1
    again = editor("submit", "-f", write(job("other")))
    assert again.returncode == 1
    assert "or delete the old job" in again.stderr


def test_a_wrong_job_is_not_created(jobs, nervexctl, write, namespace):
    said = nervexctl("submit", "-f", write(job("wrong")), "--set", "spec.cleanPodPolicy=hello", "-n", namespace)
    assert said.returncode == 1
    assert "spec.cleanPodPolicy: Unsupported value" in said.stderr
    assert "nothing was created" in said.stderr
    assert not jobs.custom.list_namespaced_custom_object("nervex.sensetime.com", "v1alpha1", namespace, "nervexjobs")["items"]
    two = nervexctl("submit", "-f", write({"kind": "List", "apiVersion": "v1", "items": [job("a"), job("b")]}))
    assert two.returncode == 1
    assert "it must hold one NerveXJob and nothing else, and holds NerveXJob, NerveXJob" in two.stderr


def test_a_viewer_is_told_which_role_it_needs(nervexctl_as, write, namespace):
    said = nervexctl_as("view")("submit", "-f", write(job("mine")))
    assert said.returncode == 1
    assert f"you may not create nervexjobs.nervex.sensetime.com in namespace {namespace}" in said.stderr
    assert "the role edit" in said.stderr


@pytest.mark.parametrize("exit_code", [0, 3])
def test_a_followed_job_says_why_it_waits_shows_its_log_and_ends_as_it_does(
        jobs, pod_logs, target, node_agent, write, namespace, exit_code):
    name = f"ends-with-{exit_code}"
    body = job(name, learner={"replicas": 1, "template": template(memory="1000Ti")})
    with Background(target, "nervexctl", "submit", "-f", write(body), "--follow", "-n", namespace) as submit:
        wait_for(lambda: any("waits: the whole gang: learner: " in line for line in submit.errors), "the reason")
        jobs.patch(name, {"spec": {"suspend": True}})
        jobs.wait_condition(name, "Suspended")
        jobs.patch(name, {"spec": {"learner": {"replicas": 0}, "suspend": False}})
        jobs.wait_phase(name, "Running")
        pod_logs.write(f"{name}-coordinator", f"run {exit_code}")
        wait_for(lambda: f"run {exit_code}" in submit.lines, "the coordinator's log")
        node_agent.finish(f"{name}-coordinator", exit_code=exit_code)
        pod_logs.end(f"{name}-coordinator")
        assert submit.wait() == (1 if exit_code else 0)
    assert submit.lines == [f"nervexjob.nervex.sensetime.com/{name} created; following it to its end; Ctrl-C ends this "
                            "command, and the job runs on", f"run {exit_code}"]
    assert (f"nervexctl: {name} succeeded" in submit.errors) == (exit_code == 0)


@pytest.mark.parametrize("cancel", [False, True])
def test_an_interrupt_ends_following_and_the_job_runs_on_unless_cancelled(jobs, target, write, namespace, cancel):
    words = ["--cancel-on-interrupt"] if cancel else []
    with Background(target, "nervexctl", "submit", "-f", write(job("dqn")), "--wait", *words, "-n", namespace) as submit:
        wait_for(lambda: submit.lines, "the first line")
        assert submit.lines[0] == ("nervexjob.nervex.sensetime.com/dqn created; waiting for its end; Ctrl-C "
                                   + ("deletes it" if cancel else "ends this command, and the job runs on"))
        wait_for(lambda: "nervexctl: dqn runs" in submit.errors, "the job to run")
        submit.interrupt()
        assert submit.wait() == 130
    if cancel:
        assert submit.errors[-1] == "nervexctl: dqn deleted"
        wait_for(lambda: not jobs.pods("dqn"), "the pods to be deleted")
    else:
        assert submit.errors[-1].startswith("nervexctl: dqn runs on. Follow it: kubectl nervex logs dqn -f")
        assert jobs.phase("dqn") == "Running"


@pytest.mark.parametrize("words, hint", [
    ([], "kubectl nervex submit -f job.yaml"),
    (["-f", "a", "--set", "x", "more"], "excludes"),
])
def test_wrong_usage_is_status_2(nervexctl, words, hint):
    said = nervexctl("submit", *words)
    assert said.returncode == 2
    assert hint in said.stderr
