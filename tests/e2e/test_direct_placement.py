"""--direct-placement: the base gang is created on its nodes, bypassing kube-scheduler. The coordinator goes through
kube-scheduler, and is bound after the kubelets have started all others (docs/adr/2026-11-23-direct-placement.md)."""

import contextlib
import os
import re

import kubernetes
import pytest
from tools.cluster import kubelet
from support.fault_proxy import writes
from support import nodes
from support.jobs import job, template
from support.wait import wait_for

NAME = "direct"
PODS = 5  # coordinator, aggregator, two collectors and a learner
REFUSED = "DirectPlacementRefused"


@pytest.fixture
def direct(controller_with):
    """The controller runs with the flag until the test ends."""
    controller_with("--direct-placement")


def gang(name=NAME, collectors=None):
    return job(name, collector={"replicas": 2, "template": collectors or template()},
               learner={"replicas": 1, "template": template()})


def is_coordinator(pod):
    return pod.metadata.labels["replica-type"] == "coordinator"


def is_pinned(pod):
    """Pinned to its node for kube-scheduler: it was not created there."""
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    return bool(required) and any(field.key == "metadata.name" for term in required.node_selector_terms
                                  for field in term.match_fields or [])


def base(jobs, name=NAME):
    (group,) = jobs.pod_groups(name)
    return next(one for one in group["status"]["gangs"] if one["name"] == "base")


def wait_whole(jobs, starts, observer, pods=PODS, attempt=1, timeout=60):
    """Waits until the whole job runs. Every pod was bound after its gang was committed, and the coordinator last."""
    jobs.wait_phase(NAME, "Running", timeout)
    found = jobs.wait_pods(NAME, pods, "Running", timeout=timeout)
    assert jobs.get(NAME)["status"]["attempt"] == attempt
    starts.catch_up()
    (group,) = jobs.pod_groups(NAME)
    uid = group["metadata"]["uid"]
    assert starts.is_whole(uid)
    assert starts.broken() == []
    assert starts.bound_of(uid)[-1][1] == "coordinator/0", starts.bound_of(uid)
    observer.catch_up()
    assert observer.broken == []
    return found


@pytest.mark.versions
def test_workers_are_created_on_their_nodes_and_the_coordinator_is_bound_after_them(
        direct, jobs, audit, namespace, starts, observer):
    jobs.create(gang())
    found = wait_whole(jobs, starts, observer)
    assert {pod.metadata.name for pod in found if is_pinned(pod)} == {f"{NAME}-coordinator"}
    assert base(jobs)["directThrough"] == PODS
    written = audit.writes_when_quiet(namespace)
    assert written["extender", "create pods/binding"] == 1
    assert written["extender", "patch podgroups/status"] == 1, "plan and commit are one write"
    assert written["controller", "create pods"] == PODS


@pytest.mark.versions
@pytest.mark.scheduled
def test_direct_placement_is_off_by_default(controller_with, jobs, audit, namespace, starts, observer):
    controller_with()
    jobs.create(gang())
    found = wait_whole(jobs, starts, observer)
    assert all(is_pinned(pod) for pod in found)
    assert "directThrough" not in base(jobs)
    assert audit.writes_when_quiet(namespace)["extender", "create pods/binding"] == PODS


@pytest.mark.parametrize("special", [
    {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                                    "whenUnsatisfiable": "ScheduleAnyway"}]},
    {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}]},
], ids=["spread", "claim"])
def test_a_template_that_the_planner_does_not_know_all_of_goes_through_kube_scheduler(direct, jobs, special):
    jobs.create(gang(collectors=template(**special)))
    found = jobs.wait_pods(NAME, PODS)
    assert all(is_pinned(pod) for pod in found)
    (group,) = jobs.pod_groups(NAME)
    assert "placement" not in group["spec"]


def test_a_worker_that_its_kubelet_rejects_holds_the_coordinator_until_its_successor_is_bound(
        direct, jobs, starts, observer):
    rejected = template()
    rejected["metadata"] = {"annotations": kubelet.annotations(rejected="OutOfcpu")}
    jobs.create(gang(collectors=rejected))
    found = wait_whole(jobs, starts, observer, timeout=120)
    successors = [pod for pod in found if pod.metadata.annotations["nervex.sensetime.com/incarnation"] == "1"]
    assert len(successors) == 2
    assert all(is_pinned(pod) for pod in successors), "what replaces a pod goes through kube-scheduler"
    (group,) = jobs.pod_groups(NAME)
    bound = starts.bound_of(group["metadata"]["uid"])
    assert [slot for _, slot, _ in bound].count("collector/0") == 2, bound


