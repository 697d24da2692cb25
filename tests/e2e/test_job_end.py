"""How attempts and jobs end: retries, requeues, suspending, deadlines, time to live. The tests' kubelet
(tools/cluster/kubelet.py) ends coordinators."""

import kubernetes
import pytest
from tools.cluster import kubelet
from support import nodes
from support.jobs import job, template
from support.wait import TIMEOUT, absent, always, wait_for

NAME = "row"
COORDINATOR = f"{NAME}-coordinator"


def status_of(jobs):
    return jobs.get(NAME).get("status", {})


def wait_attempt(jobs, number, timeout=TIMEOUT):
    def look():
        status = status_of(jobs)
        return status.get("attempt") == number, status
    return wait_for(look, f"attempt {number}", timeout)


def wait_attempt_runs(jobs, number, timeout=TIMEOUT):
    def look():
        status = status_of(jobs)
        return (status.get("attempt"), status.get("phase")) == (number, "Running"), status
    wait_for(look, f"attempt {number} to run", timeout)
    return status_of(jobs)


def reason_is(jobs, reason):
    def look():
        status = status_of(jobs)
        return status.get("reason") == reason, status
    wait_for(look, f"reason {reason}")


def uids(pods):
    return {pod.metadata.uid for pod in pods}


@pytest.fixture
def running(jobs):
    """running(**spec) creates a job with one collector and returns its pods once all run."""
    def create(**spec):
        body = job(NAME, **spec)
        body["spec"]["collector"]["replicas"] = 1
        jobs.create(body)
        pods = jobs.wait_pods(NAME, 3, "Running")
        jobs.wait_phase(NAME, "Running")
        return pods
    return create


# -- retries


def test_a_failed_attempt_is_followed_by_another_of_new_pods(jobs, running, node_agent):
    before = running(backoffLimit=1)
    started = status_of(jobs)["startTime"]
    node_agent.finish(COORDINATOR, 3, "no data left")
    status = wait_attempt(jobs, 2)
    assert (status["phase"], status["reason"]) == ("Created", "BackOff")
    assert status["failedAttempts"] == 1
    last = status["lastAttempt"]
    assert (last["attempt"], last["reason"], last["exitCode"], last["message"]) == (
        1, "CoordinatorFailed", 3, "no data left")
    wait_for(lambda: (not jobs.pods(NAME) and not jobs.pod_groups(NAME) and not jobs.services(NAME),
                      jobs.pods(NAME)), "everything of the first attempt to go")

    status = wait_attempt_runs(jobs, 2)
    assert status["startTime"] == started
    after = jobs.wait_pods(NAME, 3, "Running")
    assert not uids(before) & uids(after)
    assert [group["metadata"]["name"] for group in jobs.pod_groups(NAME)] == [f"{NAME}-2"]

    node_agent.finish(COORDINATOR, 4, "again")
    jobs.wait_phase(NAME, "Failed")
    status = status_of(jobs)
    assert (status["reason"], status["failedAttempts"]) == ("BackoffLimitExceeded", 2)
    assert "again" in jobs.condition(NAME, "Failed")["message"]
    assert status["duration"]


def test_a_coordinator_restarted_in_place_is_a_new_attempt(jobs, target, namespace, running):
    before = running(coordinator={"template": template(restartPolicy="Always")})

    def restart(pod, status):
        one = status["containerStatuses"][0]
        one["restartCount"] = 1
        one["lastState"] = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "message": "too much",
                                           "startedAt": kubelet.timestamp(), "finishedAt": kubelet.timestamp()}}
    if not target.cluster:
        pytest.skip("a real kubelet reports the pods' states on this cluster")
    kubelet.change_status(target.cluster.api(), namespace, COORDINATOR, restart)
    status = wait_attempt(jobs, 2)
    assert status["lastAttempt"]["reason"] == "CoordinatorRestarted"
    assert status["lastAttempt"]["exitCode"] == 137
    assert status["failedAttempts"] == 1
    wait_attempt_runs(jobs, 2)
    assert not uids(before) & uids(jobs.wait_pods(NAME, 3, "Running"))


def test_a_coordinator_deleted_by_hand_is_lost(jobs, running, core, namespace):
    running()
    core.delete_namespaced_pod(COORDINATOR, namespace)
    jobs.wait_phase(NAME, "Failed")
    assert status_of(jobs)["reason"] == "CoordinatorLost"


