"""A tenant with the role `edit` in one namespace tries to use more than a Queue allows, or to start before others.

Each test has a node of its own with 8 GPUs, and a queue with a limit of 4.
"""

import kubernetes
import pytest
from support.jobs import Jobs, refusal_of
from support.tenant import GPU, LONG, attempt
from support.wait import always, status_of, wait_for

LIMIT = [{"resources": {GPU: 4}}]
EXCEEDED = ("LimitExceeded", "LimitKept")


@pytest.fixture
def limited(queues):
    return queues.create("small", limit=LIMIT)


@pytest.fixture
def full(tenant, limited):
    """A job `runs` that uses the whole limit with two collectors."""
    tenant.run("runs", 2, replicas=2)
    return tenant


@pytest.fixture
def others(other_team):
    """The jobs of another team, with a quota of the whole node."""
    with other_team(8) as theirs:
        yield theirs


# -- by the choice of the queue


def test_a_job_that_names_a_queue_before_it_exists_does_not_start_in_it(tenant, queues):
    tenant.jobs.create(tenant.job("early", 2, queue=queues.name("later")))
    tenant.wait_reason("early", "QueueNotFound")
    queues.create("later", namespaceSelector={"matchLabels": {"no": "namespace"}})
    message = tenant.wait_reason("early", "NamespaceNotSelected")
    assert queues.name("later") in message
    tenant.check_at_most(0)


def test_a_running_job_that_names_another_queue_still_counts_in_the_first(full, queues, limited):
    queues.create("free")
    full.jobs.patch("runs", {"spec": {"queue": queues.name("free")}})
    full.jobs.create(full.job("more", 2, queue=limited))
    full.wait_reason("more", *EXCEEDED)
    full.check_at_most(4)


def test_a_waiting_job_does_not_move_to_a_queue_of_others(full, queues, limited):
    queues.create("closed", namespaceSelector={"matchLabels": {"no": "namespace"}})
    full.jobs.create(full.job("more", 2, queue=limited))
    full.wait_reason("more", *EXCEEDED)
    assert "spec.queue" in refusal_of(full.jobs.patch, "more", {"spec": {"queue": queues.name("closed")}})


# -- by growth


def test_more_base_replicas_stay_within_the_limit(full):
    status, _ = full.call("PATCH", full.path("nervexjobs", "runs/scale"), {"spec": {"replicas": 4}})
    assert status == 200
    full.wait_reason("runs", *EXCEEDED)
    full.check_at_most(4)


@pytest.mark.parametrize("ask", [{"replicas": 1, "gpus": "4"}, {"replicas": 3, "gpus": "1"}],
                         ids=["of more GPUs", "of fewer GPUs"])
def test_requested_replicas_stay_within_the_limit(full, replicas_api, ask):
    assert replicas_api.add(full.namespace, "runs-coordinator", collectors=ask).json["success"]
    full.wait_reason("runs", *EXCEEDED)
    full.check_at_most(4)


def test_reserved_capacity_that_is_raised_later_stays_within_the_limit(full, replicas_api):
    full.jobs.patch("runs", {"spec": {"collector": {"reservedReplicas": 4}}})
    assert replicas_api.add(full.namespace, "runs-coordinator", collectors=2).json["success"]
    full.wait_reason("runs", *EXCEEDED)
    full.check_at_most(4)


def test_a_template_does_not_grow_in_a_running_job(full):
    """Else the successor of a deleted pod would be larger than what was planned."""
    said = refusal_of(full.jobs.patch, "runs", {"spec": {"collector": {"template": full.template(4)}}})
    assert "spec.collector.template" in said, said


# -- by pods that do not end


def slow_job(tenant, limited):
    tenant.run("runs", 2, slow=True, replicas=2)
    return [one.metadata.name for one in tenant.jobs.pods("runs", "collector")]


