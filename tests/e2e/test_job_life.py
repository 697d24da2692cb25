"""One job from `kubectl create` to its clean-up, as the contract describes it."""

import re

import pytest
from tools.cluster import pod_groups
from support.jobs import job, load_job
from support.wait import wait_for

SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"
EXAMPLE = "nervexjob-example-1"
ROLES = ("coordinator", "aggregator", "collector", "learner")


def role_of(pod):
    return pod.metadata.labels["replica-type"]


def placements(group):
    """{(role, ordinal): node} of a PodGroup's plan."""
    return {(one["role"], one["ordinal"]): one["node"] for one in pod_groups.placements(group)}


def slot_of(pod):
    role, ordinal = pod.metadata.annotations["nervex.sensetime.com/slot"].split("/")
    return role, int(ordinal)


@pytest.fixture
def grown(jobs, node_agent):
    """The example job after its coordinator requested what the example requests: four pods run."""
    jobs.create(load_job("examples/nervex-mock-nervexjob.yaml"))
    jobs.wait_pods(EXAMPLE, 2, "Running")
    coordinator = node_agent.start_coordinator(f"{EXAMPLE}-coordinator", "--seconds=0")
    output, _ = coordinator.communicate(timeout=60)
    assert coordinator.returncode == 0, output
    return jobs.wait_pods(EXAMPLE, 4, "Running")


def test_the_pods_are_those_of_the_contracts_listing(grown):
    names = [pod.metadata.name for pod in grown]
    for name, pattern in zip(names, (f"{EXAMPLE}-aggregator", f"{EXAMPLE}-collector-{SUFFIX}",
                                     f"{EXAMPLE}-coordinator", f"{EXAMPLE}-learner-{SUFFIX}"), strict=True):
        assert re.fullmatch(pattern, name)


def test_every_pod_and_service_carries_the_labels(services_mode, grown, jobs):
    for one in [*grown, *jobs.services(EXAMPLE)]:
        role = next(role for role in ROLES if role in one.metadata.name.removeprefix(EXAMPLE))
        assert one.metadata.labels.items() >= {
            "group-name": "nervex.sensetime.com", "nervexjob-name": EXAMPLE,
            "controller-name": "nervex-operator", "replica-type": role, "pod-name": one.metadata.name}.items()


def test_every_pod_is_owned_by_the_job(services_mode, grown, jobs):
    uid = jobs.get(EXAMPLE)["metadata"]["uid"]
    for one in [*grown, *jobs.services(EXAMPLE)]:
        (owner,) = one.metadata.owner_references
        assert (owner.kind, owner.name, owner.uid, owner.controller) == ("NerveXJob", EXAMPLE, uid, True)


def test_every_pod_has_its_environment(grown, namespace):
    ports = {"coordinator": "COORDINATOR_PORT", "aggregator": "AGGREGATOR_PORT",
             "collector": "COLLECTOR_PORT", "learner": "LEARNER_PORT"}
    for pod in grown:
        values = {one.name: one.value for one in pod.spec.containers[0].env}
        assert values.items() >= {
            ports[role_of(pod)]: "80",
            "KUBERNETES_POD_NAME": pod.metadata.name, "KUBERNETES_POD_NAMESPACE": namespace,
            "KUBERNETES_SERVER_URL": "nervex-server.nervex-system:8080",
            "KUBERNETES_NERVEX_SERVER_URL": "nervex-server.nervex-system:8080",
            "KUBERNETES_COORDINATOR_URL": f"{EXAMPLE}-coordinator.{namespace}:80",
            "KUBERNETES_AGGREGATOR_URL": f"{EXAMPLE}-aggregator.{namespace}:80"}.items()


@pytest.mark.versions
def test_the_namespaces_headless_service_names_every_pod(grown, jobs, namespace):
    service = jobs.shared_service()
    assert service.metadata.labels == {"group-name": "nervex.sensetime.com", "controller-name": "nervex-operator"}
    assert service.metadata.owner_references is None
    assert (service.spec.cluster_ip, service.spec.publish_not_ready_addresses) == ("None", True)
    assert {(pod.spec.hostname, pod.spec.subdomain) for pod in grown} == {
        (pod.metadata.name, namespace) for pod in grown}
    jobs.wait_names(EXAMPLE, 4)
    assert jobs.services(EXAMPLE) == []


def test_every_pod_has_a_headless_service_of_its_name(per_pod_services, grown, jobs):
    assert {(pod.spec.hostname, pod.spec.subdomain) for pod in grown} == {(None, None)}
    jobs.wait_names(EXAMPLE, 4)
    services = jobs.services(EXAMPLE)
    assert [one.metadata.name for one in services] == [pod.metadata.name for pod in grown]
    for one in services:
        assert one.spec.cluster_ip == "None"
        assert one.spec.publish_not_ready_addresses
        assert [port.port for port in one.spec.ports] == [80]
        assert one.spec.selector.items() <= {"pod-name": one.metadata.name, "nervexjob-name": EXAMPLE,
                                             "group-name": "nervex.sensetime.com",
                                             "controller-name": "nervex-operator",
                                             "replica-type": one.metadata.labels["replica-type"]}.items()
        assert one.spec.selector["pod-name"] == one.metadata.name