# -- what the cluster does


def test_an_evicted_coordinator_costs_no_retry(jobs, running, core, namespace):
    before = running()
    core.create_namespaced_pod_eviction(COORDINATOR, namespace, {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": COORDINATOR, "namespace": namespace}})
    wait_attempt(jobs, 2)
    assert jobs.condition(NAME, "Requeued")["reason"] == "Evicted"
    jobs.wait_event(NAME, "Requeued")
    status = wait_attempt_runs(jobs, 2)
    assert status.get("failedAttempts", 0) == 0
    assert jobs.condition(NAME, "Requeued")["status"] == "False"
    assert not uids(before) & uids(jobs.wait_pods(NAME, 3, "Running"))


def test_a_coordinator_that_the_kubelet_refused_costs_no_retry(jobs, running, target, namespace):
    running()
    if not target.cluster:
        pytest.skip("a real kubelet reports the pods' states on this cluster")

    def refuse(_pod, status):
        status.update(phase="Failed", reason="OutOfcpu", message="Node didn't have enough resource: cpu")
    kubelet.change_status(target.cluster.api(), namespace, COORDINATOR, refuse)
    wait_attempt(jobs, 2)
    assert "OutOfcpu" in jobs.wait_event(NAME, "Requeued").message
    assert status_of(jobs).get("failedAttempts", 0) == 0
    wait_attempt_runs(jobs, 2)


# -- suspending


def test_a_suspended_job_has_no_objects_until_it_is_resumed(jobs, running):
    before = running()
    queued = status_of(jobs)["queuedSince"]
    jobs.patch(NAME, {"spec": {"suspend": True}})
    jobs.wait_condition(NAME, "Suspended")
    wait_for(lambda: (not jobs.pods(NAME) and not jobs.pod_groups(NAME) and not jobs.services(NAME),
                      jobs.pods(NAME)), "everything to go")
    status = status_of(jobs)
    assert (status["phase"], status["reason"], status["ready"]) == ("Created", "Suspended", "0/0")
    assert "lastAttempt" not in status
    always(lambda: not jobs.pods(NAME) and not jobs.pod_groups(NAME), "nothing being made", 1)

    jobs.patch(NAME, {"spec": {"suspend": False}})
    jobs.wait_condition(NAME, "Suspended", "False")
    status = wait_attempt_runs(jobs, 2)
    assert status["queuedSince"] > queued
    assert not uids(before) & uids(jobs.wait_pods(NAME, 3, "Running"))


def test_a_job_created_suspended_waits(jobs):
    jobs.create(job(NAME, suspend=True))
    jobs.wait_condition(NAME, "Suspended")
    always(lambda: not jobs.pods(NAME) and not jobs.pod_groups(NAME), "nothing being made", 1)
    jobs.patch(NAME, {"spec": {"suspend": False}})
    jobs.wait_pods(NAME, 2, "Running")


def not_yet_suspended(error):
    """A job may be resumed only after the controller has suspended it."""
    return isinstance(error, kubernetes.client.ApiException) and "before the controller has suspended" in error.body


def test_toggling_quickly_settles(jobs, running):
    running()
    for _ in range(3):
        jobs.patch(NAME, {"spec": {"suspend": True}})
        wait_for(lambda: jobs.patch(NAME, {"spec": {"suspend": False}}), "the job to be resumed",
                 not_yet=[not_yet_suspended], interval=0)
    jobs.wait_phase(NAME, "Running")

    def look():
        pods = jobs.pods(NAME)
        groups = [group["metadata"]["uid"] for group in jobs.pod_groups(NAME)]
        owners = {pod.metadata.annotations["nervex.sensetime.com/pod-group-uid"] for pod in pods}
        return len(pods) == 3 and len(groups) == 1 and owners == set(groups), (len(pods), groups, owners)
    wait_for(look, "one PodGroup and its three pods")


# -- deletion


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "running"])
def test_a_deleted_job_kept_by_a_finalizer_reserves_no_capacity(jobs, waits):
    body = job(NAME, **({"coordinator": {"template": template(cpu="9999")}} if waits else {}))
    body["metadata"]["finalizers"] = ["audit.example.com/keep"]
    jobs.create(body)
    if waits:
        reason_is(jobs, "Unschedulable")
    else:
        jobs.wait_pods(NAME, 2, "Running")
    try:
        jobs.delete(NAME)
        wait_for(lambda: (not jobs.pod_groups(NAME) and not jobs.pods(NAME), jobs.pods(NAME)), "all of it to go")
        always(lambda: not jobs.pod_groups(NAME) and not jobs.pods(NAME), "nothing being made", 1)
        assert jobs.get(NAME)["metadata"]["finalizers"] == ["audit.example.com/keep"]
    finally:
        jobs.patch(NAME, {"metadata": {"finalizers": None}})


