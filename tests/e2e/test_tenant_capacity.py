"""A tenant with the role `edit` in one namespace tries to keep what a queue takes back, and to take nodes that are
reserved for others or run others' pods.

Each test has a node of its own with 8 GPUs.
"""

import kubernetes
import pytest
from support.jobs import Jobs, job, refusal_of
from support.tenant import GPU, LONG
from support.wait import always, wait_for
from test_device_classes import devices  # noqa: F401  a fixture

QUICK = "--reserve-after=2s --preemption=full"
pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def others(other_team, queues):
    """The jobs of another team, which takes its quota back."""
    with other_team(8, reclaim="Any") as theirs:
        queues.create("mine", minRuntimeSeconds=0)
        yield theirs


# -- what a queue takes back


def budget(tenant):
    kubernetes.client.PolicyV1Api(tenant.client).create_namespaced_pod_disruption_budget(tenant.namespace, {
        "metadata": {"name": "all"}, "spec": {"maxUnavailable": 0, "selector": {}}})


def change(**spec):
    return lambda tenant: tenant.jobs.patch("borrows", {"spec": spec})


WAYS = {"a policy that keeps pods": ({}, change(cleanPodPolicy="None")),
        "a disruption budget": ({}, budget),
        "the highest priority": ({"priorityClassName": "system-node-critical"}, lambda tenant: None),
        "another queue": ({}, change(queue="")),
        "no retries": ({"backoffLimit": 0}, change(backoffLimit=2**31 - 1))}


@pytest.mark.parametrize("way", [
    pytest.param(way, marks=() if "policy" in way or "priority" in way else pytest.mark.extended) for way in WAYS])
def test_a_job_does_not_keep_what_the_owner_of_a_quota_takes_back_by(tenant, others, way):
    spec, act = WAYS[way]
    tenant.run("borrows", 8, **spec)
    act(tenant)
    others.create(tenant.job("owns", 8))
    others.wait_phase("owns", "Running", LONG)
    assert tenant.gpus_in_use() == 0
    assert tenant.jobs.phase("borrows") == "Created"


@pytest.mark.extended
def test_many_small_jobs_are_taken_back_as_one_large_one(tenant, others):
    for i in range(8):
        tenant.jobs.create(tenant.job(f"small-{i}", 1))
    wait_for(lambda: ((used := tenant.gpus_in_use()) == 8, used), "the node to be full", LONG)
    others.create(tenant.job("owns", 8))
    others.wait_phase("owns", "Running", LONG)
    assert tenant.gpus_in_use() == 0


@pytest.mark.extended
def test_new_jobs_and_pods_take_nothing_of_what_is_about_to_be_free(tenant, others):
    """The victim ends slowly; the tenant asks for its place meanwhile, and again."""
    body = tenant.job("borrows", 8, slow=True)
    body["spec"]["collector"]["template"]["spec"]["terminationGracePeriodSeconds"] = 3
    tenant.jobs.create(body)
    tenant.jobs.wait_phase("borrows", "Running", LONG)
    others.create(tenant.job("owns", 8))
    tenant.jobs.wait_condition("borrows", "Requeued", timeout=LONG)
    for i in range(3):
        tenant.jobs.create(tenant.job(f"again-{i}", 8, priorityClassName="system-node-critical"))
        tenant.create_pod(f"plain-{i}", 4, priorityClassName="system-node-critical")
    others.wait_phase("owns", "Running", LONG)
    assert tenant.gpus_in_use() == 0


def test_pods_cannot_be_taken_from_a_job_before_a_reclaim(tenant, others):
    """Nothing would take them back."""
    tenant.run("borrows", 4, replicas=2)
    for pod in tenant.jobs.pods("borrows", "collector"):
        change = {"metadata": {"ownerReferences": None}}
        assert "nervex-pod-marks" in refusal_of(
            tenant.core.patch_namespaced_pod, pod.metadata.name, tenant.namespace, change)
    others.create(tenant.job("owns", 8))
    others.wait_phase("owns", "Running", 15)