def test_a_pod_that_takes_years_to_end_has_no_successor_beside_it(tenant, limited):
    first, _ = slow_job(tenant, limited)
    tenant.delete_slowly(first)
    wait_for(lambda: tenant.core.read_namespaced_pod(first, tenant.namespace).metadata.deletion_timestamp,
             "the pod to end")
    tenant.jobs.create(tenant.job("more", 2, queue=limited))
    tenant.wait_reason("more", *EXCEEDED)
    tenant.check_at_most(4)


def test_removed_replicas_that_still_end_count(tenant, limited, replicas_api):
    tenant.run("runs", 2, slow=True, replicas=2)
    removed = replicas_api.remove(tenant.namespace, "runs-coordinator", collectors=2)
    assert len(removed.data["collectors"]) == 2
    assert replicas_api.add(tenant.namespace, "runs-coordinator", collectors=2).json["success"]
    tenant.wait_reason("runs", *EXCEEDED)
    tenant.check_at_most(4)


@pytest.mark.extended
def test_pods_of_a_suspended_job_count_until_they_have_ended(tenant, limited):
    slow_job(tenant, limited)
    for suspend in (True, False, True, False):
        tenant.suspend("runs", suspend)
    wait_for(lambda: (tenant.jobs.get("runs")["status"].get("attempt", 0) > 1
                      or all(one.metadata.deletion_timestamp for one in tenant.jobs.pods("runs")),
                      tenant.jobs.get("runs")["status"]), "the first attempt to end", LONG)
    tenant.jobs.create(tenant.job("more", 4, queue=limited))
    tenant.wait_reason("more", *EXCEEDED)
    tenant.check_at_most(4)


@pytest.mark.parametrize("how", ["Background", "Foreground", "Orphan"])
def test_a_job_that_is_deleted_and_created_again_waits_for_its_pods(tenant, limited, how):
    slow_job(tenant, limited)
    tenant.custom.delete_namespaced_custom_object(
        "nervex.sensetime.com", "v1alpha1", tenant.namespace, "nervexjobs", "runs", propagation_policy=how)
    tenant.jobs.create(tenant.job("again", 2, queue=limited))
    tenant.wait_reason("again", *EXCEEDED)
    tenant.check_at_most(4)


def test_failed_reports_make_no_pod_beside_one_that_does_not_end(tenant, limited, replicas_api):
    names = slow_job(tenant, limited)
    said = replicas_api.replace(tenant.namespace, "runs-coordinator", collectors=names)
    assert said.json["success"], said
    wait_for(lambda: all(tenant.core.read_namespaced_pod(one, tenant.namespace).metadata.deletion_timestamp
                         for one in names), "the pods to end")
    tenant.check_at_most(4, 1)


# -- by pods without their owner


def test_a_pod_without_its_owner_counts_beside_its_successor(full, limited):
    """The owner may be taken off by all who may change the pod; then the job makes a new one."""
    for pod in full.jobs.pods("runs", "collector"):
        full.detach(pod.metadata.name)
    wait_for(lambda: (len(full.jobs.pods("runs", "collector")) > 2
                      or full.jobs.condition("runs", "Ready")["status"] != "True",
                      full.jobs.get("runs")["status"]), "the job to lose its pods", LONG)
    full.check_at_most(4, 1.5)


def test_a_coordinator_without_its_owner_gives_its_job_no_second_share(full):
    full.detach("runs-coordinator")
    wait_for(lambda: (full.jobs.get("runs")["status"].get("attempt", 0) > 1 or full.jobs.phase("runs") != "Running",
                      full.jobs.get("runs")["status"]), "the job to lose its coordinator", LONG)
    full.check_at_most(4, 1.5)


# -- by amounts


def test_amounts_beyond_any_number_in_several_containers_do_not_lower_the_use(full, limited):
    """The sum of two would be negative. Bound by its node name, so that no scheduler judges it."""
    many = {"name": "main", "image": "i", "resources": {"limits": {GPU: str(2**62)}}}
    full.create_pod("huge", 0, nodeName=full.node, containers=[{**many, "name": f"c{i}"} for i in range(3)])
    full.jobs.create(full.job("more", 1, queue=limited))
    full.wait_reason("more", *EXCEEDED)
    full.core.delete_namespaced_pod("huge", full.namespace, grace_period_seconds=0)
    full.check_at_most(4)


