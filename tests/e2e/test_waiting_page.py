"""docs/tasks/debug-a-waiting-job.md shows what users read while a job waits. Each situation is created here on a real
control plane, and the output of job, PodGroup and `nervexctl explain` is compared with the page. To renew the page,
without workers:

    NERVEX_RENEW_GOLDEN=1 $(scripts/setup --print-venv)/bin/pytest tests/e2e/test_waiting_page.py
"""

import contextlib
import dataclasses
import os
import typing
import uuid

import pytest
from tools.cluster import kubelet
from support import nodes, waiting
from support.extender import extender_with
from support.jobs import GROUP, VERSION, job, template
from support.wait import wait_for

NAME = "train"
COORDINATOR = f"{NAME}-coordinator"
ZONE = "topology.kubernetes.io/zone"
PAUSE = "registry.k8s.io/pause:3.10"
# Deadlines that a test can wait for.
QUICK = "--hold-deadline=2s --plan-deadline=3s --bind-deadline=2s --node-lost-after=2s"


@dataclasses.dataclass
class Situation:
    title: str
    reason: str  # of the job, when it has settled
    says: str  # in the condition's message, then
    condition: str = "Scheduled"
    gang: str = "base"
    make: typing.Callable = None


SITUATIONS = []
QUEUES = (GROUP, VERSION, "queues")


def situation(title, reason, says, **more):
    def register(make):
        SITUATIONS.append(Situation(title, reason, says, make=make, **more))
        return make
    return register


class World:
    """The parts of a situation. `end` removes what it adds to the cluster."""

    def __init__(self, cluster, programs, jobs, core, namespace, replicas_api, node_agent, end):
        self.cluster, self.programs, self.jobs, self.core, self.namespace = cluster, programs, jobs, core, namespace
        self.replicas_api, self.node_agent, self.end = replicas_api, node_agent, end
        self.api = cluster.api()
        self.pool, self.nodes = f"own-{uuid.uuid4().hex[:6]}", []

    def node(self, gpus=0, labels=None):
        """Adds a node for the situation; usable when this returns."""
        name = f"{self.pool}-{len(self.nodes)}"
        self.nodes.append(name)
        self.end.callback(nodes.remove, self.api, name)
        nodes.add(self.api, name, gpus, {**(labels or {}), nodes.OWN: self.pool})

        def look():
            one = self.api.get(f"/api/v1/nodes/{name}")
            ready = [c["status"] for c in one["status"].get("conditions", []) if c["type"] == "Ready"]
            return ready == ["True"] and not one["spec"].get("taints"), one
        wait_for(look, f"node {name} to be usable")
        return name

    def change_node(self, name, spec):
        self.api.call("PATCH", f"/api/v1/nodes/{name}", {"spec": spec}, "application/merge-patch+json")

    def queue(self, name, **spec):
        """A Queue for all namespaces, unless `spec` says otherwise."""
        self.jobs.custom.create_cluster_custom_object(*QUEUES, {
            "apiVersion": f"{GROUP}/{VERSION}", "kind": "Queue", "metadata": {"name": name},
            "spec": {"namespaceSelector": {}, **spec}})
        self.end.callback(self.jobs.custom.delete_cluster_custom_object, *QUEUES, name)

    def change_queue(self, name, **spec):
        path = f"/apis/{GROUP}/{VERSION}/queues/{name}"
        self.api.call("PATCH", path, {"spec": spec}, "application/merge-patch+json")

    def own(self, selector=(), **values):
        """A template whose pods go to these nodes."""
        return template(nodeSelector={nodes.OWN: self.pool, **dict(selector)}, **values)

    def occupy(self, node, name="other", labels=None, port=None, **requests):
        """A pod of another owner runs on that node."""
        container = {"name": "main", "image": PAUSE, "resources": {"limits": {
            key.replace("gpus", "nvidia.com/gpu"): str(value) for key, value in requests.items()}}}
        if port:
            container["ports"] = [{"containerPort": port, "hostPort": port}]
        self.core.create_namespaced_pod(self.namespace, {
            "metadata": {"name": name, "labels": labels or {}}, "spec": {"nodeName": node, "containers": [container]}})
        wait_for(lambda: self.core.read_namespaced_pod(name, self.namespace).status.phase == "Running", f"pod {name}")

    def run(self, **spec):
        """The job, running."""
        self.jobs.create(job(NAME, **spec))
        self.jobs.wait_phase(NAME, "Running")
        wait_for(lambda: all(gang["committed"] for gang in self.jobs.pod_groups(NAME)[0]["status"]["gangs"]),
                 "its gang to be committed")


