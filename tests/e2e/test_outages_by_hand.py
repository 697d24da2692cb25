"""A user edits or deletes objects of a job: the job reports it, and objects of other owners are not touched."""

from support import nodes
from support.jobs import GROUP, VERSION, job, template
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


def test_a_name_that_is_taken_is_reported_and_waited_for(jobs, core, namespace):
    stranger = core.create_namespaced_pod(namespace, {
        "metadata": {"name": "wants-coordinator"},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "nervex/nervex-mock:0.1.0"}]}})
    jobs.create(job("wants"))
    told = jobs.wait_condition("wants", "PodsCreated", "False")
    assert "pod" in told["message"] and "does not belong to this job" in told["message"]
    there = core.read_namespaced_pod("wants-coordinator", namespace)
    assert there.metadata.uid == stranger.metadata.uid
    assert there.metadata.deletion_timestamp is None

    core.delete_namespaced_pod("wants-coordinator", namespace)
    jobs.wait_phase("wants", "Running")
    jobs.wait_condition("wants", "PodsCreated")


def test_a_job_that_is_created_again_waits_for_the_pods_of_the_deleted_one(jobs, core, namespace):
    """The old pods may use their whole grace period. Nothing is refused, and no time is lost in back-off."""
    first = jobs.create(job("again"))
    jobs.wait_phase("again", "Running")
    held = {"metadata": {"finalizers": ["nervex-e2e/slow-to-end"]}}
    core.patch_namespaced_pod("again-coordinator", namespace, held)
    jobs.delete("again")
    second = jobs.create(job("again"))
    told = jobs.wait_condition("again", "Scheduled", "False")
    assert told["reason"] == "PreviousJobTerminating", told
    assert "again-coordinator of the deleted job of the same name " in told["message"]

    def until():
        told = jobs.condition("again", "Scheduled")["message"]
        return told.startswith("pod again-coordinator of the deleted job of the same name is terminating until"), told
    wait_for(until, "the garbage collector to have asked the pod to go, and the job to say so")

    def alone():
        names = [one.metadata.name for one in core.list_namespaced_pod(namespace).items]
        groups = [one["metadata"]["name"] for one in jobs.pod_groups("again")]
        return (names, groups) == (["again-coordinator"], []), (names, groups)
    wait_for(alone, "all that may go of the deleted job to go", 60)
    assert jobs.get("again")["status"]["reason"] == "PreviousJobTerminating"

    core.patch_namespaced_pod("again-coordinator", namespace, {"metadata": {"finalizers": None}})
    jobs.wait_phase("again", "Running")
    status = jobs.get("again")["status"]
    assert (status["attempt"], status.get("lastAttempt")) == (1, None)
    assert "PodsCreated" not in {one["type"] for one in status["conditions"]}
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


def test_a_replica_whose_node_was_removed_says_why_it_waits_for_another(jobs, core, namespace, own_node, target):
    """In the planner's words; it is scheduled once a node for it exists again."""
    body = job("stays")
    body["spec"]["collector"] = {"replicas": 1, "template": template(nodeSelector={nodes.OWN: own_node})}
    jobs.create(body)
    jobs.wait_pods("stays", 3, "Running")
    jobs.wait_condition("stays", "Scheduled")
    (collector,) = jobs.pods("stays", "collector")
    core.delete_node(own_node)
    core.delete_namespaced_pod(collector.metadata.name, namespace, grace_period_seconds=0)
    told = jobs.wait_condition("stays", "Scheduled", "False")
    assert told["reason"] == "Unschedulable"
    assert "collector: no node is allowed: " in told["message"], told
    assert jobs.phase("stays") == "Running"

    nodes.add(target.cluster.api(), own_node)
    jobs.wait_pods("stays", 3, "Running")
    (successor,) = jobs.pods("stays", "collector")
    assert successor.metadata.name != collector.metadata.name