def test_a_gang_of_amounts_beyond_any_number_waits_and_says_why(tenant, limited):
    tenant.jobs.create(tenant.job("huge", 2**61, replicas=4096, queue=limited))
    tenant.wait_reason("huge", "LimitExceeded", "Unschedulable")
    tenant.jobs.create(tenant.job("small", 4, queue=limited))
    tenant.jobs.wait_phase("small", "Running", LONG)
    tenant.check_at_most(4)


def one_with(**resources):
    return {"name": "main", "image": "i", "resources": resources}


SHAPES = {
    "sidecars": {"initContainers": [{**one_with(limits={GPU: "3"}), "name": "side", "restartPolicy": "Always"}],
                 "containers": [one_with(limits={GPU: "2"})]},
    "init containers": {"initContainers": [{**one_with(limits={GPU: "5"}), "name": "first"}],
                        "containers": [one_with()]},
    "many small containers": {"containers": [{**one_with(limits={GPU: "1"}), "name": f"c{i}"} for i in range(5)]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_pod_is_counted_with_all_its_containers(tenant, limited, shape):
    tenant.core.create_namespaced_pod(tenant.namespace, tenant.pod("asks", 0, **SHAPES[shape]))
    tenant.wait_pod_says("asks", "the limit of queue")
    tenant.check_at_most(0)


def test_a_pod_is_counted_with_the_resources_of_the_pod_as_a_whole(tenant, queues):
    queues.create("small", limit=[{"resources": {"cpu": 4}}])
    tenant.create_pod("asks", 0, resources={"requests": {"cpu": "5"}, "limits": {"cpu": "5"}})
    tenant.wait_pod_says("asks", "the limit of queue")


# -- by many or changing pods


def test_replicas_of_a_deployment_stay_within_the_limit(tenant, limited):
    labels = {"app": "many"}
    tenant.apps.create_namespaced_deployment(tenant.namespace, {
        "metadata": {"name": "many"}, "spec": {"replicas": 12, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": tenant.pod("", 1)["spec"]}}})
    wait_for(lambda: ((used := tenant.gpus_in_use()) == 4, used), "the limit to be used", LONG)
    tenant.check_at_most(4, 1)


def test_gates_that_are_all_removed_at_once_open_no_way_around_the_limit(tenant, limited):
    names = [f"gated-{i}" for i in range(6)]
    for name in names:
        tenant.create_pod(name, 2, schedulingGates=[{"name": "example.com/gate"}])
    tenant.check_at_most(0)
    for name in names:
        tenant.core.patch_namespaced_pod(name, tenant.namespace, {"spec": {"schedulingGates": None}})
    wait_for(lambda: ((used := tenant.gpus_in_use()) == 4, used), "the limit to be used", LONG)
    tenant.check_at_most(4)


def test_a_bound_pod_that_joins_a_gang_of_another_operator_still_counts(tenant, limited):
    tenant.create_pod("first", 4)
    tenant.wait_bound("first")
    tenant.core.patch_namespaced_pod("first", tenant.namespace, {"metadata": {
        "labels": {"scheduling.x-k8s.io/pod-group": "hides"}}})
    tenant.create_pod("second", 1)
    tenant.wait_pod_says("second", "the limit of queue")
    tenant.core.patch_namespaced_pod("first", tenant.namespace, {"metadata": {
        "labels": {"scheduling.x-k8s.io/pod-group": None}}})
    tenant.create_pod("third", 1)
    tenant.wait_pod_says("third", "the limit of queue")
    tenant.check_at_most(4)


@pytest.mark.extended
def test_jobs_that_come_and_go_quickly_under_one_name_stay_within_the_limit(tenant, limited):
    for i in range(12):
        with attempt("create"):
            tenant.jobs.create(tenant.job("blink", 2, slow=i % 2 == 0, queue=limited))
        tenant.check_at_most(4, 0.2)
        with attempt("delete"):
            tenant.jobs.delete("blink")
    tenant.check_at_most(4)


# -- by a better turn


def test_a_priority_does_not_beat_the_quota_of_others(tenant, queues, others):
    """`system-node-critical` may be named in every namespace."""
    queues.create("mine")
    tenant.run("blocks", 8, queue=queues.name("mine"))
    tenant.jobs.create(tenant.job("first", 8, queue=queues.name("mine"), priorityClassName="system-node-critical"))
    tenant.wait_reason("first", "Unschedulable")
    others.create(tenant.job("theirs", 8))
    wait_for(lambda: (others.condition("theirs", "Scheduled") or {}).get("reason") == "Unschedulable", "it to wait", LONG)
    tenant.jobs.delete("blocks")
    others.wait_phase("theirs", "Running", LONG)
    assert tenant.jobs.phase("first") == "Created"


@pytest.mark.extended
def test_a_suspended_job_keeps_no_place_in_the_queue(tenant, limited):
    tenant.jobs.create(tenant.job("early", 4, suspend=True, queue=limited))
    tenant.run("blocks", 4, queue=limited)
    always(lambda: tenant.jobs.phase("early") != "Running", "the suspended job does not run", 1.1)  # times have seconds
    tenant.jobs.create(tenant.job("honest", 4, queue=limited))
    tenant.wait_reason("honest", *EXCEEDED)
    always(lambda: tenant.jobs.phase("honest") == "Created", "it waits", 1.1)
    tenant.jobs.patch("early", {"spec": {"suspend": False}})
    tenant.wait_reason("early", *EXCEEDED)
    tenant.jobs.delete("blocks")
    tenant.jobs.wait_phase("honest", "Running", LONG)
    assert tenant.jobs.phase("early") == "Created"


def test_many_accounts_of_one_namespace_are_one_user(tenant, queues, core):
    """`edit` may impersonate each ServiceAccount of its namespace."""
    queues.create("team", fairUsers=True)
    queue = queues.name("team")
    tenant.run("uses", 4, queue=queue)
    tenant.run("blocks", 4, queue=queue)
    made = [f"other-{i}" for i in range(3)]
    for name in made:
        core.create_namespaced_service_account(tenant.namespace, {"metadata": {"name": name}})
    kubernetes.client.RbacAuthorizationV1Api(core.api_client).create_namespaced_role_binding(tenant.namespace, {
        "metadata": {"name": "all"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                                 "name": "edit"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": tenant.namespace} for name in made]})
    for name in made:
        as_other = kubernetes.client.ApiClient(tenant.client.configuration)
        as_other.set_default_header("Impersonate-User", f"system:serviceaccount:{tenant.namespace}:{name}")
        theirs = Jobs(None, kubernetes.client.CustomObjectsApi(as_other), tenant.namespace)
        wait_for(lambda theirs=theirs, name=name: theirs.create(tenant.job(name, 4, queue=queue)),
                 "the account to be allowed", not_yet=[lambda error: status_of(error) in (403, 422)])
        tenant.wait_reason(name, "Unschedulable")
    admin = Jobs(core, kubernetes.client.CustomObjectsApi(core.api_client), tenant.namespace)
    admin.create(tenant.job("hers", 4, queue=queue))
    wait_for(lambda: (admin.condition("hers", "Scheduled") or {}).get("reason") == "Unschedulable", "it to wait", LONG)
    tenant.jobs.delete("blocks")
    admin.wait_phase("hers", "Running", LONG)
    assert not [name for name in made if tenant.jobs.phase(name) == "Running"]


def test_the_name_of_another_user_in_a_job_is_not_believed(tenant, queues):
    mark = "nervex.sensetime.com/submitted-by"
    body = tenant.job("claims", 1, suspend=True)
    body["metadata"]["annotations"] = {mark: "ada"}
    tenant.jobs.create(body)
    for annotations in ({mark: "ada"}, {mark: None}):
        tenant.jobs.patch("claims", {"metadata": {"annotations": annotations}})
        assert tenant.namespace in tenant.jobs.get("claims")["metadata"]["annotations"][mark]
