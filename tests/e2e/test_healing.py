"""A committed gang that loses pods, or whose pods cannot be bound, is healed; or, if that takes too long, the whole
gang is requeued (docs/adr/2026-11-22-healing.md). Each test has separate nodes."""

import pytest
from tools.cluster import kubelet, pod_groups
from support import nodes
from support.extender import extender_with
from support.jobs import GROUP, VERSION, job, template
from support.wait import always, wait_for

pytestmark = pytest.mark.long

NAME = "heals"
SERVER = "system:serviceaccount:nervex-system:nervex-server"
HELD = "example.com/kept"
QUICK = "--bind-deadline=2s --node-lost-after=2s --healing-deadline=8s"


@pytest.fixture
def healing(quick, programs):
    """The cluster with those deadlines, and every program running when the test ends."""
    return programs


@pytest.fixture
def pair(target):
    """Two nodes for this test, with 1 and 2 GPUs: a pod with 1 GPU goes to the first, which it fills."""
    api = target.cluster.api()
    with nodes.own_node(api, 1) as small, nodes.own_node(api, 2) as large:
        nodes.wait_usable(api, [small, large])
        yield small, large


def on(names, gpus=1, stages=None, **pod_spec):
    """A template whose pods may only go to these nodes."""
    terms = [{"matchExpressions": [{"key": nodes.OWN, "operator": "In", "values": list(names)}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    one = template(gpus=gpus, affinity=affinity, **pod_spec)
    if stages:
        one["metadata"] = {"annotations": kubelet.annotations(**stages)}
    return one


def node_of(jobs, role="collector"):
    return [pod.spec.node_name for pod in jobs.pods(NAME, role)]


def wait_node(jobs, node, role="collector"):
    """Waits until the role's only pod runs there."""
    def look():
        seen = [(pod.spec.node_name, pod.status.phase, pod.metadata.deletion_timestamp) for pod in jobs.pods(NAME, role)]
        return seen == [(node, "Running", None)], seen
    wait_for(look, f"the {role} to run on {node}")


def start(jobs, pods, **spec):
    jobs.create(job(NAME, **spec))
    jobs.wait_pods(NAME, pods, "Running")
    jobs.wait_phase(NAME, "Running")
    wait_for(lambda: (all(gang["committed"] for gang in gangs(jobs)), gangs(jobs)), "its gang to be committed")


def gangs(jobs):
    (group,) = jobs.pod_groups(NAME)
    return group["status"]["gangs"]


def gang(jobs, name="base"):
    return next((one for one in gangs(jobs) if one["name"] == name), None)


def planned_node(jobs, role="collector"):
    (group,) = jobs.pod_groups(NAME)
    found = [one["node"] for one in pod_groups.placements(group) if one["role"] == role]
    return found[0] if found else None


def status(jobs):
    return jobs.get(NAME)["status"]


# -- before the bind


@pytest.fixture
def unbound(jobs, core, healing, pair):
    """A committed gang whose collector is replaced while no scheduler binds: the node of its plan, and the other one."""
    start(jobs, 3, collector={"replicas": 1, "template": on(pair)})
    return replace_unbound(jobs, core, healing, pair)


def replace_unbound(jobs, core, healing, pair):
    """Deletes the collector, and waits for its successor, which is not bound: the scheduler is stopped. Returns the node
    of its plan, and the other one of the pair."""
    healing.stop("scheduler")
    (before,) = jobs.pods(NAME, "collector")
    core.delete_namespaced_pod(before.metadata.name, jobs.namespace)

    def look():
        now = [pod for pod in jobs.pods(NAME, "collector") if pod.metadata.uid != before.metadata.uid]
        return len(now) == 1, [pod.metadata.name for pod in now]
    wait_for(look, "its successor")
    planned = planned_node(jobs)
    (other,) = set(pair) - {planned}
    return planned, other


@pytest.mark.parametrize("change", [
    pytest.param({"spec": {"unschedulable": True}}, id="cordoned"),
    pytest.param({"spec": {"taints": [{"key": "mine", "value": "yes", "effect": "NoSchedule"}]}}, id="tainted"),
])
def test_a_slot_moves_when_its_node_is_cordoned_or_tainted_before_the_bind(jobs, healing, unbound, observer, change):
    planned, other = unbound
    others = {pod.metadata.uid for pod in jobs.pods(NAME) if pod.metadata.labels["replica-type"] != "collector"}
    healing.api().patch(f"/api/v1/nodes/{planned}", change)
    wait_for(lambda: (planned_node(jobs) == other, gang(jobs)), "another place")
    healing.start("scheduler")
    wait_node(jobs, other)
    assert others < {pod.metadata.uid for pod in jobs.pods(NAME)}, "what runs is kept"
    assert status(jobs)["attempt"] == 1
    observer.catch_up()
    assert observer.broken == []


@pytest.mark.versions
def test_a_pod_that_kube_scheduler_refuses_gets_another_node(jobs, healing, core, namespace, pair):
    """Another owner's pod uses a port there, unknown to the planner."""
    spec = on(pair)
    spec["spec"]["containers"][0]["ports"][0]["hostPort"] = 7171
    start(jobs, 3, collector={"replicas": 1, "template": spec})
    planned, other = replace_unbound(jobs, core, healing, pair)
    thief = template(cpu="10m")["spec"]
    thief["containers"][0]["ports"][0]["hostPort"] = 7171
    core.create_namespaced_pod(namespace, {"metadata": {"name": "thief"}, "spec": {**thief, "nodeName": planned}})
    wait_for(lambda: core.read_namespaced_pod("thief", namespace).status.phase == "Running", "the thief to run")
    healing.start("scheduler")
    wait_for(lambda: jobs.pods(NAME, "collector")[0].status.conditions, "kube-scheduler to refuse it")
    wait_node(jobs, other)
    assert status(jobs)["attempt"] == 1


# -- after the bind


@pytest.mark.versions
@pytest.mark.parametrize("how", ["deleted", "not ready"])
def test_a_pod_on_a_lost_node_is_replaced_at_once(jobs, healing, core, observer, pair, how):
    small, large = pair
    start(jobs, 3, collector={"replicas": 1, "template": on(pair)})
    others = {pod.metadata.uid for pod in jobs.pods(NAME) if pod.metadata.labels["replica-type"] != "collector"}
    if how == "deleted":
        core.delete_node(small)
    else:
        kubelet.set_node_ready(healing.api(), small, False)
    wait_node(jobs, large)
    assert f"its node {small} is lost" in jobs.wait_event(NAME, "PodsLost").message
    assert others < {pod.metadata.uid for pod in jobs.pods(NAME)}, "what runs is kept"
    assert status(jobs)["attempt"] == 1
    wait_for(lambda: ("healingSince" not in gang(jobs), gang(jobs)), "the gang to be whole again")
    observer.catch_up()
    assert observer.broken == []


def test_a_node_is_lost_later_or_never_to_pods_whose_template_tolerates_that(
        jobs, healing, core, observer, pair):
    """Both roles are on the node that is away: the role without a toleration leaves it. The 300 s that admission
    adds to every pod do not count, nor does a toleration of all taints."""
    small, large = pair
    lasts = {"effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 3600}
    named = [{"key": f"node.kubernetes.io/{state}", **lasts} for state in ("not-ready", "unreachable")]
    start(jobs, 4, collector={"replicas": 1, "template": on(pair, tolerations=[{"operator": "Exists"}])},
          learner={"replicas": 1, "template": on([small], gpus=0, tolerations=named)})
    (learner,) = jobs.pods(NAME, "learner")
    assert (node_of(jobs), node_of(jobs, "learner")) == ([small], [small])
    kubelet.set_node_ready(healing.api(), small, False)
    wait_node(jobs, large)

    def stays():
        (now,) = jobs.pods(NAME, "learner")
        is_same = now.metadata.uid == learner.metadata.uid and not now.metadata.deletion_timestamp
        return is_same and status(jobs)["attempt"] == 1, now
    always(stays, "the learner stays, beyond the limit and the healing deadline", 10)
    wait_for(lambda: ("healingSince" not in gang(jobs), gang(jobs)), "the gang to be whole")

    core.delete_node(small)
    wait_for(lambda: learner.metadata.uid not in {pod.metadata.uid for pod in jobs.pods(NAME, "learner")},
             "the learner to be removed with its node")
    observer.catch_up()
    assert observer.broken == []


def test_a_pod_stuck_terminating_on_a_dead_node_is_force_deleted(jobs, healing, core, namespace, pair):
    small, large = pair
    slow = on(pair, stages={"terminates": "slowly"}, terminationGracePeriodSeconds=3600)
    start(jobs, 3, collector={"replicas": 1, "template": slow})
    (before,) = jobs.pods(NAME, "collector")
    core.delete_namespaced_pod(before.metadata.name, namespace)
    always(lambda: before.metadata.uid in {pod.metadata.uid for pod in jobs.pods(NAME, "collector")}, "it takes its time")
    kubelet.set_node_ready(healing.api(), small, False)
    wait_node(jobs, large)


def test_a_pod_that_ends_slowly_is_waited_for(jobs, healing, core, namespace, pair):
    """A drain with a grace period longer than the healing deadline: running pods are kept."""
    _, large = pair
    slow = on(pair, stages={"terminates": "slowly"}, terminationGracePeriodSeconds=3600)
    start(jobs, 3, collector={"replicas": 1, "template": slow})
    (before,) = jobs.pods(NAME, "collector")
    others = {pod.metadata.uid for pod in jobs.pods(NAME)} - {before.metadata.uid}
    core.delete_namespaced_pod(before.metadata.name, namespace)
    waits = f"collector/0 waits until pod {before.metadata.name} has ended (terminating until 20"

    def told():
        said = jobs.condition(NAME, "Scheduled")
        return said["status"] == "False" and said["message"].startswith(waits), said
    wait_for(told, "the job to say what it waits for")
    always(lambda: (told()[0] and status(jobs)["attempt"] == 1, status(jobs)), "it waits beyond the deadline", 10)
    core.delete_namespaced_pod(before.metadata.name, namespace, grace_period_seconds=0)
    wait_node(jobs, large)
    assert others < {pod.metadata.uid for pod in jobs.pods(NAME)}
    assert status(jobs)["attempt"] == 1
    wait_for(lambda: ("healingSince" not in gang(jobs), gang(jobs)), "the gang to be whole again")


def hold(core, namespace, pod):
    """A finalizer of another program, which keeps the pod after its deletion."""
    core.patch_namespaced_pod(pod, namespace, {"metadata": {"finalizers": [HELD]}})
    core.delete_namespaced_pod(pod, namespace)


def release(core, namespace, pod):
    core.patch_namespaced_pod(pod, namespace, {"metadata": {"finalizers": None}})


def wait_named(jobs, condition, pod):
    """The controller gives the kubelet half a minute."""
    parts = (f"pod {pod.metadata.name} ", f"on node {pod.spec.node_name}", "should have ended at 20", f"finalizer {HELD} keeps it")

    def look():
        said = jobs.condition(NAME, condition)
        return said["status"] == "False" and all(part in said["message"] for part in parts), said
    wait_for(look, f"{condition} to name the pod and its finalizer", 90)


def test_a_job_runs_on_without_collector_and_aggregator_that_a_foreign_finalizer_keeps(jobs, healing, core, namespace, pair):
    start(jobs, 3, collector={"replicas": 1, "template": on(pair)})
    (collector,), (aggregator,) = jobs.pods(NAME, "collector"), jobs.pods(NAME, "aggregator")
    for pod in (collector, aggregator):
        hold(core, namespace, pod.metadata.name)
    wait_named(jobs, "Scheduled", collector)
    wait_named(jobs, "Ready", aggregator)
    assert (status(jobs)["phase"], status(jobs)["attempt"]) == ("Running", 1)
    for pod in (collector, aggregator):
        release(core, namespace, pod.metadata.name)
    jobs.wait_condition(NAME, "Scheduled")
    jobs.wait_condition(NAME, "Ready")
    assert status(jobs)["attempt"] == 1
    assert not {collector.metadata.uid, aggregator.metadata.uid} & {pod.metadata.uid for pod in jobs.wait_pods(NAME, 3, "Running")}


def test_a_job_whose_learner_a_foreign_finalizer_keeps_is_requeued_and_waits_for_it(jobs, healing, core, namespace, pair):
    start(jobs, 3, learner={"replicas": 1, "template": on(pair)})
    (learner,) = jobs.pods(NAME, "learner")
    hold(core, namespace, learner.metadata.name)
    assert jobs.wait_condition(NAME, "Requeued")["reason"] == "HealingDeadlineExceeded"
    wait_named(jobs, "Scheduled", learner)
    assert status(jobs)["reason"] == "PreviousAttemptTerminating"
    release(core, namespace, learner.metadata.name)
    jobs.wait_phase(NAME, "Running")
    assert status(jobs)["attempt"] == 2


def test_a_lost_coordinator_s_job_begins_again_though_its_pod_never_ends(jobs, healing, own_node):
    """The next attempt needs its name."""
    slow = on([own_node], gpus=0, stages={"terminates": "slowly"}, terminationGracePeriodSeconds=3600)
    start(jobs, 2, coordinator={"template": slow})
    kubelet.set_node_ready(healing.api(), own_node, False)
    wait_for(lambda: (status(jobs)["attempt"] == 2, status(jobs)), "the next attempt")
    assert status(jobs)["lastAttempt"]["reason"] == "NodeLost"
    jobs.wait_pods(NAME, 0)
    kubelet.set_node_ready(healing.api(), own_node, True)
    jobs.wait_pods(NAME, 2, "Running")
    assert not status(jobs).get("failedAttempts")


def test_a_node_whose_kubelet_rejects_a_pod_is_not_chosen_again(jobs, healing, pair):
    small, large = pair
    rejected = on(pair, stages={"rejected_on": small})
    jobs.create(job(NAME, collector={"replicas": 1, "template": rejected}))
    wait_node(jobs, large)
    jobs.wait_phase(NAME, "Running")
    assert status(jobs)["replaced"] == [{"role": "collector", "ordinal": 0, "incarnation": 1}]


# -- not whole in time


def test_a_gang_that_cannot_be_healed_is_requeued_and_starts_when_it_fits(
        jobs, healing, observer, nervexctl, own_node):
    start(jobs, 3, collector={"replicas": 1, "template": on([own_node], gpus=0)})
    first = {pod.metadata.uid for pod in jobs.pods(NAME)}
    kubelet.set_node_ready(healing.api(), own_node, False)

    def told():
        said = jobs.condition(NAME, "Scheduled")
        message = said["message"]
        is_told = "lost its node" in message and "then the gang is requeued" in message
        return said["status"] == "False" and is_told, said
    said = wait_for(told, "the job to say why it is not whole") and jobs.condition(NAME, "Scheduled")
    assert f"collector/0 lost its node {own_node} (not Ready since 20" in said["message"], said
    assert "a new place is searched until 20" in said["message"], said
    shown = nervexctl("explain", NAME, "-n", jobs.namespace).stdout
    assert f"collector/0 lost its node {own_node}" in shown, shown
    assert jobs.phase(NAME) == "Running", "the others go on so far"

    requeued = jobs.wait_condition(NAME, "Requeued")
    assert requeued["reason"] == "HealingDeadlineExceeded", requeued
    assert f"collector/0 lost its node {own_node}" in requeued["message"]
    jobs.wait_pods(NAME, 0)
    now = status(jobs)
    assert (now["phase"], now["attempt"], now.get("failedAttempts", 0)) == ("Created", 2, 0)
    always(lambda: not jobs.pods(NAME), "a waiting gang without pods")

    kubelet.set_node_ready(healing.api(), own_node, True)
    jobs.wait_phase(NAME, "Running")
    assert not first & {pod.metadata.uid for pod in jobs.wait_pods(NAME, 3, "Running")}
    assert status(jobs)["attempt"] == 2
    observer.catch_up()
    assert observer.broken == []


def slots_of(pods):
    key, incarnation = "nervex.sensetime.com/slot", "nervex.sensetime.com/incarnation"
    return sorted((pod.metadata.annotations[key], pod.metadata.annotations[incarnation]) for pod in pods)


def test_a_request_that_cannot_be_healed_is_requeued_alone(
        jobs, healing, replicas_api, namespace, observer, pair):
    small, _ = pair
    start(jobs, 2, collector={"template": on(pair)})
    coordinator = jobs.pods(NAME, "coordinator")[0].metadata.uid
    assert replicas_api.add(namespace, f"{NAME}-coordinator", collectors=3).status == 200
    jobs.wait_pods(NAME, 5, "Running")
    kubelet.set_node_ready(healing.api(), small, False)

    told = jobs.wait_event(NAME, "Requeued").message
    assert "request-1 is requeued" in told and f"lost its node {small}" in told, told
    jobs.wait_pods(NAME, 2, "Running")
    waits = jobs.wait_condition(NAME, "RequestsScheduled", "False")
    assert waits["reason"] in ("BackOff", "Unschedulable"), waits
    always(lambda: len(jobs.pods(NAME)) == 2, "nothing of the request while it waits")

    kubelet.set_node_ready(healing.api(), small, True)
    pods = jobs.wait_pods(NAME, 3, "Running", role="collector")
    assert all(incarnation != "0" for _, incarnation in slots_of(pods)), "bound pods get no second life"
    assert jobs.pods(NAME, "coordinator")[0].metadata.uid == coordinator
    assert status(jobs)["attempt"] == 1
    observer.catch_up()
    assert observer.broken == []


@pytest.mark.extended
def test_a_multi_gpu_learner_that_cannot_be_healed_is_requeued_as_one(jobs, healing, pair):
    small, _ = pair
    start(jobs, 2, learner={"template": on(pair)})
    requests = {"next": {"collector": 4096, "learner": 4097}, "nextId": 2, "base": [], "entries": [
        {"id": 1, "attempt": 1, "role": "learner", "resources": {"gpus": "3"}, "gpuSplit": [1, 2],
         "slots": [{"ordinal": 4096, "incarnation": 0}]}]}
    jobs.custom.api_client.call_api(
        f"/apis/{GROUP}/{VERSION}/namespaces/{jobs.namespace}/nervexjobs/{NAME}", "PATCH",
        body={"spec": {"requests": requests}},
        header_params={"Content-Type": "application/merge-patch+json", "Accept": "application/json",
                       "Impersonate-User": SERVER},
        auth_settings=["BearerToken"], response_type="object", _return_http_data_only=True)
    jobs.wait_pods(NAME, 5, "Running")
    kubelet.set_node_ready(healing.api(), small, False)
    assert "learner 4096 of request-1 is requeued" in jobs.wait_event(NAME, "Requeued").message
    jobs.wait_pods(NAME, 2, "Running")
    always(lambda: len(jobs.pods(NAME)) == 2, "nothing of the learner while it waits")
    kubelet.set_node_ready(healing.api(), small, True)
    pods = jobs.wait_pods(NAME, 5, "Running")
    assert len([pod for pod in pods if pod.metadata.labels["replica-type"] == "ddp-learner"]) == 2
    assert status(jobs)["attempt"] == 1


def test_a_pod_group_keeps_its_healing_time_over_a_restart(jobs, healing, own_node):
    start(jobs, 3, collector={"replicas": 1, "template": on([own_node], gpus=0)})
    kubelet.set_node_ready(healing.api(), own_node, False)
    wait_for(lambda: ("healingSince" in gang(jobs), gang(jobs)), "the gang to be healed")
    since = gang(jobs)["healingSince"]
    healing.restart("extender")
    wait_for(lambda: status(jobs)["attempt"] == 2 or (gang(jobs) or {}).get("healingSince", since) == since, "the same")
    jobs.wait_condition(NAME, "Requeued")


# -- turned off


def test_node_lost_after_0_turns_off_lost_nodes(jobs, target, programs, pair):
    small, _ = pair
    with extender_with(target.cluster, "--node-lost-after=0s"):
        start(jobs, 3, collector={"replicas": 1, "template": on(pair)})
        before = {pod.metadata.uid for pod in jobs.pods(NAME)}
        kubelet.set_node_ready(programs.api(), small, False)
        always(lambda: {pod.metadata.uid for pod in jobs.pods(NAME)} == before, "the same pods")
        kubelet.set_node_ready(programs.api(), small, True)