@pytest.mark.versions
def test_every_pod_runs_where_the_plan_says(grown, jobs, core, namespace):
    (group,) = jobs.pod_groups(EXAMPLE)
    plan = placements(group)
    for pod in grown:
        assert pod.spec.scheduler_name == "nervex-scheduler"
        assert pod.metadata.annotations["nervex.sensetime.com/pod-group-uid"] == group["metadata"]["uid"]
        assert pod.spec.node_name == plan.pop(slot_of(pod))
        assert {"Scheduled"} <= scheduling_events(core, namespace, pod)
    assert plan == {}
    assert all(gang["committed"] for gang in group["status"]["gangs"])


def scheduling_events(core, namespace, pod):
    def look():
        events = core.list_namespaced_event(namespace, field_selector=f"involvedObject.uid={pod.metadata.uid}").items
        return {one.reason for one in events if "nervex-scheduler" in (one.reporting_component, one.source.component)}
    return wait_for(look, f"events of nervex-scheduler on {pod.metadata.name}")


def test_the_columns_show_the_jobs_state(grown, jobs, kubectl, namespace):
    jobs.wait_condition(EXAMPLE, "Ready")
    header, line = kubectl("get", "nervexjobs", "-n", namespace).stdout.splitlines()
    assert header.split()[:3] == ["NAME", "PHASE", "READY"]
    assert line.split()[:3] == [EXAMPLE, "Running", "4/4"]


def test_the_finished_coordinator_is_kept_at_the_end(grown, jobs, node_agent):
    node_agent.finish(f"{EXAMPLE}-coordinator")
    jobs.wait_phase(EXAMPLE, "Succeeded")
    (coordinator,) = jobs.wait_pods(EXAMPLE, 1)
    assert coordinator.metadata.name == f"{EXAMPLE}-coordinator"
    wait_for(lambda: not jobs.services(EXAMPLE), "the services to go")
    wait_for(lambda: not jobs.pod_groups(EXAMPLE), "the PodGroup to go")
    jobs.wait_event(EXAMPLE, "NerveXJobSucceeded")


def test_events_report_the_start_and_what_was_added(grown, jobs, node_agent):
    for reason in ("NerveXJobRunning", "SuccessfulCreate"):
        jobs.wait_event(EXAMPLE, reason)


def test_a_serial_job_has_a_coordinator_and_an_aggregator_only(jobs):
    body = job("serial")
    del body["spec"]["collector"], body["spec"]["learner"]
    jobs.create(body)
    pods = jobs.wait_pods("serial", 2, "Running")
    assert [role_of(pod) for pod in pods] == ["aggregator", "coordinator"]


def test_the_base_replicas_belong_to_the_gang(jobs):
    body = job("base")
    body["spec"]["collector"]["replicas"] = 3
    body["spec"]["learner"]["replicas"] = 2
    jobs.create(body)
    pods = jobs.wait_pods("base", 7, "Running")
    assert sorted(role_of(pod) for pod in pods) == ["aggregator"] + 3 * ["collector"] + ["coordinator"] + 2 * ["learner"]
    (group,) = jobs.pod_groups("base")
    assert [gang["name"] for gang in group["status"]["gangs"]] == ["base"]
    created = {role_of(pod): pod.metadata.creation_timestamp for pod in pods}
    assert created["coordinator"] == max(created.values())


def test_a_templates_own_fields_are_kept(jobs):
    body = job("mine")
    mine = body["spec"]["coordinator"]["template"]
    mine["metadata"] = {"labels": {"team": "rl"}, "annotations": {"note": "keep me"}}
    mine["spec"]["containers"][0]["env"] = [{"name": "COORDINATOR_PORT", "value": "1"}, {"name": "MINE", "value": "2"}]
    jobs.create(body)
    pod = next(pod for pod in jobs.wait_pods("mine", 2, "Running") if role_of(pod) == "coordinator")
    assert pod.metadata.labels["team"] == "rl"
    assert pod.metadata.annotations["note"] == "keep me"
    values = {one.name: one.value for one in pod.spec.containers[0].env}  # of repeats the last one counts
    assert values["MINE"] == "2"
    assert values["COORDINATOR_PORT"] == "80"


def test_all_objects_of_a_deleted_job_are_deleted(jobs):
    jobs.create(job("gone"))
    jobs.wait_pods("gone", 2, "Running")
    jobs.delete("gone")
    wait_for(lambda: not jobs.pods("gone") and not jobs.services("gone") and not jobs.pod_groups("gone"),
             "the garbage collector")
