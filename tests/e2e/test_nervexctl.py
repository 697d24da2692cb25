"""nervexctl explain: why does a job wait?"""

import json
import re

import pytest
from support.jobs import job, template
from support.wait import wait_for


@pytest.fixture
def waiting(jobs):
    """A job that needs more memory than any node has, with its final answer."""
    jobs.create(job("waits", learner={"replicas": 2, "template": template(memory="1000Ti")}))

    def look():  # before it the job says that the planner has not answered
        conditions = jobs.get("waits").get("status", {}).get("conditions", [])
        return [one for one in conditions if one["type"] == "Scheduled" and one["reason"] == "Unschedulable"]
    wait_for(look, "the planner's answer")
    jobs.wait_checked("waits")


def test_a_waiting_job_is_explained(waiting, nervexctl, namespace):
    said = nervexctl("explain", "waits", "-n", namespace)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith(f"NerveXJob {namespace}/waits\n")
    assert re.search(r"Phase +Created", said.stdout)
    assert re.search(r"Waits +the whole gang, since ", said.stdout)
    assert re.search(r"Because +learner: .* memory 1000Ti", said.stdout)
    assert re.search(r"learner +2 +0 +0", said.stdout)
    assert "What to do: " in said.stdout


def test_a_running_job_is_explained_with_its_nodes(jobs, nervexctl, namespace):
    jobs.create(job("runs"))
    jobs.wait_phase("runs", "Running")
    node = next(pod.spec.node_name for pod in jobs.wait_pods("runs", 2, "Running") if "coordinator" in pod.metadata.name)
    said = nervexctl("explain", "runs", "-n", namespace)
    assert said.returncode == 0, said.stderr
    assert re.search(r"Phase +Running", said.stdout)
    assert re.search(rf"{node} +.*coordinator/0", said.stdout)
    assert re.search(r"NerveXJobRunning", said.stdout)


def test_an_explanation_is_also_json_with_codes(waiting, nervexctl, namespace):
    said = nervexctl("explain", "waits", "-n", namespace, "-o", "json")
    assert said.returncode == 0, said.stderr
    view = json.loads(said.stdout)
    assert (view["namespace"], view["name"], view["phase"]) == (namespace, "waits", "Created")
    (wait,) = view["waits"]
    assert (wait["subject"], wait["gang"], wait["reason"]) == ("Gang", "base", "Unschedulable")
    assert wait["pods"]["learner"] == 2
    assert view["advice"]["code"] == "AskForLess"


def test_it_is_a_kubectl_plugin(jobs, kubectl, namespace):
    jobs.create(job("runs"))
    jobs.wait_phase("runs", "Running")
    said = kubectl("nervex", "explain", "runs", "-n", namespace)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith(f"NerveXJob {namespace}/runs\n")


def test_a_job_that_does_not_exist_is_an_error(nervexctl, namespace):
    said = nervexctl("explain", "nobody", "-n", namespace)
    assert said.returncode == 1
    assert "nobody" in said.stderr
    assert said.stdout == ""


@pytest.mark.parametrize("words", [[], ["explain"], ["explain", "a", "--colour"], ["unknown"]])
def test_wrong_usage_is_status_2(nervexctl, words):
    assert nervexctl(*words).returncode == 2


def test_it_prints_its_version(nervexctl):
    assert re.fullmatch(r"nervexctl \d+\.\d+\.\d+\n", nervexctl("--version").stdout)
    assert "explain" in nervexctl("--help").stdout