# -- nodes that are reserved


@pytest.fixture
def reserved(tenant, fresh_namespace, core, custom):
    """The tenant's job `runs` uses half of a node, all of which is reserved for a job of another team."""
    tenant.run("runs", 4)
    with fresh_namespace() as name:
        theirs = Jobs(core, custom, name)
        theirs.create(tenant.job("large", 8))

        def look():
            gangs = [gang for one in theirs.pod_groups("large") for gang in one.get("status", {}).get("gangs", [])]
            return any(gang.get("reservation") for gang in gangs), gangs
        wait_for(look, "the node to be reserved", LONG)
        yield theirs


def check_starts(reserved, tenant):
    tenant.jobs.delete("runs")
    reserved.wait_phase("large", "Running", LONG)


def test_a_running_job_does_not_grow_on_reserved_nodes(reserved, tenant, replicas_api):
    assert replicas_api.add(tenant.namespace, "runs-coordinator", collectors={"replicas": 1, "gpus": "1"}).json["success"]
    assert tenant.call("PATCH", tenant.path("nervexjobs", "runs/scale"), {"spec": {"replicas": 2}})[0] == 200
    tenant.wait_reason("runs", "Unschedulable")
    tenant.check_at_most(4)
    check_starts(reserved, tenant)


@pytest.mark.extended
def test_a_suspended_job_does_not_come_back_on_reserved_nodes(reserved, tenant):
    tenant.jobs.patch("runs", {"spec": {"suspend": True}})
    reserved.wait_phase("large", "Running", LONG)
    tenant.jobs.wait_condition("runs", "Suspended")
    tenant.jobs.patch("runs", {"spec": {"suspend": False}})
    tenant.wait_reason("runs", "Unschedulable")
    tenant.check_at_most(0)


@pytest.mark.extended
def test_a_time_limit_that_is_taken_away_before_the_start_gives_no_reserved_node(reserved, tenant):
    """Created with a limit and at once without: the plan is dropped if no pod is bound."""
    for i in range(3):
        tenant.jobs.create(tenant.job(f"claims-{i}", 4, activeDeadlineSeconds=1))
        tenant.jobs.patch(f"claims-{i}", {"spec": {"activeDeadlineSeconds": None, "cleanPodPolicy": "None"}})
    check_starts(reserved, tenant)


@pytest.mark.extended
def test_a_preemptible_job_that_keeps_its_pods_gives_reserved_nodes_back(reserved, tenant):
    tenant.jobs.create(tenant.job("spot", 4, preemptible=True))
    tenant.jobs.wait_phase("spot", "Running", LONG)
    tenant.jobs.patch("spot", {"spec": {"cleanPodPolicy": "None"}})
    check_starts(reserved, tenant)


