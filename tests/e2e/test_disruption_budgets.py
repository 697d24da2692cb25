"""Drains, PodDisruptionBudgets and autoscalers affect a job as documented in docs/tasks/drain-nodes.md: evictions
through the real eviction API, budgets counted by the real disruption controller, scaling through the scale
subresource."""

import kubernetes
import pytest
from support.jobs import GROUP, VERSION, job
from support.wait import wait_for

NAME = "drained"
SELECTED = {"matchLabels": {"nervexjob-name": NAME}}
COLLECTORS = {"matchLabels": {"nervexjob-name": NAME, "replica-type": "collector"}}
PODS = 7  # of running(): coordinator, aggregator, 3 collectors, 2 learners


@pytest.fixture
def running(jobs):
    body = job(NAME)
    body["spec"]["collector"]["replicas"] = 3
    body["spec"]["learner"]["replicas"] = 2
    jobs.create(body)
    jobs.wait_pods(NAME, PODS, "Running")
    jobs.wait_condition(NAME, "Ready")


@pytest.fixture
def policy(api_client):
    return kubernetes.client.PolicyV1Api(api_client)


@pytest.fixture
def budget(policy, namespace):
    """budget(name, selector, minAvailable=3): creates one; returns the number of evictions that it allows, once
    counted."""
    def make(name, selector, **spec):
        policy.create_namespaced_pod_disruption_budget(
            namespace, {"metadata": {"name": name}, "spec": {"selector": selector, **spec}})

        def look():
            made = policy.read_namespaced_pod_disruption_budget(name, namespace)
            status = made.status
            return status is not None and status.observed_generation == made.metadata.generation, status
        return wait_for(look, f"budget {name} to be counted")
    return make


def evict(core, namespace, pod):
    """The HTTP status of the answer; 201: the pod is evicted."""
    try:
        core.create_namespaced_pod_eviction(pod, namespace, {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}})
        return 201
    except kubernetes.client.ApiException as error:
        return error.status


def names(jobs, role):
    return sorted(pod.metadata.name for pod in jobs.pods(NAME, role))


def test_a_budget_with_a_number_keeps_pods_of_every_role(jobs, core, namespace, running, budget, policy, nervexctl):
    counted = budget("keep", SELECTED, minAvailable=PODS - 1)
    assert (counted.expected_pods, counted.desired_healthy, counted.disruptions_allowed) == (PODS, PODS - 1, 1)
    learner = names(jobs, "learner")[0]
    assert evict(core, namespace, learner) == 201
    assert evict(core, namespace, f"{NAME}-coordinator") == 429  # until the learner has its successor
    wait_for(lambda: (learner not in names(jobs, "learner") and len(names(jobs, "learner")) == 2,
                      names(jobs, "learner")), "the learner to be replaced")
    jobs.wait_pods(NAME, PODS, "Running")

    def allowed():
        status = policy.read_namespaced_pod_disruption_budget("keep", namespace).status
        return status.disruptions_allowed == 1, status
    wait_for(allowed, "the next eviction to be allowed")
    assert evict(core, namespace, names(jobs, "collector")[0]) == 201
    said = nervexctl("explain", NAME, "-n", namespace)
    assert "PodDisruptionBudget" not in said.stdout, said.stdout


def test_a_budget_that_is_counted_by_the_scale_allows_too_much_and_is_named(
        jobs, core, namespace, running, budget, nervexctl):
    counted = budget("all", SELECTED, maxUnavailable=1)
    assert counted.expected_pods == 3, counted  # the base collectors
    assert counted.disruptions_allowed > 1, counted
    said = nervexctl("explain", NAME, "-n", namespace)
    assert f"PodDisruptionBudget all cannot work (maxUnavailable: 1): it selects {PODS} pods" in said.stdout, said


def test_a_budget_over_base_collectors_alone_works(jobs, core, namespace, running, budget, nervexctl, programs):
    counted = budget("collectors", COLLECTORS, maxUnavailable=1)
    assert (counted.expected_pods, counted.disruptions_allowed) == (3, 1), counted
    first, second, _ = names(jobs, "collector")
    programs.stop("controller")  # it would replace the first before the second is asked for
    assert [evict(core, namespace, first), evict(core, namespace, second)] == [201, 429]
    programs.start("controller")
    said = nervexctl("explain", NAME, "-n", namespace)
    assert "PodDisruptionBudget" not in said.stdout, said.stdout


def test_a_budget_of_a_job_without_base_collectors_blocks_every_drain_and_is_named(
        jobs, core, namespace, budget, nervexctl):
    body = job(NAME)
    body["spec"]["learner"]["replicas"] = 2
    jobs.create(body)
    jobs.wait_pods(NAME, 4, "Running")
    counted = budget("all", SELECTED, maxUnavailable="50%")
    assert counted.disruptions_allowed == 0, counted
    assert evict(core, namespace, names(jobs, "learner")[0]) == 429
    said = nervexctl("explain", NAME, "-n", namespace)
    assert "expects 0, the base collectors, so that it allows no eviction" in said.stdout, said


def test_an_evicted_coordinator_starts_the_job_again(jobs, core, namespace, running):
    """What a drain does to a job without a budget."""
    before = {pod.metadata.uid for pod in jobs.pods(NAME)}
    assert evict(core, namespace, f"{NAME}-coordinator") == 201
    wait_for(lambda: (jobs.get(NAME)["status"]["attempt"] == 2, jobs.get(NAME)["status"]), "the next attempt")

    def started_again():  # the attempt is counted before the pods of the last one are deleted
        pods = jobs.pods(NAME)
        new = [pod for pod in pods if pod.metadata.uid not in before and pod.status.phase == "Running"]
        return len(new) == len(pods) == PODS, [(pod.metadata.name, pod.status.phase) for pod in pods]
    wait_for(started_again, "all pods of the next attempt to run")


def test_an_autoscaler_sees_and_sets_the_base_collectors(jobs, core, custom, namespace, running):
    """Like the HorizontalPodAutoscaler: reads the scale, lists the pods of its selector, and writes the replicas."""
    call = (GROUP, VERSION, namespace, "nervexjobs", NAME)

    def scale():
        return custom.get_namespaced_custom_object_scale(*call)
    assert (scale()["spec"]["replicas"], scale()["status"]["replicas"]) == (3, 3)
    for replicas in (5, 2):
        body = scale()
        body["spec"]["replicas"] = replicas
        custom.replace_namespaced_custom_object_scale(*call, body)
        wait_for(lambda: (scale()["status"]["replicas"] == replicas, scale()), "the scale to follow")

        def seen():
            pods = core.list_namespaced_pod(namespace, label_selector=scale()["status"]["selector"]).items
            return sum(pod.status.phase == "Running" for pod in pods) == len(pods) == replicas, len(pods)
        wait_for(seen, f"{replicas} collectors")
    jobs.wait_condition(NAME, "Ready")
    assert len(names(jobs, "learner")) == 2