def learners(count, body, **more):
    return job(NAME, learner={"replicas": count, "template": body}, **more)


def collectors(count, body, **more):
    return job(NAME, collector={"replicas": count, "template": body}, **more)


# -- capacity


@situation("Too few GPUs are free", "Unschedulable", "learner")
def too_few(w):
    w.occupy(w.node(8), gpus=8)
    w.node(8)
    w.jobs.create(learners(3, w.own(gpus=4)))


@situation("A pod is larger than every node", "Unschedulable", "can never")
def larger_than_nodes(w):
    w.node(8)
    w.jobs.create(learners(1, w.own(gpus=16)))


@situation("Each pod fits, but not all of them", "Unschedulable", "can never")
def not_together(w):
    w.node(8)
    w.jobs.create(learners(3, w.own(gpus=4)))


@situation("Each role fits, but not beside the others", "Unschedulable", "beside the rest")
def not_beside_others(w):
    w.node(8)
    w.jobs.create(job(NAME, learner={"replicas": 1, "template": w.own(gpus=8)},
                      collector={"replicas": 2, "template": w.own(gpus=4)}))


@situation("Reserved capacity does not fit", "Unschedulable", "reservedReplicas")
def reserved(w):
    w.occupy(w.node(8), gpus=4)
    w.jobs.create(job(NAME, learner={"reservedReplicas": 2, "template": w.own(gpus=4)}))


@situation("Another job has reserved the capacity", "Unschedulable", "learner")
def reserved_by_another(w):
    w.node(8)
    w.jobs.create(job("other", learner={"reservedReplicas": 2, "template": w.own(gpus=4)}))
    w.jobs.wait_phase("other", "Running")
    w.jobs.create(learners(1, w.own(gpus=4)))


@situation("A LimitRange enlarges the pods", "Unschedulable", "collector")
def enlarged(w):
    w.core.create_namespaced_limit_range(w.namespace, {
        "metadata": {"name": "defaults"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "40"}}]}})
    w.node()
    body = w.own()
    body["spec"]["containers"][0]["resources"] = {}
    w.jobs.create(collectors(2, body))


# -- nodes


@situation("No node has the label", "Unschedulable", "no node")
def no_label(w):
    w.jobs.create(learners(1, template(nodeSelector={"gpu-type": "h200"})))


@situation("A taint is not tolerated", "Unschedulable", "no node")
def tainted(w):
    w.change_node(w.node(8), {"taints": [{"key": "team", "value": "b", "effect": "NoSchedule"}]})
    w.jobs.create(learners(1, w.own(gpus=1)))


@situation("All nodes are cordoned or not ready", "Unschedulable", "no node")
def cordoned(w):
    w.change_node(w.node(8), {"unschedulable": True})
    kubelet.set_node_ready(w.api, w.node(8), False)
    w.jobs.create(learners(1, w.own(gpus=1)))


@situation("A host port is taken", "Unschedulable", "hostPort")
def host_port(w):
    w.occupy(w.node(), port=8080)
    body = w.own()
    body["spec"]["containers"][0]["ports"].append({"name": "data", "containerPort": 9000, "hostPort": 8080})
    w.jobs.create(collectors(1, body))


@situation("More pods than zones", "Unschedulable", "can never")
def zones(w):
    for zone in ("a", "b"):
        w.node(labels={ZONE: zone})
    body = w.own(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "apart"}}, "topologyKey": ZONE}]}})
    body["metadata"] = {"labels": {"app": "apart"}}
    w.jobs.create(collectors(3, body))


