"""A job's place in the queue: by priorityClassName, from PriorityClass to PodGroup to planner, then by age."""

import json
import time
import uuid

import kubernetes
import pytest
from support import nodes
from support.jobs import job, template
from support.wait import always, status_of, wait_for

LONG = 60


@pytest.fixture
def priority_class(api_client, core, namespace):
    """priority_class(value) creates one that the API server has cached and returns its name; deleted with the test."""
    scheduling = kubernetes.client.SchedulingV1Api(api_client)
    made = []

    def make(value, name=None):
        name = name or f"e2e-{uuid.uuid4().hex[:8]}"
        scheduling.create_priority_class({"metadata": {"name": name}, "value": value})
        made.append(name)
        pod = {"metadata": {"generateName": "asks-"}, "spec": {
            "priorityClassName": name, "containers": template()["spec"]["containers"]}}
        wait_for(lambda: core.create_namespaced_pod(namespace, pod, dry_run="All"),
                 f"the API server to know PriorityClass {name}", not_yet=[unknown])
        return name

    def unknown(error):
        return status_of(error) == 403

    yield make
    for name in made:
        scheduling.delete_priority_class(name)


@pytest.fixture
def all_gpus(core):
    """The number of nodes with 8 GPUs, once no pod holds any."""
    def look():
        holding = [pod.metadata.name for pod in core.list_pod_for_all_namespaces().items
                   if pod.status.phase not in ("Succeeded", "Failed")
                   for one in pod.spec.containers if (one.resources.limits or {}).get("nvidia.com/gpu")]
        return not holding, holding
    wait_for(look, "the GPUs of earlier tests to be given back", LONG)
    gpus = [int(one.status.allocatable.get("nvidia.com/gpu", 0)) for one in core.list_node().items]
    nodes = [one for one in gpus if one]
    if not nodes or set(nodes) != {8}:
        pytest.skip("needs nodes with 8 GPUs each")
    return len(nodes)


def wants_all(name, nodes, **spec):
    return job(name, learner={"template": template(gpus=8), "replicas": nodes}, **spec)


def test_two_waiting_jobs_start_in_order_of_priority(jobs, all_gpus, priority_class):
    low, high = priority_class(-10), priority_class(1000)
    pods = all_gpus + 2  # coordinator and aggregator
    jobs.create(wants_all("first", all_gpus))
    jobs.wait_pods("first", pods, "Running", timeout=LONG)
    jobs.create(wants_all("low", all_gpus, priorityClassName=low))
    jobs.wait_condition("low", "Scheduled", "False")
    jobs.create(wants_all("high", all_gpus, priorityClassName=high))  # later, and yet sooner
    for name in ("low", "high"):
        wait_for(lambda name=name: jobs.get(name)["status"].get("reason") == "Unschedulable", f"{name} to wait")
    assert [group["spec"]["priority"] for group in jobs.pod_groups("high")] == [1000]
    assert [group["spec"]["priority"] for group in jobs.pod_groups("low")] == [-10]

    jobs.delete("first")
    jobs.wait_phase("high", "Running", timeout=LONG)
    assert {pod.spec.priority for pod in jobs.wait_pods("high", pods, "Running", timeout=LONG)} == {1000}
    assert jobs.phase("low") == "Created"
    assert jobs.pods("low") == []
    jobs.delete("high")
    jobs.wait_phase("low", "Running", timeout=LONG)


def test_jobs_created_while_the_controller_is_down_start_in_order_of_creation(jobs, programs):
    with nodes.own_node(programs.api(), gpus=8) as node:
        nodes.wait_usable(programs.api(), [node])

        def wants_node(name):
            return job(name, collector={"template": template(gpus=8, nodeSelector={nodes.OWN: node}), "replicas": 1})
        jobs.create(wants_node("blocks"))
        jobs.wait_pods("blocks", 3, "Running", timeout=LONG)
        programs.stop("controller")
        waiting = ["d", "c", "b", "a"]  # the controller lists them the other way round
        for name in waiting:
            jobs.create(wants_node(name))
            created = jobs.get(name)["metadata"]["creationTimestamp"]  # in whole seconds
            wait_for(lambda then=created: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) > then, "the next second")
        programs.start("controller")

        def all_wait():
            reasons = {name: jobs.get(name).get("status", {}).get("reason") for name in waiting}
            return set(reasons.values()) == {"Unschedulable"}, reasons
        wait_for(all_wait, "all of them to wait")
        jobs.delete("blocks")
        while waiting:
            first = waiting.pop(0)
            wait_for(lambda: [name for name in (first, *waiting) if jobs.phase(name) == "Running"], "one to run")
            assert jobs.phase(first) == "Running", f"another one than {first} runs"
            jobs.delete(first)