# -- time limits


def test_a_job_that_is_active_for_too_long_fails(jobs, running):
    running(activeDeadlineSeconds=2)
    jobs.wait_phase(NAME, "Failed")
    assert status_of(jobs)["reason"] == "DeadlineExceeded"
    wait_for(lambda: (not jobs.pods(NAME), jobs.pods(NAME)), "its pods to go")


def test_time_in_the_queue_does_not_count_against_the_active_deadline(jobs, running, core, namespace):
    deadline = 8
    running(activeDeadlineSeconds=deadline)
    queued = status_of(jobs)["queuedSince"]
    core.create_namespaced_resource_quota(namespace, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}})
    wait_for(lambda: core.read_namespaced_resource_quota("few", namespace).status.used, "the quota to count")
    core.create_namespaced_pod_eviction(COORDINATOR, namespace, {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": COORDINATOR, "namespace": namespace}})
    wait_attempt(jobs, 2)
    reason_is(jobs, "OverQuota")
    always(lambda: jobs.phase(NAME) == "Created", "the job waiting on", deadline + 1)
    status = status_of(jobs)
    assert status["queuedSince"] == queued
    assert status.get("activeSeconds", 0) < deadline, status
    assert "activeSince" not in status


def test_an_attempt_whose_pods_never_run_releases_its_capacity(jobs, programs):
    with nodes.own_node(programs.api()) as name:
        nodes.wait_usable(programs.api(), [name])
        silent = template(nodeSelector={nodes.OWN: name})
        silent["metadata"] = {"annotations": kubelet.annotations(silent="yes")}
        jobs.create(job(NAME, collector={"replicas": 1, "template": silent}, startTimeoutSeconds=2))
        jobs.wait_phase(NAME, "Failed")
        status = status_of(jobs)
        assert status["reason"] == "StartTimeout"
        assert "1 of 3 pods of the gang did not start within 2 s" in jobs.condition(NAME, "Failed")["message"]
        wait_for(lambda: (not jobs.pods(NAME, "collector"), jobs.pods(NAME)), "its pods to go")


def test_a_job_that_waits_for_capacity_for_too_long_fails(jobs):
    jobs.create(job(NAME, coordinator={"template": template(cpu="9999")}, scheduleTimeoutSeconds=2))
    jobs.wait_phase(NAME, "Failed")
    assert status_of(jobs)["reason"] == "ScheduleTimeout"
    assert "coordinator" in jobs.condition(NAME, "Failed")["message"]
    wait_for(lambda: (not jobs.pod_groups(NAME), jobs.pod_groups(NAME)), "its PodGroup to go")


def test_a_finished_job_is_deleted_after_its_time_to_live(jobs, running, node_agent):
    running(ttlSecondsAfterFinished=2)
    node_agent.finish(COORDINATOR)
    jobs.wait_phase(NAME, "Succeeded")

    def gone():
        try:
            return False, jobs.get(NAME)["status"]
        except kubernetes.client.ApiException as error:
            if not absent(error):
                raise
            return True, "404"
    wait_for(gone, "the job to be deleted")
    wait_for(lambda: (not jobs.pods(NAME), jobs.pods(NAME)), "its pods to go with it")


# -- names, columns, scale


@pytest.fixture
def without_webhooks(webhooks_away):
    with webhooks_away():
        yield


def test_a_name_that_no_pod_can_have_is_reported(jobs, without_webhooks):
    jobs.create(job("7th"))

    def look():
        status = jobs.get("7th").get("status", {})
        return status.get("reason") == "InvalidName", status
    wait_for(look, "reason InvalidName")
    assert jobs.condition("7th", "PodsCreated")["status"] == "False"
    assert not jobs.pods("7th") and not jobs.pod_groups("7th")


def test_c5_without_the_webhook_a_wrong_coordinator_leaves_the_job_created(jobs, without_webhooks):
    wrong = template()
    wrong["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1m"}
    body = job(NAME, coordinator={"template": wrong})
    body["spec"]["collector"]["replicas"] = 2
    jobs.create(body)
    condition = jobs.wait_condition(NAME, "PodsCreated", "False")
    assert condition["reason"] == "FailedCreate"
    assert "nvidia.com/gpu" in condition["message"]
    assert jobs.phase(NAME) == "Created"
    assert status_of(jobs)["reason"] == "FailedCreate"


def test_the_columns(jobs, running, kubectl, namespace):
    running()
    jobs.wait_condition(NAME, "Ready")
    header, line = kubectl("get", "nvxjob", "-n", namespace).stdout.splitlines()
    assert header.split() == ["NAME", "PHASE", "READY", "REASON", "AGE"]
    assert line.split()[:4] == [NAME, "Running", "3/3", "Running"]
    header = kubectl("get", "nvxjob", "-n", namespace, "-o", "wide").stdout.splitlines()[0]
    assert header.split() == ["NAME", "PHASE", "READY", "REASON", "AGE", "COLLECTORS", "LEARNERS", "QUEUE",
                              "DURATION", "ATTEMPT"]
    assert f"nervexjob.nervex.sensetime.com/{NAME}" in kubectl("get", "nervex", "-n", namespace).stdout


def test_collectors_are_scaled_as_any_workload_is(jobs, running, kubectl, namespace, custom):
    running(collector={"template": template(), "replicas": 1, "maxReplicas": 2})
    scale = custom.get_namespaced_custom_object_scale("nervex.sensetime.com", "v1alpha1", namespace, "nervexjobs", NAME)
    assert scale["spec"]["replicas"] == 1

    def counted():
        one = custom.get_namespaced_custom_object_scale(
            "nervex.sensetime.com", "v1alpha1", namespace, "nervexjobs", NAME)["status"]
        return one["replicas"] == 1, one
    wait_for(counted, "the scale to count the collector")
    selector = scale["status"]["selector"]
    assert [pod.metadata.name for pod in jobs.core.list_namespaced_pod(namespace, label_selector=selector).items] == [
        pod.metadata.name for pod in jobs.pods(NAME, "collector")]

    done = kubectl("scale", "nvxjob", NAME, "--replicas=2", "-n", namespace)
    assert done.returncode == 0, done.stderr
    assert jobs.get(NAME)["spec"]["collector"]["replicas"] == 2
    done = kubectl("scale", "nvxjob", NAME, "--replicas=3", "-n", namespace)
    assert done.returncode != 0
    assert "replicas must not be more than maxReplicas" in done.stderr


# -- restarts of the controller


def test_c15_finished_jobs_are_left_alone_by_a_restarted_controller(jobs, running, node_agent, programs):
    running()
    node_agent.finish(COORDINATOR)
    jobs.wait_phase(NAME, "Succeeded")
    wait_for(lambda: not jobs.services(NAME) and not jobs.pod_groups(NAME), "the clean-up")
    wait_for(lambda: jobs.events(NAME, "SuccessfulDelete"), "its event, which is sent after it")
    before = jobs.get(NAME)
    events = {(one.metadata.uid, one.count) for one in jobs.events(NAME)}
    pods = uids(jobs.wait_pods(NAME, 1))
    programs.restart("controller")
    jobs.create(job("another"))  # when it runs, the controller has seen all there is
    jobs.wait_phase("another", "Running")
    assert jobs.get(NAME) == before
    assert uids(jobs.pods(NAME)) == pods
    assert {(one.metadata.uid, one.count) for one in jobs.events(NAME)} == events


def test_a_back_off_survives_the_controller(jobs, running, node_agent, programs):
    running(backoffLimit=1)
    node_agent.finish(COORDINATOR, 1)
    due = wait_attempt(jobs, 2)["nextAttemptTime"]
    programs.restart("controller")
    status = wait_attempt_runs(jobs, 2)
    assert status["nextAttemptTime"] == due