@situation("The zone of a volume is full", "Unschedulable", "volume")
def volume(w):
    w.node(labels={ZONE: "a"})
    w.occupy(w.node(labels={ZONE: "b"}), cpu=60)
    name = f"data-{w.namespace}"
    w.core.create_persistent_volume({
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": "",
                 "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/data"},
                 "claimRef": {"namespace": w.namespace, "name": "data"},
                 "nodeAffinity": {"required": {"nodeSelectorTerms": [
                     {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}]}}}})
    w.end.callback(w.core.delete_persistent_volume, name)
    w.core.create_namespaced_persistent_volume_claim(w.namespace, {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": name,
                 "resources": {"requests": {"storage": "1Gi"}}}})
    wait_for(lambda: w.core.read_namespaced_persistent_volume_claim("data", w.namespace).status.phase == "Bound",
             "the claim to be bound")
    body = w.own(cpu="8", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    w.jobs.create(collectors(1, body))


# -- quota, and what the API server refuses


def quota(w, **hard):
    hard = {key.replace("_", "."): value for key, value in hard.items()}
    w.core.create_namespaced_resource_quota(w.namespace, {"metadata": {"name": "team"}, "spec": {"hard": hard}})
    wait_for(lambda: set(w.core.read_namespaced_resource_quota("team", w.namespace).status.used or {}) == set(hard),
             "the quota's use to be counted")


@situation("The namespace's quota is used up", "OverQuota", "quota")
def over_quota(w):
    quota(w, requests_cpu="2")
    w.occupy(w.node(), cpu=1)
    wait_for(lambda: w.core.read_namespaced_resource_quota("team", w.namespace).status.used["requests.cpu"] == "1",
             "the quota's use to be counted")
    w.jobs.create(collectors(2, w.own(cpu="500m")))


@situation("The job is larger than the quota", "OverQuota", "quota")
def larger_than_quota(w):
    quota(w, pods="3")
    w.jobs.create(collectors(3, template()))


@situation("A quota wants what the template lacks", "FailedCreate", "must specify", condition="PodsCreated")
def quota_without_limits(w):
    quota(w, limits_cpu="10")
    w.jobs.create(collectors(1, template(), aggregator="OnDemand"))


@situation("The API server refuses a pod", "FailedCreate", "service", condition="PodsCreated")
def refused(w):
    w.jobs.create(collectors(1, template(serviceAccountName="trainer")))


@situation("The API server would refuse pods of a job that waits", "PodsRefused", "serviceaccount",
           condition="PodsRefused")
def would_be_refused(w):
    w.occupy(w.node(8), gpus=8)
    w.node(8)
    w.jobs.create(learners(3, w.own(gpus=4, serviceAccountName="trainer")))


@situation("A PriorityClass is missing", "PriorityClassMissing", "PriorityClass")
def priority_class(w):
    w.jobs.create(job(NAME, priorityClassName="urgent"))


# -- queues


@situation("The limit of the queue is used up", "LimitExceeded", "limit")
def over_limit(w):
    w.node(8)
    w.queue("vision", limit=[{"resources": {"nvidia.com/gpu": 4}}])
    w.jobs.create(job("other", queue="vision", collector={"replicas": 1, "template": w.own(gpus=4)}))
    w.jobs.wait_phase("other", "Running")
    w.jobs.create(collectors(1, w.own(gpus=2), queue="vision"))


@situation("The job is larger than the limit of its queue", "LimitExceeded", "limit")
def larger_than_limit(w):
    w.node(8)
    w.queue("vision", limit=[{"resources": {"nvidia.com/gpu": 4}}])
    w.jobs.create(collectors(1, w.own(gpus=8), queue="vision"))


@situation("The queue may use no more nodes of a class", "NodeClassLimit", "a100")
def over_class_limit(w):
    w.node(8, labels={"nvidia.com/gpu.product": "a100"})
    w.queue("vision", limit=[{"nodeClass": "a100", "resources": {"nvidia.com/gpu": 4}}])
    w.jobs.create(collectors(1, w.own(gpus=8), queue="vision"))


@situation("The queue is stopped", "QueueStopped", "stopped")
def stopped(w):
    w.queue("vision", stop="Hold")
    w.jobs.create(collectors(1, template(), queue="vision"))


@situation("The queue does not exist", "QueueNotFound", "does not exist")
def no_queue(w):
    w.jobs.create(collectors(1, template(), queue="vision"))


@situation("The queue is not for the namespace", "NamespaceNotSelected", "namespaceSelector")
def other_namespaces(w):
    # Admission refuses such a job; the queue may change later.
    w.queue("vision", stop="Hold")
    w.jobs.create(collectors(1, template(), queue="vision"))
    w.change_queue("vision", namespaceSelector={"matchLabels": {"team": "vision"}}, stop="None")


@situation("Two queues are for the namespace", "QueueAmbiguous", "selected by")
def two_queues(w):
    w.queue("vision")
    w.queue("speech")
    w.jobs.create(collectors(1, template()))


@situation("The parent of a queue does not exist", "ParentNotFound", "parent")
def no_parent(w):
    w.queue("vision", parent="research")
    w.jobs.create(collectors(1, template(), queue="vision"))


@situation("Queues are parts of each other", "QueueCycle", "cycle")
def cycle(w):
    w.queue("vision", parent="research")
    w.queue("research", parent="vision")
    w.jobs.create(collectors(1, template(), queue="vision"))


@situation("Other jobs are preempted for the job", "Preempting", "preempted")
def preempting(w):
    w.end.enter_context(extender_with(w.cluster, f"{QUICK} --preemption=reclaim"))
    w.node(8)
    w.queue("vision", quota=[{"resources": {"nvidia.com/gpu": 8}}], reclaim="Any")
    w.queue("speech", minRuntimeSeconds=0)
    slow = w.own(gpus=8, terminationGracePeriodSeconds=500)
    slow["metadata"] = {"annotations": kubelet.annotations(terminates="slowly")}
    w.jobs.create(job("other", queue="speech", collector={"replicas": 1, "template": slow}))
    w.jobs.wait_phase("other", "Running")
    w.jobs.create(collectors(1, w.own(gpus=8), queue="vision"))


def reserve(w, limit):
    """The job on half of a node has that limit, and the other half is reserved with it for a larger job."""
    w.end.enter_context(extender_with(w.cluster, f"{QUICK} --reserve-after=1s"))
    w.node(8)
    w.jobs.create(job("other", collector={"replicas": 1, "template": w.own(gpus=4)}, activeDeadlineSeconds=limit))
    w.jobs.wait_phase("other", "Running")


@situation("Nodes are reserved for another job", "Unschedulable", "reserved for another job")
def reserved_for_another(w):
    reserve(w, 7200)
    w.jobs.create(job("large", collector={"replicas": 1, "template": w.own(gpus=8)}))
    wait_for(lambda: any("reservation" in gang for one in w.jobs.pod_groups("large")
                         for gang in one.get("status", {}).get("gangs", [])), "nodes to be reserved")
    w.jobs.create(collectors(1, w.own(gpus=4)))


@situation("Nodes are reserved for the job", "Unschedulable", "nodes are reserved for the gang")
def reserved_for_it(w):
    reserve(w, 7200)
    w.jobs.create(collectors(1, w.own(gpus=8), coordinator={"template": w.own()}, aggregator="OnDemand"))


# -- kube-scheduler, and programs that do not run


@situation("kube-scheduler refuses a pod", "Unschedulable", "avoided")
def refused_by_scheduler(w):
    w.occupy(w.node(), labels={"app": "noisy"})
    shy = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "noisy"}}, "topologyKey": "kubernetes.io/hostname"}]}}
    w.jobs.create(learners(1, w.own(affinity=shy)))


