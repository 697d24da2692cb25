"""sdk/python on a real control plane: what users with Kubernetes' own roles see and do, explanations, and logs."""

import json

import pytest
from support.sdk import Reader, job, lines_of, nervex
from support.users import wait_until_user_may
from support.wait import wait_for
from nervex.kubeflow import TrainingClient

TOO_MUCH = "1000Ti"


# -- with the roles of users


@pytest.fixture
def editor(users, kubectl):
    """A client of a user with the role `edit`."""
    path = users.kubeconfig("edit")
    for verb, what in (("create", "nervexjobs"), ("create", "pods"), ("get", "podgroups.nervex.sensetime.com")):
        wait_until_user_may(kubectl, path, verb, what)
    with nervex.Client(kubeconfig=path) as one:
        yield one


@pytest.fixture
def viewer(users, kubectl):
    """A client of a user with the role `view`."""
    path = users.kubeconfig("view")
    for what in ("nervexjobs", "podgroups.nervex.sensetime.com", "pods"):
        wait_until_user_may(kubectl, path, "list", what)
    with nervex.Client(kubeconfig=path) as one:
        yield one


def test_a_user_with_edit_runs_a_job_from_submit_to_delete(editor, namespace, pod_logs, node_agent):
    assert editor.namespace == namespace
    editor.submit(job(), dry_run=True)
    assert editor.list() == []
    progress = []
    with editor.submit(job()) as run:
        assert run.wait("running", timeout=120, progress=progress.append).is_condition_true("Running")
        assert progress[-1].phase == "Running"
        explanation = run.explain()
        assert (explanation.phase, explanation.left_out, explanation.blocked) == ("Running", (), False)
        assert "Running" in run._repr_html_() and "dqn" in editor.list()._repr_html_()

        run.scale(collectors=1)
        assert run.wait("Ready", timeout=120).ready == "3/3"  # with the aggregator
        assert len(run.pods("collector")) == 1
        assert run.manifest()["spec"]["collector"]["replicas"] == 1
        assert "NerveXJobRunning" in [one.reason for one in run.events()]
        run.patch({"metadata": {"labels": {"team": "rl"}}})
        assert [one.name for one in editor.list(phase="Running", labels="team=rl")] == ["dqn"]

        run.suspend()
        run.wait("Suspended", timeout=120)
        assert run.explain().advice == "Suspended"
        run.resume()
        run.wait("running", timeout=120)
        pod_logs.write("dqn-coordinator", "epoch 1")
        reader = Reader(run.logs(follow=True))
        reader.wait_for_line("epoch 1")
        assert lines_of(run.logs(tail=1)) == ["epoch 1"]
        node_agent.finish("dqn-coordinator")
        pod_logs.end("dqn-coordinator")
        assert lines_of(reader.result()) == ["epoch 1"]
        assert run.wait().succeeded and next(run.watch()).phase == "Succeeded"
    with pytest.raises(nervex.NotFound):
        editor.job("dqn").status()


def test_a_user_with_edit_is_told_what_the_role_does_not_allow(editor, sdk_client):
    sdk_client.submit(job())
    with pytest.raises(nervex.Forbidden):
        editor.list(all_namespaces=True)
    with pytest.raises(nervex.Forbidden):
        editor.list(namespace="kube-system")


def test_a_user_with_view_sees_all_and_changes_nothing(viewer, sdk_client, pod_logs):
    run = sdk_client.submit(job())
    pod_logs.write("dqn-coordinator", "epoch 1")
    seen = viewer.job("dqn")
    assert seen.wait("running", timeout=120).phase == seen.status().phase == next(seen.watch()).phase == "Running"
    assert seen.explain().left_out == ()
    assert [one.name for one in viewer.list()] == ["dqn"]
    assert [one["metadata"]["name"] for one in seen.pods("coordinator")] == ["dqn-coordinator"]
    assert "NerveXJobRunning" in [one.reason for one in seen.events()]
    assert list(seen.logs()) == ["epoch 1"]
    for change in (seen.suspend, seen.resume, seen.delete, lambda: seen.scale(collectors=1), lambda: viewer.submit(job("other"))):
        with pytest.raises(nervex.Forbidden):
            change()
    assert run.status().phase == "Running"


