"""Gangs of other operators start whole (docs/concepts/foreign-gangs.md): pods with our schedulerName and the label of a
scheduling.x-k8s.io PodGroup. At the end with a real operator, Kubeflow's."""

import contextlib
import signal

import pytest
from tools.base import processes
from tools.cluster import training_operator
from support import foreign_gangs, nodes
from support.foreign_gangs import LABEL, Gangs
from support.jobs import job, template
from support.wait import always, wait_for

pytestmark = pytest.mark.long

PATIENCE = 90


@pytest.fixture(scope="module")
def kind(target):
    """Installs the CRD. Messages about it elsewhere do not change: no other test has such PodGroups."""
    if not target.cluster:
        pytest.skip("the CRDs of this cluster are its owner's")
    api = target.cluster.api()
    foreign_gangs.install(api)
    foreign_gangs.wait_known(target.cluster)
    yield
    foreign_gangs.uninstall(api)


@pytest.fixture
def gangs(kind, programs, core, namespace):
    return Gangs(programs.api(), core, namespace)


@pytest.fixture
def two(programs):
    """Two nodes for this test with 2 GPUs each."""
    with contextlib.ExitStack() as stack:
        names = [stack.enter_context(nodes.own_node(programs.api(), 2)) for _ in range(2)]
        nodes.wait_usable(programs.api(), names)
        yield names


def held(programs):
    return programs.metrics("extender")["nervex_extender_held_binds"]


def test_of_two_competing_gangs_one_runs_whole_and_the_other_waits_without_a_bound_pod(gangs, two, observer):
    gangs.create("first", 3, nodes=two)
    gangs.wait_running("first", 3)
    gangs.create("second", 3, nodes=two)
    gangs.wait_message("second", "podgroup second waits")
    gangs.wait_event("second", "pods: 2 of 3 do not fit: each needs nvidia.com/gpu 1")
    always(lambda: gangs.bound("second") == [], "no pod of the second gang is bound", 3)
    gangs.wait_phase("first", "Running")
    gangs.wait_phase("second", "Scheduling")
    status = gangs.group("first")["status"]
    assert status["running"] == 3 and status["scheduleStartTime"]
    gangs.delete("first")
    gangs.wait_running("second", 3, PATIENCE)
    observer.catch_up()
    assert observer.broken == []


def test_minmember_is_enough_and_others_follow_when_there_is_capacity(gangs, two, programs):
    gangs.create("elastic", 6, min_member=3, nodes=two)
    gangs.wait_running("elastic", 4)
    always(lambda: len(gangs.bound("elastic")) == 4, "no more than fit", 2)
    gangs.core.delete_namespaced_pod("elastic-0", gangs.namespace, grace_period_seconds=0)
    gangs.wait_running("elastic", 4, PATIENCE)
    gangs.wait_phase("elastic", "Running")


def test_gangs_of_both_kinds_compete_and_each_is_whole(gangs, two, jobs, observer):
    """A foreign gang and a job each need more than half of the GPUs: one runs, then the other."""
    def own(name):
        terms = [{"matchExpressions": [{"key": nodes.OWN, "operator": "In", "values": two}]}]
        learner = template(gpus=1, affinity={"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
        return job(name, learner={"replicas": 3, "template": learner})

    gangs.create("foreign", 3, nodes=two)
    gangs.wait_running("foreign", 3)
    jobs.create(own("own"))
    jobs.wait_condition("own", "Scheduled", "False")
    always(lambda: jobs.pods("own") == [], "the job has no pods while it waits", 2)
    gangs.delete("foreign")
    jobs.wait_phase("own", "Running", PATIENCE)
    gangs.create("again", 3, nodes=two)
    gangs.wait_message("again", "podgroup again waits")
    always(lambda: gangs.bound("again") == [], "no pod of the foreign gang is bound", 2)
    jobs.delete("own")
    gangs.wait_running("again", 3, PATIENCE)
    observer.catch_up()
    assert observer.broken == []


@pytest.mark.extended
def test_what_only_kube_scheduler_knows_keeps_the_whole_gang_from_starting(gangs, two, core, namespace):
    """Pod affinity, which the planner does not check: one node refuses the gang's pods."""
    core.create_namespaced_pod(namespace, {
        "metadata": {"name": "obstacle", "labels": {"e2e-foreign": "obstacle"}},
        "spec": {"nodeName": two[0], "terminationGracePeriodSeconds": 0,
                 "containers": [{"name": "main", "image": foreign_gangs.PAUSE}]}})
    away = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"e2e-foreign": "obstacle"}}, "topologyKey": "kubernetes.io/hostname"}]}}
    gangs.create("shy", 2, gpus=2, nodes=two, affinity=away)
    gangs.wait_event("shy", "avoided after a pod was refused there", PATIENCE)
    assert gangs.bound("shy") == []
    core.delete_namespaced_pod("obstacle", namespace, grace_period_seconds=0)
    gangs.wait_running("shy", 2, 240)  # the node is avoided for a minute