@situation("A pod has schedulingGates", "PlanExpired", "schedulingGates")
def gates(w):
    w.jobs.create(learners(1, template(schedulingGates=[{"name": "example.com/data-ready"}])))


@situation("kube-scheduler does not run", "PlanExpired", "deployment nervex-scheduler")
def no_scheduler(w):
    w.programs.stop("scheduler")
    w.jobs.create(learners(1, template()))


@situation("The extender does not run", "Queued", "")
def no_extender(w):
    w.programs.stop("extender")
    w.jobs.create(learners(1, template()))


@situation("The controller does not run", "", "", condition="Created")
def no_controller(w):
    w.programs.stop("controller")
    w.jobs.create(learners(1, template()))


# -- while the job runs


@situation("A node of a running job is lost", "Healing", "a new place is searched")
def healing(w):
    w.end.enter_context(extender_with(w.cluster, f"{QUICK} --healing-deadline=600s"))
    lost = w.node(8)
    w.run(collector={"replicas": 1, "template": w.own(gpus=1)})
    kubelet.set_node_ready(w.api, lost, False)


@situation("A running job could not be made whole in time", "Unschedulable", "", condition="Requeued")
def requeued(w):
    w.end.enter_context(extender_with(w.cluster, f"{QUICK} --healing-deadline=4s"))
    lost = w.node(8)
    w.run(collector={"replicas": 1, "template": w.own(gpus=1)})
    kubelet.set_node_ready(w.api, lost, False)


@situation("Requested replicas do not fit", "RequestsUnschedulable", "collector", condition="RequestsScheduled",
           gang="request-1")
def growth(w):
    w.node(8)
    w.run(collector={"template": w.own(gpus=3)})
    assert w.replicas_api.add(w.namespace, COORDINATOR, collectors=4).status == 200


@situation("A learner with several GPUs does not fit", "RequestsUnschedulable", "learner",
           condition="RequestsScheduled", gang="request-1")
