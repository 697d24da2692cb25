"""The controller's acceptance rows, C1 to C15 (contract, section 6)."""

import pytest
from support.jobs import job, template
from support.wait import always, wait_for

NAME = "row"


def with_base_replicas(collectors, learners, **spec):
    body = job(NAME, **spec)
    body["spec"]["collector"]["replicas"] = collectors
    body["spec"]["learner"]["replicas"] = learners
    return body


def names(pods, role):
    return [pod.metadata.name for pod in pods if pod.metadata.labels["replica-type"] == role]


def counts(active=0, succeeded=0, failed=0):
    return {"active": active, "succeeded": succeeded, "failed": failed}


def wait_counts(jobs, **wanted):
    """wait_counts(jobs, Collector=counts(active=2))"""
    def look():
        seen = jobs.counts(NAME)
        return all(seen.get(role) == one for role, one in wanted.items()), seen
    wait_for(look, f"counts {wanted}")


@pytest.fixture
def running(jobs):
    """A job with 3 collectors and 3 learners, all Running; returns its pods."""
    jobs.create(with_base_replicas(3, 3))
    pods = jobs.wait_pods(NAME, 8, "Running")
    wait_counts(jobs, Coordinator=counts(active=1), Aggregator=counts(active=1),
                Collector=counts(active=3), Learner=counts(active=3))
    return pods


# -- C1 to C4: the phase follows the coordinator


def test_c1_c2_created_until_the_coordinator_runs(jobs, core, namespace):
    gate = {"name": "nervex-e2e/closed"}  # a pod that has one is not scheduled
    jobs.create(job(NAME, coordinator={"template": template(schedulingGates=[gate])}))
    pods = jobs.wait_pods(NAME, 2)
    assert names(pods, "coordinator") == [f"{NAME}-coordinator"]
    assert names(pods, "aggregator") == [f"{NAME}-aggregator"]
    always(lambda: not any(pod.spec.node_name for pod in jobs.pods(NAME)), "a gang of which nothing starts")
    wait_counts(jobs, Coordinator=counts(), Aggregator=counts())
    assert jobs.phase(NAME) == "Created"
    assert jobs.condition(NAME, "Created")["reason"] == "NerveXJobCreated"

    core.patch_namespaced_pod(f"{NAME}-coordinator", namespace, {"spec": {"schedulingGates": None}})
    jobs.wait_phase(NAME, "Running")
    wait_counts(jobs, Coordinator=counts(active=1))
    assert jobs.wait_condition(NAME, "Running")["reason"] == "NerveXJobRunning"


@pytest.mark.parametrize("exit_code, phase, reason, end", [
    pytest.param(0, "Succeeded", "NerveXJobSucceeded", counts(succeeded=1), id="c3"),
    pytest.param(3, "Failed", "NerveXJobFailed", counts(failed=1), id="c4"),
])
def test_c3_c4_it_ends_as_the_coordinator_does(jobs, node_agent, exit_code, phase, reason, end):
    jobs.create(job(NAME))
    jobs.wait_phase(NAME, "Running")
    node_agent.finish(f"{NAME}-coordinator", exit_code, "no data left")
    jobs.wait_phase(NAME, phase)
    wait_counts(jobs, Coordinator=end)
    assert jobs.wait_condition(NAME, phase)["reason"] == reason
    jobs.wait_condition(NAME, "Finished")
    jobs.wait_event(NAME, reason)


def test_c4_the_status_has_the_exit_code_and_the_termination_message(jobs, node_agent):
    jobs.create(job(NAME))
    jobs.wait_phase(NAME, "Running")
    node_agent.finish(f"{NAME}-coordinator", 3, "no data left")
    jobs.wait_phase(NAME, "Failed")
    message = jobs.condition(NAME, "Failed")["message"]
    assert "3" in message
    assert "no data left" in message


def test_the_main_container_decides(jobs, node_agent):
    """A running sidecar does not keep a job alive."""
    with_sidecar = template()
    with_sidecar["spec"]["containers"].insert(0, {"name": "a-sidecar", "image": "nervex/nervex-mock:0.1.0"})
    jobs.create(job(NAME, coordinator={"template": with_sidecar}))
    jobs.wait_phase(NAME, "Running")
    node_agent.finish(f"{NAME}-coordinator", sidecars_end=False)
    jobs.wait_phase(NAME, "Succeeded")


# -- C6 to C8: counts


@pytest.mark.parametrize("role", ["collector", "learner"])
@pytest.mark.parametrize("ends, wanted", [
    pytest.param(["Failed"], counts(active=2, failed=1), id="c6"),
    pytest.param(["Succeeded", "Succeeded"], counts(active=1, succeeded=2), id="c7"),
    pytest.param(["Failed", "Succeeded"], counts(active=1, succeeded=1, failed=1), id="c8"),
])
def test_c6_c7_c8_counts_match_the_pods(jobs, running, node_agent, role, ends, wanted):
    for pod, phase in zip(names(running, role), ends):
        node_agent.set_phase(pod, phase)
    wait_counts(jobs, **{role.capitalize(): wanted})
    assert jobs.phase(NAME) == "Running"


