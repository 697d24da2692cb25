"""A tenant with the role `edit` in one namespace tries to start in a queue that is stopped, and to outlast a drain or a
time limit.

Each test has a node of its own with 8 GPUs, and a queue `team`.
"""

import datetime
import time

import kubernetes
import pytest
from support.queues import own_queues
from support.tenant import GPU, LONG, YEARS, attempt
from support.wait import always, conflict, wait_for

HOUR = 3600  # nervex-controller --max-termination-grace


@pytest.fixture
def queues(custom, namespace):
    with own_queues(custom, namespace) as made:
        made.create("team")
        yield made


@pytest.fixture
def held(tenant, queues):
    """A job `runs` in a queue that starts nothing any more."""
    tenant.run("runs", 1)
    queues.patch("team", stop="Hold")
    tenant.create_pod("probe", 1)
    tenant.wait_pod_says("probe", "is stopped")
    return tenant


def wait_gone(tenant, *names):
    def look():
        pods = {one.metadata.name: one.metadata.deletion_timestamp
                for one in tenant.core.list_namespaced_pod(tenant.namespace).items}
        return not set(names) & set(pods), pods
    wait_for(look, f"pods {names} to end", LONG)


def names_of(tenant, name="runs"):
    return [one.metadata.name for one in tenant.jobs.pods(name)]


# -- a queue that is held


def test_a_held_queue_gives_no_requested_replica(held, replicas_api):
    assert replicas_api.add(held.namespace, "runs-coordinator", collectors=1).json["success"]
    held.wait_reason("runs", "QueueStopped")
    held.check_at_most(1)


def test_a_held_queue_gives_no_base_replica(held):
    assert held.call("PATCH", held.path("nervexjobs", "runs/scale"), {"spec": {"replicas": 3}})[0] == 200
    held.wait_reason("runs", "QueueStopped")
    held.check_at_most(1)


def test_a_job_that_is_suspended_and_resumed_waits_in_a_held_queue(held):
    for _ in range(2):
        held.jobs.patch("runs", {"spec": {"suspend": True}})
        wait_for(lambda: not names_of(held), "the pods to go", LONG)
        held.jobs.wait_condition("runs", "Suspended")
        held.jobs.patch("runs", {"spec": {"suspend": False}})
        held.wait_reason("runs", "QueueStopped")
    held.check_at_most(0)


@pytest.mark.extended
def test_a_quick_change_of_suspend_starts_no_new_attempt_in_a_held_queue(held):
    for i in range(20):
        held.suspend("runs", i % 2 == 0)

    def has_settled():
        status = held.jobs.get("runs")["status"]
        return status["phase"] == "Running" or status.get("reason") == "QueueStopped", status
    wait_for(has_settled, "the job to settle", LONG)
    held.check_at_most(1)


def test_a_job_under_the_name_of_one_that_ran_waits_in_a_held_queue(held):
    held.jobs.delete("runs")
    held.jobs.create(held.job("runs", 1))
    held.wait_reason("runs", "QueueStopped")
    wait_for(lambda: not names_of(held), "the pods of the first job to go", LONG)


def test_a_retry_waits_in_a_held_queue(held):
    held.jobs.patch("runs", {"spec": {"backoffLimit": 9}})
    held.core.delete_namespaced_pod("runs-coordinator", held.namespace, grace_period_seconds=0)
    held.wait_reason("runs", "QueueStopped")
    wait_for(lambda: not names_of(held), "the pods of the first attempt to go", LONG)


def test_a_held_queue_starts_no_workload_of_another_kind(held):
    labels = {"app": "other"}
    held.apps.create_namespaced_stateful_set(held.namespace, {
        "metadata": {"name": "other"}, "spec": {
            "replicas": 2, "podManagementPolicy": "Parallel", "serviceName": "other", "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": held.pod("", 1)["spec"]}}})
    kubernetes.client.BatchV1Api(held.client).create_namespaced_job(held.namespace, {
        "metadata": {"name": "batch"}, "spec": {"parallelism": 2, "completions": 2, "template": {
            "spec": {**held.pod("", 1)["spec"], "restartPolicy": "Never"}}}})
    held.wait_pod_says("other-1", "is stopped")
    held.check_at_most(1)


