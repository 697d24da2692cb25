"""Pods of our scheduler without a gang, plain pods, wait for their turn and count like gangs of one
(docs/concepts/foreign-gangs.md).

Each test has a node of its own with 8 GPUs.
"""

import kubernetes
import pytest
from support import nodes
from support.foreign_gangs import PAUSE
from support.jobs import job, template
from support.wait import always, wait_for

GPU = "nvidia.com/gpu"
LONG = 60
QUICK = "--reserve-after=2s"


class Pods:
    """Plain pods of one namespace that may use these nodes."""

    def __init__(self, core, namespace, label):
        self.core, self.namespace, self.label = core, namespace, label

    def spec(self, gpus, **more):
        return {"schedulerName": "nervex-scheduler", "nodeSelector": {nodes.OWN: self.label},
                "terminationGracePeriodSeconds": 0, **more,
                "containers": [{"name": "main", "image": PAUSE, "resources": {"limits": {GPU: str(gpus)}}}]}

    def create(self, name, gpus, **more):
        self.core.create_namespaced_pod(self.namespace, {"metadata": {"name": name}, "spec": self.spec(gpus, **more)})

    def delete(self, name):
        self.core.delete_namespaced_pod(name, self.namespace, grace_period_seconds=0)

    def node(self, name):
        return self.core.read_namespaced_pod(name, self.namespace).spec.node_name

    def wait_bound(self, *names):
        for name in names:
            wait_for(lambda name=name: self.node(name), f"pod {name} to be bound", LONG)

    def events(self, name):
        found = self.core.list_namespaced_event(
            self.namespace, field_selector=f"involvedObject.kind=Pod,involvedObject.name={name}").items
        return [(one.reason, one.message) for one in found]

    def wait_event(self, name, words):
        wait_for(lambda: (any(words in message for _, message in self.events(name)), self.events(name)),
                 f"an event of pod {name}: {words}", LONG)

    def condition(self, name):
        conditions = self.core.read_namespaced_pod(name, self.namespace).status.conditions or []
        return [one.message for one in conditions if one.type == "PodScheduled" and one.status == "False"]


@pytest.fixture
def pods(core, namespace, node):
    return Pods(core, namespace, node)


def limit(gpus):
    return [{"resources": {GPU: gpus}}]


def test_of_two_plain_pods_under_a_limit_one_runs_and_the_other_says_why_it_waits(pods, queues, programs):
    queues.create("small", limit=limit(4))
    pods.create("first", 4)
    pods.wait_bound("first")
    pods.create("second", 1)
    words = f"the limit of queue {queues.name('small')} is {GPU} 4: 4 are used, 1 are needed"
    pods.wait_event("second", words)
    wait_for(lambda: "pod second waits" in str(pods.condition("second")), "condition PodScheduled to say it", LONG)
    programs.restart("extender")  # it counts the first one from its pod
    pods.create("third", 1)
    pods.wait_event("third", words)
    assert pods.node("second") is None
    pods.delete("first")
    pods.wait_bound("second", "third")


def test_a_plain_pod_that_was_bound_before_counts(pods, queues, jobs, node):
    pods.create("before", 4, nodeName=node)
    queues.create("small", limit=limit(4))
    jobs.create(job("waits", collector={"replicas": 1, "template": template(gpus=1, nodeSelector={nodes.OWN: node})}))
    wait_for(lambda: (jobs.condition("waits", "Scheduled") or {}).get("reason") == "LimitExceeded", "it to wait", LONG)
    pods.delete("before")
    jobs.wait_phase("waits", "Running", LONG)


def test_a_pod_of_a_daemonset_starts_at_once_where_other_pods_wait(pods, queues, core):
    queues.create("full", limit=limit(4))
    pods.create("first", 4)
    pods.wait_bound("first")
    apps = kubernetes.client.AppsV1Api(core.api_client)
    labels = {"app": "agent"}
    apps.create_namespaced_daemon_set(pods.namespace, {
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": labels},
                 "template": {"metadata": {"labels": labels}, "spec": pods.spec(1)}}})

    def look():
        found = core.list_namespaced_pod(pods.namespace, label_selector="app=agent").items
        return len(found) == 1 and found[0].spec.node_name == pods.label, [one.status for one in found]
    wait_for(look, "the DaemonSet's pod to be bound", LONG)
    apps.delete_namespaced_daemon_set("agent", pods.namespace)


@pytest.mark.usefixtures("quick")
def test_a_plain_pod_does_not_start_on_reserved_nodes(core, namespace, programs, jobs):
    with nodes.own_nodes(programs.api(), {}, {}, gpus=8) as (label, names):
        nodes.wait_usable(programs.api(), names)
        pods = Pods(core, namespace, label)

        def needs(name, replicas):
            one = template(gpus=8, nodeSelector={nodes.OWN: label})
            return job(name, collector={"replicas": replicas, "template": one})
        jobs.create(needs("runs", 1))
        jobs.wait_phase("runs", "Running", LONG)
        jobs.create(needs("large", 2))

        def has_reserved():
            gangs = [gang for group in jobs.pod_groups("large") for gang in group.get("status", {}).get("gangs", [])]
            return any(gang.get("reservation") for gang in gangs), gangs
        wait_for(has_reserved, "large to have reserved nodes", LONG)
        pods.create("plain", 8)
        pods.wait_event("plain", "does not fit")
        always(lambda: pods.node("plain") is None, "the plain pod is not bound", 5)
        jobs.delete("runs")
        jobs.wait_phase("large", "Running", LONG)
        assert pods.node("plain") is None
        jobs.delete("large")
        pods.wait_bound("plain")