def test_pods_of_many_kinds_do_not_start_on_reserved_nodes(reserved, tenant):
    labels = {"app": "other"}
    tenant.apps.create_namespaced_deployment(tenant.namespace, {
        "metadata": {"name": "other"}, "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {**tenant.pod("", 1)["spec"], "tolerations": [{"operator": "Exists"}]}}}})
    tenant.create_pod("sidecar", 0, initContainers=[{"name": "side", "image": "i", "restartPolicy": "Always",
                                                    "resources": {"limits": {GPU: "1"}}}])
    tenant.create_pod("gated", 1, schedulingGates=[{"name": "example.com/gate"}])
    tenant.core.patch_namespaced_pod("gated", tenant.namespace, {"spec": {"schedulingGates": None}})
    for name in ("sidecar", "gated"):
        tenant.wait_pod_says(name, "does not fit")
    tenant.check_at_most(4)
    check_starts(reserved, tenant)


def test_a_job_that_cannot_start_keeps_no_node_from_others(tenant, fresh_namespace, core, custom):
    """Its coordinator's name is taken by a pod of the tenant's."""
    tenant.create_pod("squats-coordinator", 0)
    tenant.jobs.create(tenant.job("squats", 8))
    wait_for(lambda: "squats-coordinator" in str(tenant.jobs.get("squats").get("status")), "the job to name the pod", LONG)
    with fresh_namespace() as name:
        theirs = Jobs(core, custom, name)
        theirs.create(tenant.job("theirs", 8))
        theirs.wait_phase("theirs", "Running", LONG)


# -- pods of others


def test_a_pod_of_the_highest_priority_evicts_no_pod_of_others(tenant, fresh_namespace, core, custom):
    with fresh_namespace() as name:
        theirs = Jobs(core, custom, name)
        theirs.create(tenant.job("theirs", 8))
        theirs.wait_phase("theirs", "Running", LONG)
        uids = {one.metadata.uid for one in theirs.pods("theirs")}
        tenant.create_pod("strong", 8, priorityClassName="system-node-critical")
        tenant.wait_pod_says("strong", "does not fit")
        always(lambda: {one.metadata.uid for one in theirs.pods("theirs")
                        if not one.metadata.deletion_timestamp} == uids, "the pods of others stay", 1.5)


@pytest.mark.extended
def test_a_job_of_the_highest_priority_evicts_no_job_without_its_queue_saying_so(tenant, queues, fresh_namespace, core, custom):
    queues.create("mine", preemption="LowerPriority", reclaim="Any", minRuntimeSeconds=0)
    with fresh_namespace() as name:
        theirs = Jobs(core, custom, name)
        theirs.create(tenant.job("theirs", 8))
        theirs.wait_phase("theirs", "Running", LONG)
        tenant.jobs.create(tenant.job("strong", 8, priorityClassName="system-node-critical"))
        tenant.wait_reason("strong", "Unschedulable")
        always(lambda: theirs.phase("theirs") == "Running", "the job of others runs", 1.5)


def test_overhead_that_no_runtime_class_has_is_refused(tenant):
    """Negative or invented overhead would falsify what a pod needs."""
    for amount in ("-4", "4"):
        body = tenant.job("odd", 1)
        body["spec"]["collector"]["template"]["spec"]["overhead"] = {"cpu": amount}
        assert "overhead" in refusal_of(tenant.jobs.create, body).lower()
        said = refusal_of(tenant.core.create_namespaced_pod, tenant.namespace, tenant.pod("odd", 1, overhead={"cpu": amount}))
        assert "overhead" in said.lower(), said


AMOUNTS = ["-1", "0.5", "1e-9", "abc", "1Ki", "1e19", ""]


def test_amounts_of_gpus_that_are_no_numbers_of_devices_are_refused(tenant):
    tenant.run("honest", 1)
    for amount in AMOUNTS:
        body = tenant.job("odd", 1)
        limits = body["spec"]["collector"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        limits[GPU] = amount
        said = refusal_of(tenant.jobs.create, body)
        if said:
            assert GPU in said, (amount, said)
            continue
        tenant.wait_reason("odd", "Unschedulable")
        tenant.jobs.delete("odd")
        wait_for(lambda: not tenant.jobs.pod_groups("odd"), "the job to go", LONG)
    tenant.check_at_most(1)


def test_devices_of_a_class_count_in_the_limit_of_their_resource(tenant, queues, devices):  # noqa: F811
    """kube-scheduler allocates them; no node lists the resource."""
    devices.add(4)
    queue = queues.create("small", limit=[{"resources": {devices.explicit: 1}}])
    tenant.jobs.create(job("devices", aggregator="OnDemand", queue=queue, learner=devices.role(2, devices.explicit)))
    message = tenant.wait_reason("devices", "LimitExceeded")
    assert devices.explicit in message
    one = {"limits": {devices.explicit: "2"}}
    tenant.create_pod("plain", 0, nodeSelector=devices.selector,
                      containers=[{"name": "main", "image": "i", "resources": one}])
    tenant.wait_pod_says("plain", "the limit of queue")
