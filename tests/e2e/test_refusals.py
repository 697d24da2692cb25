"""Refusals by the API server, and unobserved ends: no gang stays in part, a transient refusal requeues nothing, no
end is lost."""

import contextlib
import uuid

from support.jobs import job
from support.wait import always, wait_for

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/nervex-controller"
MERGE_PATCH = "application/merge-patch+json"
ENDED = {"exitCode": 1, "reason": "Error", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:09Z"}


@contextlib.contextmanager
def without_the_right_to_create_pods(api):
    """Like an API server that starts and has not read its roles: 403 from the authorizer."""
    role = api.get(ROLE)
    rules = [{**rule, "verbs": [verb for verb in rule["verbs"] if verb != "create" or "pods" not in rule["resources"]]}
             for rule in role["rules"]]
    api.patch(ROLE, {"rules": rules})
    try:
        yield
    finally:
        api.patch(ROLE, {"rules": role["rules"]})


def test_a_right_that_is_missing_for_a_while_requeues_no_gang(jobs, programs):
    with without_the_right_to_create_pods(programs.api()):
        body = job("waits")
        body["spec"]["collector"]["replicas"] = 2
        jobs.create(body)
        told = jobs.wait_condition("waits", "PodsCreated", "False", timeout=30)
        assert "cannot create resource" in told["message"]
        (group,) = jobs.pod_groups("waits")
        always(lambda: (jobs.get("waits")["status"]["attempt"] == 1 and
                        [one["metadata"]["uid"] for one in jobs.pod_groups("waits")] == [group["metadata"]["uid"]]),
               "the one attempt with its PodGroup", 2)
    jobs.wait_phase("waits", "Running", timeout=60)
    jobs.wait_pods("waits", 4, "Running")
    assert jobs.get("waits")["status"]["attempt"] == 1
    jobs.wait_condition("waits", "PodsCreated")


def test_a_request_that_is_refused_in_part_has_no_pods_at_all(jobs, core, namespace, replicas_api):
    """A quota that the planner does not read allows one of three: admission's 403 is final."""
    jobs.create(job("grows"))
    jobs.wait_phase("grows", "Running")
    before = [pod.metadata.name for pod in jobs.wait_pods("grows", 2, "Running")]
    core.create_namespaced_resource_quota(namespace, {"metadata": {"name": "few"},
                                                      "spec": {"hard": {"pods": str(len(before) + 1)},
                                                               "scopes": ["NotTerminating"]}})
    wait_for(lambda: core.read_namespaced_resource_quota("few", namespace).status.used, "the quota to count")
    assert replicas_api.add(namespace, "grows-coordinator", collectors=3).json["success"]
    told = jobs.wait_condition("grows", "PodsCreated", "False")
    assert "exceeded quota" in told["message"]
    jobs.wait_condition("grows", "RequestsScheduled", "False")

    def nothing_left():
        names = [pod.metadata.name for pod in jobs.pods("grows")]
        (group,) = jobs.pod_groups("grows")
        kinds = [gang["kind"] for gang in group["spec"]["gangs"]]
        return names == before and kinds == ["Base"], (names, kinds)
    wait_for(nothing_left, "the gang to be taken back as a whole", 30)
    status = jobs.get("grows")["status"]
    assert status["phase"] == "Running" and status["attempt"] == 1 and status["reason"] == "FailedCreate"

    core.delete_namespaced_resource_quota("few", namespace)
    jobs.wait_pods("grows", 5, "Running", timeout=60)
    jobs.wait_condition("grows", "PodsCreated")
    assert "requeuedGangs" not in jobs.get("grows")["status"]


def end_unseen(api, core, namespace, pod, exit_code):
    """Actions of kubelet and user while no controller runs."""
    ended = {**ENDED, "exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}
    api.patch(f"/api/v1/namespaces/{namespace}/pods/{pod}/status", {"status": {
        "phase": "Failed" if exit_code else "Succeeded",
        "containerStatuses": [{"name": "nervex-container", "image": "x", "imageID": "", "restartCount": 0,
                               "ready": False, "state": {"terminated": ended}}]}})
    core.delete_namespaced_pod(pod, namespace)


def test_a_worker_that_failed_and_was_deleted_unseen_is_counted(jobs, core, namespace, programs):
    body = job("counts")
    body["spec"]["collector"]["replicas"] = 2
    jobs.create(body)
    jobs.wait_pods("counts", 4, "Running")
    jobs.wait_condition("counts", "Ready")
    worker = jobs.pods("counts", "collector")[0].metadata.name
    programs.stop("controller")
    end_unseen(programs.api(), core, namespace, worker, 1)
    programs.start("controller")
    jobs.wait_pods("counts", 3, "Running", timeout=40)
    wait_for(lambda: jobs.counts("counts")["Collector"] == {"active": 1, "succeeded": 0, "failed": 1},
             "the failed collector to be counted")
    assert "replaced" not in jobs.get("counts")["status"]
    always(lambda: len(jobs.pods("counts")) == 3, "no pod in its place")


def test_a_coordinator_that_ran_and_ended_unseen_does_not_run_again(jobs, core, namespace, programs):
    """The scheduler is stopped until the controller has created the coordinator and is stopped itself: the
    controller never sees it run."""
    programs.stop("scheduler")
    jobs.create(job("unseen"))
    jobs.wait_pods("unseen", 2)
    programs.stop("controller")
    programs.start("scheduler")
    (coordinator,) = jobs.wait_pods("unseen", 1, "Running", role="coordinator", timeout=40)
    assert jobs.phase("unseen") != "Running"
    end_unseen(programs.api(), core, namespace, coordinator.metadata.name, 0)
    programs.start("controller")
    jobs.wait_phase("unseen", "Succeeded", timeout=40)
    status = jobs.get("unseen")["status"]
    assert status["attempt"] == 1
    wait_for(lambda: not jobs.pods("unseen", "coordinator"), "the deleted pod to go")


def test_pods_of_a_job_deleted_while_the_controller_was_down_are_deleted_later(jobs, programs):
    jobs.create(job("orphans"))
    jobs.wait_pods("orphans", 2, "Running")
    programs.stop("controller")
    jobs.delete("orphans")
    wait_for(lambda: all(pod.metadata.deletion_timestamp for pod in jobs.pods("orphans")), "the garbage collector", 120)  # a new cluster's collector learns of our kinds within 30 s
    programs.start("controller")
    wait_for(lambda: not jobs.pods("orphans"), "the pods to go", 40)


def wait_until_collector_knows(core, namespace):
    """The garbage collector orphans the dependants that it has seen, and deletes the others. A new cluster's collector
    learns of our kinds within 30 s, and a busy one sees pods late: it has seen all those that are older than one that it
    deletes because its job does not exist."""
    owner = {"apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob", "name": "never", "uid": str(uuid.uuid4())}
    core.create_namespaced_pod(namespace, {
        "metadata": {"name": "canary", "ownerReferences": [owner]},
        "spec": {"schedulerName": "none", "containers": [{"name": "main", "image": "x"}]}})
    wait_for(lambda: all(pod.metadata.name != "canary" for pod in core.list_namespaced_pod(namespace).items),
             "the garbage collector to delete a pod without its job", 120)


def test_an_orphaned_gang_releases_its_capacity(jobs, core, namespace):
    jobs.create(job("orphaned"))
    jobs.wait_pods("orphaned", 2, "Running")
    wait_until_collector_knows(core, namespace)
    jobs.custom.delete_namespaced_custom_object(
        "nervex.sensetime.com", "v1alpha1", namespace, "nervexjobs", "orphaned", propagation_policy="Orphan")

    def objects(kind):
        return jobs.custom.list_namespaced_custom_object("nervex.sensetime.com", "v1alpha1", namespace, kind)["items"]

    def group_is_gone():
        groups, pods = objects("podgroups"), jobs.pods("orphaned")
        seen = [one["metadata"] for one in objects("nervexjobs") + groups] + [pod.metadata.to_dict() for pod in pods]
        assert len(pods) == 2 and not any(pod.metadata.deletion_timestamp for pod in pods), f"its pods stay: {seen}"
        return not groups, seen
    wait_for(group_is_gone, "the PodGroup to go")
    wait_for(lambda: not any(pod.metadata.finalizers for pod in jobs.pods("orphaned")), "the finalizers to go")
    assert len(jobs.pods("orphaned")) == 2
