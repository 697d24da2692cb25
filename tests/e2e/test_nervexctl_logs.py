"""nervexctl logs: the logs of a job's pods, from a kubelet's endpoint, over faults."""

import re

import pytest
from support.commands import Background
from support.jobs import job
from support.wait import wait_for


@pytest.fixture
def running(jobs, namespace):
    """A job that runs."""
    name = "dqn-" + namespace[-8:]
    jobs.create(job(name, learner={"replicas": 2, **job("x")["spec"]["learner"]}))
    jobs.wait_phase(name, "Running")
    return name


def test_the_coordinators_log_is_the_default(running, pod_logs, nervexctl_as, namespace):
    pod_logs.write(f"{running}-coordinator", "step 1", "step 2")
    said = nervexctl_as("view")("logs", running)
    assert (said.returncode, said.stdout) == (0, "step 1\nstep 2\n"), said.stderr


def test_logs_of_several_pods_have_titles(jobs, running, pod_logs, nervexctl, namespace):
    for pod in jobs.pods(running, "learner"):
        pod_logs.write(pod.metadata.name, f"I am {pod.metadata.name}")
    said = nervexctl("logs", running, "learner", "-n", namespace)
    assert said.returncode == 0, said.stderr
    assert sorted(line.split(" | ")[0] for line in said.stdout.splitlines()) == ["learner/0", "learner/1"]
    one = nervexctl("logs", running, "learner/1", "-n", namespace)
    assert re.fullmatch(rf"I am {running}-learner-\w{{5}}\n", one.stdout)
    every = nervexctl("logs", running, "--all", "-n", namespace)
    assert every.returncode == 0, every.stderr
    assert "learner/0 | " in every.stdout


def test_a_followed_log_survives_lost_connections_and_ends_with_the_pods_reason(
        jobs, running, pod_logs, target, node_agent, namespace):
    with Background(target, "nervexctl", "logs", running, "-f", "-n", namespace) as logs:
        pod_logs.write(f"{running}-coordinator", "one")
        wait_for(lambda: "one" in logs.lines, "the first line")
        pod_logs.cut()
        pod_logs.write(f"{running}-coordinator", "two")
        wait_for(lambda: "two" in logs.lines, "the line after the lost connection")
        node_agent.finish(f"{running}-coordinator", exit_code=3)
        pod_logs.end(f"{running}-coordinator")
        assert logs.wait() == 0
    assert logs.lines == ["one", "two"]
    assert any(f"coordinator ({running}-coordinator): " in line and "exit code 3" in line for line in logs.errors), logs.errors


def test_a_job_without_pods_says_why(jobs, nervexctl, namespace):
    jobs.create(job("later", suspend=True))
    jobs.wait_condition("later", "Suspended")
    said = nervexctl("logs", "later", "-n", namespace)
    assert said.returncode == 1
    assert "the job has no such pod now: later is suspended" in said.stderr
    assert nervexctl("logs", "absent", "-n", namespace).returncode == 1


@pytest.mark.parametrize("words", [[], ["a", "worker"], ["a", "learner/x"], ["a", "-f", "--previous"],
                                   ["a", "learner", "--all"]])
def test_wrong_usage_is_status_2(nervexctl, words):
    assert nervexctl("logs", *words).returncode == 2