def test_a_kubelet_that_does_nothing_holds_the_coordinator(direct, jobs, programs, starts, observer):
    """Its node is Ready, and the pod stays Pending: only the fence shows that the gang is incomplete."""
    with nodes.own_node(programs.api()) as name:
        nodes.wait_usable(programs.api(), [name])
        silent = template(nodeSelector={nodes.OWN: name})
        silent["metadata"] = {"annotations": kubelet.annotations(silent="yes")}
        jobs.create(gang(collectors=silent))
        wait_for(lambda: (sum(bool(pod.spec.node_name) for pod in jobs.pods(NAME)) == PODS - 1, jobs.pods(NAME)),
                 "all but the coordinator to be bound")

        def told():
            events = jobs.core.list_namespaced_event(
                jobs.namespace, field_selector=f"involvedObject.name={NAME}-coordinator").items
            texts = [event.message for event in events]
            return any(re.search(r"2 of 5 pods are not started yet: collector/\d \(on " + name, text)
                       for text in texts), texts
        wait_for(told, "kube-scheduler to say what the coordinator waits for", 60)
        assert jobs.phase(NAME) == "Created"
        for pod in jobs.pods(NAME, "collector"):
            jobs.core.patch_namespaced_pod(pod.metadata.name, jobs.namespace,
                                           {"metadata": {"annotations": {"nervex-e2e/silent": None}}})
        wait_whole(jobs, starts, observer, timeout=120)


@contextlib.contextmanager
def no_node_names(api_client, core, namespace):
    """An admission policy that refuses pods with a node name."""
    admission = kubernetes.client.AdmissionregistrationV1Api(api_client)
    name = f"no-node-names-{namespace}"
    there = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    admission.create_validating_admission_policy({
        "metadata": {"name": name},
        "spec": {"matchConstraints": {**there, "resourceRules": [
                     {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]},
                 "validations": [{"expression": "!has(object.spec.nodeName)",
                                  "message": "pods go through the scheduler here"}]}})
    admission.create_validating_admission_policy_binding({
        "metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}})
    pod = {"metadata": {"name": "probe"}, "spec": {"nodeName": "nowhere", "containers": [
        {"name": "main", "image": "registry.k8s.io/pause:3.10"}]}}

    def works():
        try:
            core.create_namespaced_pod(namespace, pod, dry_run="All")
        except kubernetes.client.ApiException as error:
            return "pods go through the scheduler here" in error.body, error.body
        return False, "the pod was let in"
    try:
        wait_for(works, "the policy to be in force")
        yield
    finally:
        admission.delete_validating_admission_policy_binding(name)
        admission.delete_validating_admission_policy(name)


def test_a_policy_against_node_names_makes_the_job_go_through_kube_scheduler(
        direct, jobs, api_client, core, namespace, starts, observer):
    with no_node_names(api_client, core, namespace):
        jobs.create(gang())
        found = wait_whole(jobs, starts, observer)
        assert all(is_pinned(pod) for pod in found)
        told = jobs.wait_condition(NAME, REFUSED)
        assert "pods go through the scheduler here" in told["message"]
        jobs.wait_event(NAME, REFUSED)
    (group,) = jobs.pod_groups(NAME)
    assert "placement" not in group["spec"]


# -- programs die


@pytest.fixture
def direct_rig(rig, monkeypatch):
    monkeypatch.setenv("NERVEX_CONTROLLER_ARGS", f"{os.environ['NERVEX_CONTROLLER_ARGS']} --direct-placement")
    rig.cluster.restart("controller")
    yield rig
    rig.calm()
    monkeypatch.undo()
    rig.cluster.restart("controller")


@pytest.mark.parametrize("program, kind, nth, after, goes_on", [
    ("extender", "PATCH podgroups/status", 1, False, False),
    ("extender", "PATCH podgroups/status", 1, False, True),   # stored when its successor is at work
    ("extender", "PATCH podgroups/status", 1, True, False),
    ("controller", "POST pods", 2, False, False),
    ("controller", "POST pods", 2, False, True),
    ("controller", "POST pods", 5, False, False),             # the coordinator's
    ("extender", "POST pods/binding", 1, False, False),
    ("extender", "POST pods/binding", 1, True, False),
], ids=["before-the-commit", "late-commit", "after-the-commit", "two-workers", "late-worker", "before-the-coordinator",
        "before-the-bind", "after-the-bind"])
def test_a_crash_during_direct_placement_leaves_a_gang_that_starts_whole(
        direct_rig, jobs, namespace, starts, observer, program, kind, nth, after, goes_on):
    hold = direct_rig.proxies[program].hold(writes(kind, namespace), nth=nth, after=after)
    jobs.create(gang())
    hold.wait()
    direct_rig.kill(program)
    if not goes_on:
        hold.drop()
    direct_rig.start(program)
    hold.release()
    found = wait_whole(jobs, starts, observer, timeout=120)
    assert {pod.metadata.name for pod in found if is_pinned(pod)} == {f"{NAME}-coordinator"}