@pytest.fixture
def half_started(gangs, two, programs):
    """A gang of 3 with two held binds: the third pod waits for a claim that does not exist."""
    gangs.create_group("held", 3)
    gangs.add_pods("held", range(2), nodes=two)
    claim = [{"name": "data", "persistentVolumeClaim": {"claimName": "later"}}]
    gangs.add_pods("held", [2], nodes=two, volumes=claim)
    wait_for(lambda: (held(programs) == 2, held(programs)), "two binds to be held")
    assert gangs.bound("held") == []
    return gangs


def free_the_third(gangs):
    """Replaces the unschedulable pod by one that kube-scheduler accepts."""
    spec = gangs.pods("held")[2].spec
    names = [term.match_fields[0].values[0] for term in
             spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution.node_selector_terms]
    gangs.core.delete_namespaced_pod("held-2", gangs.namespace, grace_period_seconds=0)

    def gone():
        return "held-2" not in [one.metadata.name for one in gangs.pods("held")]
    wait_for(gone, "the pod to be gone")
    gangs.add_pods("held", [2], nodes=names)


def test_an_extender_that_is_killed_while_binds_are_held_binds_nothing(half_started, programs):
    gangs = half_started
    processes.send(programs.programs["extender"], signal.SIGKILL)
    programs.start("extender")
    always(lambda: gangs.bound("held") == [], "no pod is bound", 3)
    free_the_third(gangs)
    gangs.wait_running("held", 3, PATIENCE)


def test_a_scheduler_that_is_killed_while_binds_are_held_binds_nothing(half_started, programs):
    gangs = half_started
    processes.send(programs.programs["scheduler"], signal.SIGKILL)
    programs.start("scheduler")
    always(lambda: gangs.bound("held") == [], "no pod is bound", 3)
    free_the_third(gangs)
    gangs.wait_running("held", 3, PATIENCE)


def test_a_pod_with_a_scheduling_gate_does_not_exist_yet(gangs, two, core, namespace):
    gangs.create_group("gated", 2)
    gangs.add_pods("gated", [0], nodes=two)
    gangs.add_pods("gated", [1], nodes=two, schedulingGates=[{"name": "e2e/later"}])
    gangs.wait_message("gated", "podgroup gated waits until 2 of its pods exist and fit")
    gangs.wait_event("gated", "1 of its 2 pods exist")
    gangs.wait_phase("gated", "Pending")
    core.patch_namespaced_pod("gated-1", namespace, {"spec": {"schedulingGates": None}})
    gangs.wait_running("gated", 2)


def test_pods_whose_podgroup_is_missing_wait_and_say_so(gangs, two):
    gangs.add_pods("late", range(2), nodes=two)
    gangs.wait_message("late", "podgroup late waits: it was not found")
    gangs.create_group("late", 2)
    gangs.wait_running("late", 2)


