"""Tools that follow kstatus wait for a job exactly as long as necessary."""

import pytest
from support.jobs import job
from support.kstatus import kstatus
from support.wait import wait_for

NAME = "watched"


def wait_kstatus(jobs, want, timeout=60):
    return wait_for(lambda: (kstatus(jobs.get(NAME)) == want, jobs.get(NAME).get("status")), f"the job to be {want}",
                    timeout)


def test_a_job_that_no_controller_has_seen_is_in_progress(jobs, programs):
    programs.stop("controller")
    jobs.create(job(NAME))
    assert jobs.get(NAME)["status"] == {"observedGeneration": -1}
    assert kstatus(jobs.get(NAME)) == "InProgress"
    programs.start("controller")
    wait_kstatus(jobs, "Current")


@pytest.mark.versions
@pytest.mark.parametrize("exit_code, end", [(0, "Current"), (1, "Failed")])
def test_an_ended_job_is_not_waited_for(jobs, node_agent, kubectl, exit_code, end):
    jobs.create(job(NAME))
    wait_kstatus(jobs, "Current")
    node_agent.finish(f"{NAME}-coordinator", exit_code)
    jobs.wait_condition(NAME, "Finished")
    assert kstatus(jobs.get(NAME)) == end
    jobs.patch(NAME, {"spec": {"ttlSecondsAfterFinished": 3600}})
    wait_kstatus(jobs, end)