def test_a_pod_that_pretends_to_be_of_a_daemonset_waits_in_a_held_queue(held):
    """Without the pin of its affinity, or with one way around it. With the pin it does not wait: SECURITY.md."""
    def field(operator, *values):
        return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}
    owner = held.apps.create_namespaced_daemon_set(held.namespace, {
        "metadata": {"name": "agent"}, "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {
                "nodeSelector": {"no": "node"}, "containers": [{"name": "main", "image": "i"}]}}}}).metadata
    reference = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": owner.uid, "controller": True}
    ways = {"none": None, "not-in": [field("NotIn", "elsewhere")],
            "or": [field("In", held.node), {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}],
            "preferred": None}
    for name, terms in ways.items():
        body = held.pod(f"agent-{name}", 1)
        body["metadata"].update(ownerReferences=[reference], labels={"app": "agent"})
        if terms:
            body["spec"]["affinity"] = {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
        if name == "preferred":
            body["spec"]["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": field("In", held.node)}]}}
        held.core.create_namespaced_pod(held.namespace, body)
        with attempt("wait"):
            wait_for(lambda name=name: held.core.read_namespaced_pod(f"agent-{name}", held.namespace).status.conditions,
                     "kube-scheduler to judge it", LONG)
    held.check_at_most(1)


def test_gates_that_are_removed_after_the_stop_start_nothing(tenant, queues):
    """The job has a plan, and its pods wait for the tenant."""
    body = tenant.job("gated", 2)
    body["spec"]["coordinator"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    body["spec"]["collector"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    tenant.jobs.create(body)
    tenant.jobs.wait_pods("gated", 2)
    queues.patch("team", stop="Hold")
    tenant.create_pod("probe", 1)
    tenant.wait_pod_says("probe", "is stopped")
    for pod in tenant.jobs.pods("gated"):
        with attempt("open the gate"):
            tenant.core.patch_namespaced_pod(pod.metadata.name, tenant.namespace, {"spec": {"schedulingGates": None}})
    always(lambda: (tenant.jobs.phase("gated") != "Running", tenant.jobs.get("gated")["status"]), "the job waits", 3)


# -- a drain


@pytest.fixture
def drain(tenant, queues):
    """drain(): the queue is drained, and the job is told so."""
    tenant.run("runs", 4, backoffLimit=0)

    def stop():
        queues.patch("team", stop="HoldAndDrain")
        tenant.jobs.wait_condition("runs", "Requeued", timeout=LONG)
        tenant.wait_reason("runs", "QueueStopped")
    return stop


def test_a_policy_that_keeps_pods_does_not_outlast_a_drain(tenant, drain):
    tenant.jobs.patch("runs", {"spec": {"cleanPodPolicy": "None"}})
    names = names_of(tenant)
    drain()
    wait_gone(tenant, *names)
    tenant.check_at_most(0)


@pytest.mark.extended
def test_a_disruption_budget_does_not_outlast_a_drain(tenant, drain):
    kubernetes.client.PolicyV1Api(tenant.client).create_namespaced_pod_disruption_budget(tenant.namespace, {
        "metadata": {"name": "all"}, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"nervexjob-name": "runs"}}}})
    names = names_of(tenant)
    drain()
    wait_gone(tenant, *names)


