"""Somebody's hand in what belongs to a job: it is told on the job, and nobody else's object is touched."""

from support.jobs import GROUP, VERSION, job
from support.wait import wait_for


def test_a_deleted_pod_group_ends_the_running_job_and_says_so(jobs, custom, namespace):
    jobs.create(job("loses"))
    jobs.wait_phase("loses", "Running")
    jobs.wait_pods("loses", 2, "Running")
    (group,) = jobs.pod_groups("loses")
    custom.delete_namespaced_custom_object(GROUP, VERSION, namespace, "podgroups", group["metadata"]["name"])
    jobs.wait_phase("loses", "Failed")
    assert jobs.get("loses")["status"]["reason"] == "PodGroupLost"
    assert "PodGroup was deleted" in jobs.condition("loses", "Failed")["message"]
    jobs.wait_pods("loses", 0)
    wait_for(lambda: not jobs.services("loses"), "the services to go")
    assert all(counts["active"] == 0 for counts in jobs.counts("loses").values())


def test_a_name_that_is_taken_is_told_and_waited_for(jobs, core, namespace):
    stranger = core.create_namespaced_service(namespace, {
        "metadata": {"name": "wants-coordinator"}, "spec": {"ports": [{"port": 80}], "selector": {"app": "mine"}}})
    jobs.create(job("wants"))
    told = jobs.wait_condition("wants", "PodsCreated", "False")
    assert "service" in told["message"] and "does not belong to this job" in told["message"]
    assert jobs.pods("wants") == []
    there = core.read_namespaced_service("wants-coordinator", namespace)
    assert there.metadata.resource_version == stranger.metadata.resource_version

    core.delete_namespaced_service("wants-coordinator", namespace)
    jobs.wait_phase("wants", "Running", timeout=60)
    jobs.wait_condition("wants", "PodsCreated")
