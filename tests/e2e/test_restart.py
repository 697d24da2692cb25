"""Any of our programs may be restarted in the middle of a job."""

import kubernetes
import pytest
from support.jobs import job
from support.wait import away, wait_for

PROGRAMS = ["webhook", "extender", "controller", "server", "scheduler"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_running_job_is_not_affected(jobs, namespace, programs, replicas_api, node_agent, program):
    jobs.create(job("runs"))
    jobs.wait_phase("runs", "Running")
    before = {pod.metadata.uid for pod in jobs.wait_pods("runs", 2, "Running")}
    programs.restart(program)

    assert replicas_api.add(namespace, "runs-coordinator", collectors=1, learners=1).json["success"]
    after = jobs.wait_pods("runs", 4, "Running")
    assert before <= {pod.metadata.uid for pod in after}
    node_agent.finish("runs-coordinator")
    jobs.wait_phase("runs", "Succeeded")
    jobs.wait_pods("runs", 1)


@pytest.mark.parametrize("program", ["extender", "controller", "scheduler"])
def test_a_job_created_meanwhile_starts_afterwards(jobs, programs, program):
    programs.stop(program)
    jobs.create(job("meanwhile"))
    programs.start(program)
    jobs.wait_phase("meanwhile", "Running")
    jobs.wait_pods("meanwhile", 2, "Running")


def test_a_coordinator_that_ended_while_the_controller_was_down_ends_the_job(jobs, programs, node_agent):
    jobs.create(job("ends"))
    jobs.wait_phase("ends", "Running")
    programs.stop("controller")
    node_agent.finish("ends-coordinator")
    programs.start("controller")
    jobs.wait_phase("ends", "Succeeded")
    wait_for(lambda: not jobs.services("ends"), "the clean-up")


def test_without_the_webhook_no_job_is_created_unchecked(jobs, programs):
    programs.stop("webhook")
    with pytest.raises(kubernetes.client.ApiException) as caught:
        jobs.create(job("unchecked"))
    assert "nervexjob.kb.io" in caught.value.body
    programs.start("webhook")
    wait_for(lambda: jobs.create(job("checked"), dry_run=True), "the webhook to be asked again",
             not_yet=[away])


def test_a_program_ends_on_sigterm(programs):
    for program in ("webhook", "extender", "controller", "server"):
        assert programs.stop(program), f"{program} had to be killed"
        programs.start(program)