def grace_left(tenant, name):
    """Seconds until the pod is killed; None while it is not ending."""
    ends = tenant.core.read_namespaced_pod(name, tenant.namespace).metadata.deletion_timestamp
    return ends and (ends - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


def delete_call(tenant, name):
    tenant.delete_slowly(name)


def evict_call(tenant, name):
    tenant.core.create_namespaced_pod_eviction(name, tenant.namespace, {
        "metadata": {"name": name}, "deleteOptions": {"gracePeriodSeconds": YEARS}})


@pytest.mark.parametrize("end", [delete_call, evict_call], ids=["deleted", "evicted"])
def test_a_pod_that_its_user_ends_with_a_grace_of_years_ends_within_the_hour(tenant, queues, end):
    tenant.run("runs", 2, slow=True)
    (pod,) = [one.metadata.name for one in tenant.jobs.pods("runs", "collector")]
    end(tenant, pod)
    wait_for(lambda: ((left := grace_left(tenant, pod)) is not None and left <= HOUR + 60, left),
             "the controller to shorten the grace period", LONG)


@pytest.mark.extended
def test_a_pod_that_its_user_ends_slowly_ends_with_a_drain_as_its_template_says(tenant, queues):
    """Its own grace period is 2 s; the user gave it an hour before the drain."""
    body = tenant.job("runs", 2, slow=True)
    body["spec"]["collector"]["template"]["spec"]["terminationGracePeriodSeconds"] = 2
    tenant.jobs.create(body)
    tenant.jobs.wait_phase("runs", "Running", LONG)
    (pod,) = [one.metadata.name for one in tenant.jobs.pods("runs", "collector")]
    tenant.delete_slowly(pod, HOUR)
    queues.patch("team", stop="HoldAndDrain")
    wait_for(lambda: "runs-coordinator" not in names_of(tenant), "the coordinator to end", LONG)
    wait_for(lambda: (pod not in names_of(tenant), names_of(tenant)), "the pod to end", 5)


@pytest.mark.extended
def test_a_template_with_a_grace_of_years_is_drained_within_the_hour(tenant, queues):
    body = tenant.job("runs", 2, slow=True)
    body["spec"]["collector"]["template"]["spec"]["terminationGracePeriodSeconds"] = YEARS
    tenant.jobs.create(body)
    tenant.jobs.wait_phase("runs", "Running", LONG)
    (pod,) = [one.metadata.name for one in tenant.jobs.pods("runs", "collector")]
    queues.patch("team", stop="HoldAndDrain")
    wait_for(lambda: ((left := grace_left(tenant, pod)) is not None and left <= HOUR + 60, left),
             "the pod to end with the bounded grace period", LONG)


def test_a_finalizer_of_the_job_does_not_keep_its_pods(tenant, drain):
    names = names_of(tenant)
    tenant.jobs.patch("runs", {"metadata": {"finalizers": ["example.com/stays"]}})
    tenant.jobs.delete("runs")
    wait_gone(tenant, *names)
    assert tenant.jobs.get("runs")["metadata"]["deletionTimestamp"]
    tenant.jobs.patch("runs", {"metadata": {"finalizers": None}})


def test_a_finalizer_of_a_pod_starts_no_second_one_beside_it(tenant, drain, queues):
    (pod,) = [one.metadata.name for one in tenant.jobs.pods("runs", "collector")]
    tenant.core.patch_namespaced_pod(pod, tenant.namespace, {"metadata": {"finalizers": ["example.com/stays"]}})
    drain()
    wait_for(lambda: tenant.core.read_namespaced_pod(pod, tenant.namespace).metadata.deletion_timestamp, "it to end", LONG)
    queues.patch("team", stop="None", limit=[{"resources": {GPU: 4}}])
    tenant.wait_reason("runs", "LimitExceeded", "LimitKept")
    tenant.check_at_most(4)
    tenant.core.patch_namespaced_pod(pod, tenant.namespace, {"metadata": {"finalizers": None}})
    tenant.jobs.wait_phase("runs", "Running", LONG)


def test_a_pod_without_its_owner_does_not_outlast_a_drain(tenant, drain):
    (pod,) = [one.metadata.name for one in tenant.jobs.pods("runs", "collector")]
    with attempt("detach"):
        tenant.detach(pod)
    drain()
    wait_for(lambda: len(names_of(tenant)) <= 1, "the other pods to end", LONG)
    wait_for(lambda: ((used := tenant.gpus_in_use()) == 0, used), "the pod to end", 3)


def test_a_drained_job_starts_nowhere_by_changes_of_its_own(tenant, drain):
    names = names_of(tenant)
    drain()
    wait_gone(tenant, *names)
    for change in ({"suspend": True}, {"suspend": False}, {"preemptible": True}, {"collector": {"replicas": 2}}):
        with attempt("change"):
            tenant.jobs.patch("runs", {"spec": change})
    tenant.wait_reason("runs", "QueueStopped")
    tenant.check_at_most(0)


# -- the time limit of a queue


def wait_ended_by_limit(tenant, names):
    tenant.jobs.wait_phase("runs", "Failed", LONG)
    assert tenant.jobs.get("runs")["status"]["reason"] == "DeadlineExceeded"
    wait_gone(tenant, *names)


CHANGES = {"a limit of its own beyond any time": {"activeDeadlineSeconds": 2**63 - 1},
           "no limit of its own": {"activeDeadlineSeconds": None},
           "a policy that keeps pods": {"cleanPodPolicy": "None"},
           "retries without end": {"backoffLimit": 2**31 - 1}}


@pytest.mark.parametrize("what", [
    pytest.param(what, marks=() if "policy" in what else pytest.mark.extended) for what in CHANGES])
def test_the_time_limit_of_a_queue_ends_the_job_that_has(tenant, queues, what):
    queues.patch("team", maxRuntimeSeconds=3)
    tenant.run("runs", 1, activeDeadlineSeconds=3600)
    tenant.jobs.patch("runs", {"spec": CHANGES[what]})
    wait_ended_by_limit(tenant, names_of(tenant))


@pytest.mark.extended
def test_the_time_limit_of_a_queue_ends_the_job_that_now_names_another_queue(tenant, queues):
    queues.patch("team", maxRuntimeSeconds=3)
    queues.create("endless")
    tenant.run("runs", 1, queue=queues.name("team"))
    tenant.jobs.patch("runs", {"spec": {"queue": queues.name("endless")}})
    wait_ended_by_limit(tenant, names_of(tenant))


@pytest.mark.extended
def test_a_new_attempt_does_not_begin_the_time_again(tenant, queues):
    """The time of a job is what all its attempts were active."""
    queues.patch("team", maxRuntimeSeconds=5)
    tenant.run("runs", 1, backoffLimit=100)
    always(lambda: tenant.jobs.phase("runs") == "Running", "the first attempt runs", 3)
    tenant.core.delete_namespaced_pod("runs-coordinator", tenant.namespace, grace_period_seconds=0)
    wait_for(lambda: tenant.jobs.get("runs")["status"]["attempt"] == 2 and tenant.jobs.phase("runs") == "Running",
             "the second attempt to run", LONG)
    began = time.monotonic()
    tenant.jobs.wait_phase("runs", "Failed", LONG)
    assert tenant.jobs.get("runs")["status"]["reason"] == "DeadlineExceeded"
    assert time.monotonic() - began < 4, "5 s in all, of which the first attempt had 3"


# -- names that are used again


def test_a_new_job_adopts_no_pod_that_was_orphaned_under_its_name(tenant, queues):
    tenant.run("runs", 2)
    old = {one.metadata.name: one.metadata.uid for one in tenant.jobs.pods("runs")}
    tenant.custom.delete_namespaced_custom_object(
        "nervex.sensetime.com", "v1alpha1", tenant.namespace, "nervexjobs", "runs", propagation_policy="Orphan")
    wait_for(lambda: not any(one.metadata.owner_references for one in tenant.jobs.pods("runs")), "the pods to be orphaned")
    wait_for(lambda: tenant.jobs.create(tenant.job("runs", 2)), "the old job to be gone", not_yet=[conflict])
    always(lambda: tenant.jobs.phase("runs") != "Running", "the new job has no coordinator", 1.5)
    assert "runs-coordinator" in str(tenant.jobs.get("runs")["status"]), tenant.jobs.get("runs")
    pods = tenant.core.list_namespaced_pod(tenant.namespace).items
    kept = [one for one in pods if old.get(one.metadata.name) == one.metadata.uid]
    assert len(kept) == len(old) and not any(one.metadata.owner_references for one in kept)