def test_names_of_kubeflow_work_for_a_user_with_edit(users, editor, namespace, node_agent, pod_logs):
    client = TrainingClient(kubeconfig=users.kubeconfig("edit"))
    client.create_job(job())
    client.wait_for_job_conditions("dqn", expected_conditions={"Running"}, wait_timeout=120)
    assert client.is_job_running("dqn") and not client.is_job_failed("dqn")
    pod_logs.write("dqn-coordinator", "epoch 1")
    assert list(client.get_job_logs("dqn")) == ["epoch 1"]
    node_agent.finish("dqn-coordinator")
    assert client.wait_for_job_conditions("dqn", wait_timeout=120).succeeded
    assert "Succeeded" in [one["type"] for one in client.get_job_conditions("dqn") if one["status"] == "True"]
    assert [one.name for one in client.list_jobs()] == ["dqn"]
    client.delete_job("dqn")


# -- why a job waits


def test_a_job_that_cannot_start_is_an_error_that_says_what_to_do(sdk_client):
    run = sdk_client.submit(job(learner={"memory": TOO_MUCH, "replicas": 2}))
    progress = []
    with pytest.raises(nervex.CannotStart) as caught:
        run.wait(timeout=120, grace=0, progress=progress.append)
    explanation = caught.value.explanation
    assert explanation.advice == progress[-1].advice == "AskForLess"
    (wait,) = explanation.waits
    assert (wait.cause["code"], wait.cause["role"], wait.remedy) == ("NeverFits", "learner", "AskForLess")


def test_a_wrong_job_names_its_fields(sdk_client):
    with pytest.raises(nervex.Invalid) as caught:
        sdk_client.submit(job(clean_pod_policy="hello"))
    assert "Invalid CleanPodPolicy" in str(caught.value)


@pytest.mark.parametrize("state", ["running", "too large", "never allowed", "suspended", "refused", "queue"])
def test_an_explanation_says_what_nervexctl_says(sdk_client, namespace, nervexctl, state):
    fields, advice = {
        "running": ({}, "Running"),
        "too large": ({"learner": {"memory": TOO_MUCH, "replicas": 1}, "schedule_timeout_seconds": 900}, "AskForLess"),
        "never allowed": ({"learner": {"node_selector": {"no": "node"}, "replicas": 1}}, "AllowNodes"),
        "suspended": ({"suspend": True}, "Suspended"),
        "queue": ({"queue": "absent"}, "FixQueue"),
        "refused": ({"learner": {"service_account": "absent", "replicas": 1}}, "FixRefusal"),
    }[state]
    run = sdk_client.submit(job(**fields))
    wait_for(lambda: (run.explain().advice == advice, run.explain()), f"the advice {advice}")
    wait_for(lambda: compare(run.explain(), json.loads(nervexctl("explain", "dqn", "-n", namespace, "-o", "json").stdout)),
             "both to say the same")


def compare(explanation, view):
    """(are they equal?, both): a job may change between two reads."""
    both = explanation.to_dict(), view
    for one in both:
        one.pop("time")
    return both[0] == both[1], both


# -- logs


def test_a_followed_log_says_why_the_job_waits_and_how_it_ended(sdk_client, pod_logs, node_agent):
    """Also after a lost connection."""
    run = sdk_client.submit(job(suspend=True))
    pod = "dqn-coordinator"
    pod_logs.write(pod, "epoch 1")
    reader = Reader(run.logs(follow=True))
    reader.wait_for_line("Suspended")
    run.resume()
    reader.wait_for_line("epoch 1")
    pod_logs.cut()
    pod_logs.write(pod, "epoch 2")
    reader.wait_for_line("epoch 2")
    pod_logs.cut()
    pod_logs.write(pod, "no data")
    node_agent.finish(pod, 3, "no data")
    pod_logs.end(pod)
    lines = reader.result()
    assert lines_of(lines) == ["epoch 1", "epoch 2", "no data"]
    assert any("exit code 3" in line and "no data" in line for line in lines[-2:]), lines
    assert lines[-1].startswith("# dqn: Failed"), lines