def test_the_crd_may_be_installed_later(gangs, two, programs):
    api = programs.api()
    try:
        foreign_gangs.uninstall(api)
        programs.restart("extender")  # is ready all the same
        gangs.add_pods("early", range(2), nodes=two)
        gangs.wait_message("early", "podgroup early waits: this cluster has no PodGroups of scheduling.x-k8s.io")
        always(lambda: gangs.bound("early") == [], "no pod is bound", 2)
    finally:
        foreign_gangs.install(api)
    gangs.create_group("early", 2)
    gangs.wait_running("early", 2)


def test_a_repeated_reason_is_one_event(gangs, two, programs):
    api = programs.api()
    gangs.create("hog", 3, nodes=two)
    gangs.wait_running("hog", 3)
    gangs.create("waits", 3, nodes=two)

    def counts(word):
        return [count or 1 for _, message, count in gangs.events("waits") if word in message]

    wait_for(lambda: counts("2 of 3"), "the reason")
    seen = sum(counts(""))
    for _ in range(2):
        api.patch(f"/api/v1/nodes/{two[0]}", {"spec": {"unschedulable": True}})
        wait_for(lambda: sum(counts("")) > seen, "the cordoned node to be told")
        api.patch(f"/api/v1/nodes/{two[0]}", {"spec": {"unschedulable": None}})
        wait_for(lambda: sum(counts("")) > seen + 1, "the node to be back")
        seen = sum(counts(""))
    assert max(counts("2 of 3")) > 1, gangs.events("waits")


# -- Kubeflow's operator


@pytest.fixture
def operator(kind, programs, namespace):
    """As administrator."""
    foreign_gangs.install(programs.api(), training_operator.crds())
    settings = programs.settings
    one = training_operator.TrainingOperator(
        programs.api(), namespace, settings.path("kubeconfig"), "nervex-scheduler",
        settings.path("logs", "training-operator.log"))
    one.start()
    yield one
    one.remove()


def tf_job(name, workers, names):
    worker = foreign_gangs.pod("unused", "unused", nodes=names)["spec"]
    worker["containers"][0]["name"] = "tensorflow"
    worker.pop("schedulerName")  # the operator sets it
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": name},
            "spec": {"tfReplicaSpecs": {"Worker": {"replicas": workers, "restartPolicy": "Never",
                                                   "template": {"spec": worker}}}}}


@pytest.mark.extended  # the tests above make the same objects without the operator
def test_a_tfjob_of_kubeflows_operator_starts_all_or_nothing(operator, gangs, two, jobs, namespace, programs, observer):
    """First a job of ours has half of the GPUs; then the TFJob gets all."""
    api = programs.api()
    terms = [{"matchExpressions": [{"key": nodes.OWN, "operator": "In", "values": two}]}]
    learner = template(gpus=1, affinity={"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
    jobs.create(job("own", learner={"replicas": 2, "template": learner}))
    jobs.wait_phase("own", "Running")
    api.post(f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs", tf_job("mnist", 4, two))

    def created():
        assert processes.alive(operator.process), "the operator has ended"
        pods = gangs.pods("mnist")
        return len(pods) == 4, [one.metadata.name for one in pods]
    wait_for(created, "the operator to create the TFJob's pods", PATIENCE)
    assert {one.metadata.labels[LABEL] for one in gangs.pods("mnist")} == {"mnist"}
    assert {one.spec.scheduler_name for one in gangs.pods("mnist")} == {"nervex-scheduler"}
    assert gangs.group("mnist")["spec"]["minMember"] == 4
    gangs.wait_message("mnist", "podgroup mnist waits")
    gangs.wait_event("mnist", "2 of 4 do not fit: each needs nvidia.com/gpu 1")
    always(lambda: gangs.bound("mnist") == [], "no pod of the TFJob is bound", 3)
    jobs.delete("own")
    gangs.wait_running("mnist", 4, PATIENCE)
    gangs.wait_phase("mnist", "Running")
    observer.catch_up()
    assert observer.broken == []