def test_a_running_job_gets_what_it_lost_before_a_waiting_job_of_higher_priority_starts(
        jobs, target, core, namespace, programs, priority_class):
    low, high = priority_class(-10), priority_class(1000)
    with nodes.own_nodes(target.cluster.api(), {}, {}, {}, {}, gpus=1) as (pool, names):
        nodes.wait_usable(target.cluster.api(), names)
        one = template(gpus=1, nodeSelector={nodes.OWN: pool})
        jobs.create(job("low", priorityClassName=low, collector={"template": one, "replicas": 4}))
        jobs.wait_pods("low", 6, "Running", timeout=LONG)
        jobs.create(job("high", priorityClassName=high, collector={"template": one, "replicas": 1}))
        jobs.wait_condition("high", "Scheduled", "False")
        before = {pod.metadata.name: pod.metadata.uid for pod in jobs.pods("low")}
        evicted = jobs.pods("low", "collector")[0].metadata.name
        core.create_namespaced_pod_eviction(evicted, namespace, {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": evicted}})

        def look():
            seen = [(pod.metadata.name, pod.status.phase) for pod in jobs.pods("low")]
            return len(seen) == 6 and evicted not in dict(seen) and {phase for _, phase in seen} == {"Running"}, seen
        wait_for(look, "the successor of the evicted pod to run")
        after = {pod.metadata.name: pod.metadata.uid for pod in jobs.pods("low")}
        assert set(before.items()) - set(after.items()) == {(evicted, before[evicted])}
        assert jobs.get("low")["status"]["attempt"] == 1
        assert jobs.pods("high") == []


def test_a_preemptor_gets_the_capacity_of_the_preempted_pod(
        jobs, target, core, namespace, programs, observer, priority_class, node_agent):
    """One of two preempted pods ends later than the other: the first one's capacity is free meanwhile."""
    with nodes.own_nodes(target.cluster.api(), {}, gpus=8) as (pool, names):
        nodes.wait_usable(target.cluster.api(), names)
        selector = {nodes.OWN: pool}
        one = template(gpus=4, nodeSelector=selector, terminationGracePeriodSeconds=8)
        jobs.create(job("preempted", collector={"template": one, "replicas": 2}))
        jobs.wait_pods("preempted", 4, "Running", timeout=LONG)
        first, slow = jobs.pods("preempted", "collector")
        node_agent.annotate(slow.metadata.name, terminates="slowly")
        preempted = {first.metadata.uid, slow.metadata.uid}
        container = template(gpus=8)["spec"]["containers"][0]
        core.create_namespaced_pod(namespace, {"metadata": {"name": "urgent"}, "spec": {
            "priorityClassName": priority_class(1000), "nodeSelector": selector, "containers": [container]}})

        def bound_successors():
            return [pod.metadata.name for pod in jobs.pods("preempted", "collector")
                    if pod.spec.node_name and pod.metadata.uid not in preempted]

        def ended():
            uids = {pod.metadata.uid for pod in jobs.pods("preempted", "collector")}
            return first.metadata.uid not in uids and slow.metadata.uid in uids, uids

        def urgent_runs():
            assert not bound_successors(), "a successor has the place that was freed for the urgent pod"
            return core.read_namespaced_pod("urgent", namespace).status.phase == "Running"
        wait_for(ended, "the first collector to end, and the second to be terminating")
        wait_for(urgent_runs, "the urgent pod to run", LONG)
        jobs.wait_condition("preempted", "Scheduled", "False")
        always(lambda: not bound_successors(), "no successor beside the urgent pod")
        observer.catch_up()
        assert observer.broken == []


def test_a_job_waits_for_a_priority_class_that_does_not_exist(jobs, priority_class):
    name = f"e2e-{uuid.uuid4().hex[:8]}"
    jobs.create(job("waits", priorityClassName=name))
    wait_for(lambda: jobs.get("waits").get("status", {}).get("reason") == "PriorityClassMissing",
             "the job to say that it waits for its PriorityClass")
    assert f'PriorityClass "{name}", named by ' in jobs.condition("waits", "Scheduled")["message"]
    always(lambda: (not jobs.pods("waits") and not jobs.pod_groups("waits"), jobs.pods("waits")), "nothing is made")
    priority_class(5, name)
    jobs.wait_phase("waits", "Running", timeout=LONG)
    assert {pod.spec.priority for pod in jobs.pods("waits")} == {5}


def test_a_template_that_states_another_priority_than_its_class_is_refused(jobs, core, namespace, priority_class):
    """The API server refuses its pods (admission plugin Priority), but does not check templates for it."""
    name = priority_class(7)
    body = job("states")
    pod = body["spec"]["learner"]["template"]["spec"]

    def refused_field(call, *arguments):
        with pytest.raises(kubernetes.client.ApiException) as refused:
            call(*arguments, dry_run="All") if call != jobs.create else call(*arguments, dry_run=True)
        return json.loads(refused.value.body)
    pod["priority"] = 5
    assert "must not be provided in pod spec" in refused_field(
        core.create_namespaced_pod, namespace, {"metadata": {"name": "states"}, "spec": pod})["message"]
    (cause,) = refused_field(jobs.create, body)["details"]["causes"]
    assert cause["field"] == "spec.learner.template.spec.priority", cause
    assert "a value other than 0" in cause["message"], cause

    pod["priority"] = 7
    body["spec"]["priorityClassName"] = name
    jobs.create(body, dry_run=True)
    pod["priority"] = 0
    (cause,) = refused_field(jobs.create, body)["details"]["causes"]
    assert f'a value other than 7, that of PriorityClass "{name}"' in cause["message"], cause
