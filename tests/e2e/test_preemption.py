"""Preemption: a queue reclaims its quota, a priority goes first, and freed nodes that another scheduler takes.

Each test has a node of its own with 8 GPUs. The extender is started again while victims end: a new leader goes on.
"""

import signal

import pytest
from support import nodes
from support.jobs import job, template
from support.queues import own_queues
from support.wait import wait_for
from test_priority import priority_class  # noqa: F401  a fixture
from test_queues import GPU
from tools.base import processes
from tools.cluster import kubelet

QUICK = "--preemption=full"
LONG = 90


@pytest.fixture
def queues(custom, namespace, quick):
    with own_queues(custom, namespace) as made:
        yield made


@pytest.fixture
def gpus(node):
    """gpus(name, count, **spec): a job of one collector with so many GPUs of the test's node. `slow`: its pods end
    slowly."""
    def make(name, count, slow=False, **spec):
        one = template(gpus=count, nodeSelector={nodes.OWN: node})
        if slow:
            one["spec"]["terminationGracePeriodSeconds"] = 8
            one["metadata"] = {"annotations": kubelet.annotations(terminates="slowly")}
        return job(name, collector={"replicas": 1, "template": one}, **spec)
    return make


def kill_extender(cluster):
    """As a crash: the next leader has only what was stored."""
    process = cluster.programs["extender"]
    process["stopped"] = True
    processes.send(process, signal.SIGKILL)
    processes.wait_for_end(process)
    cluster.start("extender")


def wait_running(jobs, *names):
    for name in names:
        jobs.wait_phase(name, "Running", timeout=LONG)


def base_gang(jobs, name):
    groups = jobs.pod_groups(name)
    gangs = groups[0].get("status", {}).get("gangs", []) if len(groups) == 1 else []
    return gangs[0] if gangs else {}


def wait_gang(jobs, name, reason):
    def look():
        gang = base_gang(jobs, name)
        return gang.get("reason") == reason, gang
    wait_for(look, f"{name} to be {reason}", LONG)
    return base_gang(jobs, name)


def check_preempted(jobs, name, since):
    requeued = jobs.wait_condition(name, "Requeued")
    assert requeued["reason"] == "Preempted", requeued
    status = jobs.get(name)["status"]
    assert status["attempt"] == 2, status
    assert status.get("failedAttempts", 0) == 0, status
    assert status["queuedSince"] == since, "it keeps its place in the queue"


def test_a_queue_takes_back_its_quota(jobs, queues, gpus, quick):
    queues.create("owner", quota=[{"resources": {GPU: 8}}], reclaim="Any")
    queues.create("borrower", minRuntimeSeconds=0)
    jobs.create(gpus("borrows", 8, slow=True, queue=queues.name("borrower"), backoffLimit=0))
    wait_running(jobs, "borrows")
    since = jobs.get("borrows")["status"]["queuedSince"]
    jobs.create(gpus("owns", 8, queue=queues.name("owner")))
    gang = wait_gang(jobs, "owns", "Preempting")
    assert [victim["gang"] for victim in gang["victims"]] == ["base"]
    assert gang["victims"][0]["reason"] == "Reclaim"
    assert not jobs.pods("owns"), "no pod of it exists before its victims have ended"
    kill_extender(quick)
    wait_running(jobs, "owns")
    check_preempted(jobs, "borrows", since)
    assert jobs.phase("borrows") == "Created"
    jobs.delete("owns")
    wait_running(jobs, "borrows")


def test_a_higher_priority_goes_first_in_its_queue(jobs, queues, gpus, priority_class, quick):  # noqa: F811
    low, high = priority_class(10), priority_class(20)
    queues.create("team", preemption="LowerPriority", minRuntimeSeconds=0)
    for name in ("first", "second"):
        jobs.create(gpus(name, 4, slow=True, queue=queues.name("team"), priorityClassName=low))
        wait_running(jobs, name)
    since = jobs.get("second")["status"]["queuedSince"]
    jobs.create(gpus("urgent", 4, queue=queues.name("team"), priorityClassName=high))
    gang = wait_gang(jobs, "urgent", "Preempting")
    (victim,) = gang["victims"]
    assert (victim["podGroup"], victim["reason"]) == ("second-1", "LowerPriority"), "the younger one"
    kill_extender(quick)
    wait_running(jobs, "urgent")
    check_preempted(jobs, "second", since)
    assert jobs.phase("first") == "Running"


def test_a_preemptor_whose_place_another_scheduler_takes_preempts_again(
        jobs, queues, gpus, core, namespace, node, quick):
    queues.create("owner", quota=[{"resources": {GPU: 8}}], reclaim="Any")
    queues.create("borrower", minRuntimeSeconds=0)
    for name in ("old", "young"):
        jobs.create(gpus(name, 4, slow=True, queue=queues.name("borrower")))
        wait_running(jobs, name)
    jobs.create(gpus("owns", 4, queue=queues.name("owner")))
    gang = wait_gang(jobs, "owns", "Preempting")
    assert [victim["podGroup"] for victim in gang["victims"]] == ["young-1"]
    # The default scheduler binds it as soon as there is capacity; here it was bound without asking.
    core.create_namespaced_pod(namespace, {
        "metadata": {"name": "thief"},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [
            {"name": "main", "image": "registry.k8s.io/pause:3.10",
             "resources": {"requests": {GPU: "4"}, "limits": {GPU: "4"}}}]}})
    kill_extender(quick)
    wait_running(jobs, "owns")
    assert jobs.phase("old") == jobs.phase("young") == "Created"
    # The first one counts if it was recorded before the extender was killed.
    wait_for(lambda: (len(queues.status("owner").get("recentPreemptions", [])) in (1, 2), queues.status("owner")),
             "the preemptions to count", LONG)