def multi_gpu(w):
    w.node(8)
    w.run(learner={"template": w.own(gpus=1)})
    assert w.replicas_api.add(w.namespace, COORDINATOR, learners={"replicas": 1, "gpus": 16}).status == 200


# -- waiting for a person or a program


@situation("The job is suspended", "Suspended", "suspend")
def suspended(w):
    w.jobs.create(job(NAME, suspend=True))


@situation("There is no AggregatorConfig", "AggregatorMissing", "does not exist", condition="AggregatorMissing")
def aggregator(w):
    place = (GROUP, VERSION, "nervex-system", "aggregatorconfigs")
    config = w.jobs.custom.get_namespaced_custom_object(*place, "aggregator-config")
    w.jobs.custom.delete_namespaced_custom_object(*place, "aggregator-config")
    config["metadata"] = {"name": "aggregator-config", "namespace": "nervex-system"}
    w.end.callback(w.jobs.custom.create_namespaced_custom_object, *place, config)
    w.jobs.create(job(NAME, aggregator="PerJob"))


@situation("The coordinator failed and is tried again", "BackOff", "attempt 2")
def back_off(w):
    w.run(backoffLimit=3)
    w.node_agent.finish(COORDINATOR, 3, "no data left")


@situation("A pod of the last attempt ends slowly", "PreviousAttemptTerminating", "is terminating until")
def terminating(w):
    slow = template(terminationGracePeriodSeconds=3600)
    slow["metadata"] = {"annotations": kubelet.annotations(terminates="slowly")}
    w.run(backoffLimit=3, collector={"replicas": 1, "template": slow})
    w.node_agent.finish(COORDINATOR, 3, "no data left")


@situation("scheduleTimeoutSeconds ran out", "ScheduleTimeout", "scheduleTimeoutSeconds", condition="Failed")
def timeout(w):
    w.node(8)
    w.jobs.create(learners(3, w.own(gpus=4)))
    wait_for(lambda: ((w.jobs.condition(NAME, "Scheduled") or {}).get("reason") == "Unschedulable",
                      w.jobs.condition(NAME, "Scheduled")), "the planner's verdict")
    w.jobs.patch(NAME, {"spec": {"scheduleTimeoutSeconds": 1}})


# -- the test


@pytest.fixture
def world(quick, programs, jobs, core, namespace, replicas_api, node_agent):
    with contextlib.ExitStack() as end:
        yield World(quick, programs, jobs, core, namespace, replicas_api, node_agent, end)


def seen(world, nervexctl, situation):
    """(has it settled, what it shows), as a block of the page."""
    one = world.jobs.get(NAME)
    groups = world.jobs.pod_groups(NAME)
    group = max(groups, key=lambda each: each["spec"]["attempt"]) if groups else None
    shown = nervexctl("explain", NAME, "-n", world.namespace)
    assert shown.returncode == 0, shown.stderr
    status = one.get("status", {})
    condition = waiting.condition_text(one, situation.condition)
    names = waiting.Names(world.namespace, world.nodes)
    found = [(label, names.replace(text))
             for label, text in waiting.facts(one, group, shown.stdout, situation.condition, situation.gang)]
    return status.get("reason", "") == situation.reason and situation.says in condition, waiting.block(found)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.title.replace(" ", "-"))
def test_the_page_shows_what_a_waiting_job_says(world, nervexctl, situation):
    situation.make(world)
    page = waiting.Page()
    if os.environ.get("NERVEX_RENEW_GOLDEN"):
        def settled():
            done, block = seen(world, nervexctl, situation)
            return done and seen(world, nervexctl, situation) == (done, block), block
        wait_for(settled, f"{situation.title}: the job to say why it waits", interval=0.5)
        page.renew(situation.title, seen(world, nervexctl, situation)[1])

    def look():
        done, block = seen(world, nervexctl, situation)
        return done and block == page.block(situation.title), block
    wait_for(look, f"{situation.title}: the cluster to show\n{page.block(situation.title)}(NERVEX_RENEW_GOLDEN=1 renews the page)", 90,
             interval=0.3)


def test_the_page_has_a_heading_for_each_situation():
    assert waiting.Page().titles() == [one.title for one in SITUATIONS]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.title.replace(" ", "-"))
def test_no_job_waits_without_a_reason(situation):
    shown = waiting.Page().facts(situation.title)
    if situation.reason:
        assert shown["Job"].endswith(f" {situation.reason}") and ": " in shown["Condition"]
    assert {"Waits", "Because"} <= shown.keys() or "Note" in shown
    assert len(shown["What to do"]) > 20