def test_a_finished_replica_stays_counted_when_its_pod_is_deleted(jobs, core, namespace, running, node_agent):
    pod = names(running, "learner")[0]
    node_agent.set_phase(pod, "Failed")
    wait_counts(jobs, Learner=counts(active=2, failed=1))
    core.delete_namespaced_pod(pod, namespace)
    left = jobs.wait_pods(NAME, 7)
    assert pod not in names(left, "learner")
    wait_counts(jobs, Learner=counts(active=2, failed=1))


# -- C9: services


def test_c9_every_pod_has_its_name(jobs, services_mode, running):
    jobs.wait_names(NAME, 8)
    own = [one.metadata.name for one in jobs.services(NAME)]
    assert own == ([] if services_mode == "shared" else sorted(pod.metadata.name for pod in running))


def test_c9_the_namespaces_service_comes_back(jobs, core, namespace, running):
    before = jobs.shared_service()
    core.delete_namespaced_service(namespace, namespace)

    def look():
        now = jobs.shared_service()
        return now is not None and now.metadata.uid != before.metadata.uid, now
    wait_for(look, "the namespace's service to come back")
    jobs.wait_names(NAME, 8)


def test_c9_every_pod_has_a_service_and_gets_it_back(jobs, core, namespace, per_pod_services, running):
    pods = sorted(pod.metadata.name for pod in running)
    before = {one.metadata.name: one.metadata.uid for one in jobs.services(NAME)}
    assert sorted(before) == pods
    for name in pods:
        core.delete_namespaced_service(name, namespace)

    def look():
        now = {one.metadata.name: one.metadata.uid for one in jobs.services(NAME)}
        return sorted(now) == pods and not set(now.values()) & set(before.values()), now
    wait_for(look, "all services to come back")


# -- C10: the end of the others


def test_c10_active_pods_count_as_succeeded_when_the_job_succeeds(jobs, running, node_agent):
    node_agent.set_phase(names(running, "collector")[0], "Failed")
    node_agent.set_phase(names(running, "learner")[0], "Succeeded")
    wait_counts(jobs, Collector=counts(active=2, failed=1), Learner=counts(active=2, succeeded=1))
    node_agent.finish(f"{NAME}-coordinator")
    jobs.wait_phase(NAME, "Succeeded")
    wait_counts(jobs, Coordinator=counts(succeeded=1), Aggregator=counts(succeeded=1),
                Collector=counts(succeeded=2, failed=1), Learner=counts(succeeded=3))


# -- C12 to C14: clean-up


@pytest.mark.parametrize("policy, left", [
    pytest.param("All", [], id="c12"),
    pytest.param("None", ["aggregator", "collector", "collector", "coordinator", "learner"], id="c13"),
    pytest.param("Running", ["collector", "coordinator"], id="c14"),
])
def test_c12_c13_c14_the_policy_decides_which_pods_are_deleted(jobs, node_agent, services_mode, policy, left):
    jobs.create(with_base_replicas(2, 1, cleanPodPolicy=policy))
    pods = jobs.wait_pods(NAME, 5, "Running")
    node_agent.set_phase(names(pods, "collector")[0], "Failed")
    wait_counts(jobs, Collector=counts(active=1, failed=1))
    node_agent.finish(f"{NAME}-coordinator")
    jobs.wait_phase(NAME, "Succeeded")
    wait_for(lambda: not jobs.services(NAME), "the services to go")
    assert (jobs.shared_service() is not None) == (services_mode == "shared")
    assert sorted(pod.metadata.labels["replica-type"] for pod in jobs.wait_pods(NAME, len(left))) == left


# -- C15: a restart


def test_c15_a_restarted_controller_leaves_finished_jobs_alone(jobs, node_agent, programs):
    jobs.create(with_base_replicas(1, 1, cleanPodPolicy="None"))
    jobs.wait_pods(NAME, 4, "Running")
    node_agent.finish(f"{NAME}-coordinator")
    jobs.wait_phase(NAME, "Succeeded")
    wait_for(lambda: not jobs.services(NAME) and not jobs.pod_groups(NAME), "the clean-up")
    wait_for(lambda: not any(pod.metadata.finalizers for pod in jobs.pods(NAME)), "the pods' ends to be recorded")
    before = snapshot(jobs)

    programs.restart("controller")
    jobs.create(job("after"))  # whose run shows that the controller has been through all jobs
    jobs.wait_phase("after", "Running")
    assert snapshot(jobs) == before


def snapshot(jobs):
    """The versions of all objects that a change would affect."""
    return {"job": jobs.get(NAME)["metadata"]["resourceVersion"],
            "pods": [(pod.metadata.name, pod.metadata.resource_version) for pod in jobs.pods(NAME)],
            "services": jobs.services(NAME), "groups": jobs.pod_groups(NAME),
            "events": sorted((one.metadata.name, one.count) for one in jobs.events(NAME))}
