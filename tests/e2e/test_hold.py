"""A bind is held until kube-scheduler has accepted every pod of the gang, so a gang starts whole even under
constraints that only kube-scheduler knows: here pod affinity (docs/adr/2026-11-22-held-binds.md)."""

import collections
import os
import signal
import time

import pytest
from tools.base import processes
from support import nodes
from support.audit import Audit
from support.cost import cpu_seconds
from support.jobs import job, template
from support.starts import annotation
from support.wait import always, lasting, wait_for

NAME = "holds"
FOREIGN = {"e2e-hold": "foreign"}
PAUSE = "registry.k8s.io/pause:3.10"
REFUSED = "anti-affinity"  # a word of kube-scheduler's own message


@pytest.fixture
def pair(programs):
    """Two nodes for this test, with 1 and 2 GPUs: a pod with 1 GPU goes to the first, which it fills."""
    with nodes.own_node(programs.api(), 1) as small, nodes.own_node(programs.api(), 2) as large:
        nodes.wait_usable(programs.api(), [small, large])
        yield small, large


@pytest.fixture
def only(programs):
    """One node for this test with 1 GPU."""
    with nodes.own_node(programs.api(), 1) as name:
        nodes.wait_usable(programs.api(), [name])
        yield name


def loner(names):
    """A template whose pods go to these nodes, except those with a foreign pod; the planner does not know that
    constraint."""
    terms = [{"matchExpressions": [{"key": nodes.OWN, "operator": "In", "values": list(names)}]}]
    return template(gpus=1, affinity={
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": FOREIGN}, "topologyKey": "kubernetes.io/hostname"}]}})


def gang(names, collectors=2):
    """Coordinator, aggregator, collectors and the learner that kube-scheduler may refuse."""
    return job(NAME, collector={"replicas": collectors, "template": template()},
               learner={"replicas": 1, "template": loner(names)})


PODS = 5  # of gang()


class Foreign:
    """A pod that keeps learners away from its node until remove()."""

    def __init__(self, core, namespace, node):
        self._core, self._namespace = core, namespace
        core.create_namespaced_pod(namespace, {
            "metadata": {"name": "foreign", "labels": FOREIGN},
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": PAUSE}]}})
        wait_for(lambda: core.read_namespaced_pod("foreign", namespace).status.phase == "Running", "the foreign pod")

    def remove(self):
        self._core.delete_namespaced_pod("foreign", self._namespace, grace_period_seconds=0)


def group_uid(jobs, name=NAME):
    (group,) = jobs.pod_groups(name)
    return group["metadata"]["uid"]


def bound(jobs, name=NAME):
    return [(pod.metadata.name, pod.spec.node_name) for pod in jobs.pods(name) if pod.spec.node_name]


def wait_whole(jobs, starts, observer, name=NAME, pods=PODS, timeout=120):
    """Waits until the whole job runs; no gang was ever bound in part before its commit."""
    jobs.wait_phase(name, "Running", timeout)
    jobs.wait_pods(name, pods, "Running", timeout=timeout)
    starts.catch_up()
    assert starts.is_whole(group_uid(jobs, name))
    assert starts.broken() == []
    observer.catch_up()
    assert observer.broken == []


def wait_held(programs, count):
    """Waits until this many binds are held."""
    def look():
        held = programs.metrics("extender")["nervex_extender_held_binds"]
        return held == count, held
    wait_for(look, f"{count} binds to be held")


def wait_refused(jobs, starts):
    """Waits until kube-scheduler has refused a plan; returns (version, gang's status, avoid) of that moment."""
    def look():
        seen = starts.refusals(group_uid(jobs)) if jobs.pod_groups(NAME) else []
        return bool(seen), seen
    wait_for(look, "a plan to be refused")
    return starts.refusals(group_uid(jobs))[0]


# -- refused by kube-scheduler


@pytest.mark.versions
def test_a_gang_goes_elsewhere_as_a_whole_when_kube_scheduler_refuses_one_pod(
        jobs, core, namespace, starts, observer, pair):
    small, large = pair
    Foreign(core, namespace, small)
    began = time.monotonic()
    jobs.create(gang(pair))
    at, refused, avoid = wait_refused(jobs, starts)
    assert refused["reason"] == "RefusedByScheduler" and not refused["planned"], refused
    assert f"kube-scheduler refused learner/0 on node {small}" in refused["message"], refused
    assert REFUSED in refused["message"], refused
    assert REFUSED in refused["refusals"]["message"], refused
    (entry,) = avoid
    assert (entry["set"], entry["node"], entry["atMost"], entry["times"]) == ("learner", small, 0, 1)

    wait_whole(jobs, starts, observer)
    print(f"whole {time.monotonic() - began:.1f} s after it was created, after {len(starts.refusals(group_uid(jobs)))} "
          "refused plan(s)")
    uid = group_uid(jobs)
    assert starts.bound_of(uid)[0][0] > at, "a pod was bound before the refusal"
    assert [node for _, slot, node in starts.bound_of(uid) if slot == "learner/0"] == [large]
    assert jobs.get(NAME)["status"]["attempt"] == 1
    (group,) = jobs.pod_groups(NAME)
    assert [(one["set"], one["node"]) for one in group["status"]["avoid"]] == [("learner", small)]


@pytest.mark.extended
def test_a_gang_without_another_node_waits_with_kube_schedulers_words_and_starts_by_itself(
        jobs, core, namespace, starts, observer, only):
    foreign = Foreign(core, namespace, only)
    jobs.create(gang([only]))
    wait_refused(jobs, starts)

    def told():
        said = jobs.condition(NAME, "Scheduled") or {}
        return said.get("status") == "False" and REFUSED in said.get("message", ""), said
    wait_for(told, "the job to say what kube-scheduler said")
    print(jobs.condition(NAME, "Scheduled")["message"])
    wait_for(lambda: (not jobs.pods(NAME), bound(jobs)), "the pods of the refused plan to go")
    always(lambda: (told()[0], told()[1]), "the reason stays readable while it waits", 5)
    assert jobs.phase(NAME) == "Created"
    starts.catch_up()
    assert starts.bound_of(group_uid(jobs)) == []

    foreign.remove()
    began = time.monotonic()
    wait_whole(jobs, starts, observer, timeout=180)
    print(f"whole {time.monotonic() - began:.1f} s after the obstacle went")
    assert jobs.get(NAME)["status"]["attempt"] == 1


# -- while binds are held


@pytest.fixture
def held(jobs, core, programs, namespace, only):
    """A gang whose learner cannot be scheduled, while the calls of all others are held; yields the obstacle."""
    foreign = Foreign(core, namespace, only)
    jobs.create(gang([only]))
    wait_held(programs, PODS - 1)
    return foreign


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_an_extender_that_ends_while_binds_are_held_leaves_no_gang_in_part(
        jobs, programs, starts, observer, held, how):
    began = time.monotonic()
    process = programs.programs["extender"]
    processes.send(process, how)
    # The program promises to end within 5 s; it is killed after those.
    assert how == signal.SIGKILL or programs.stop("extender", patience=5), "it did not end within 5 s of SIGTERM"
    processes.wait_for_end(process)
    print(f"ended {time.monotonic() - began:.2f} s after {how.name}")
    assert bound(jobs) == []
    programs.start("extender")
    held.remove()
    began = time.monotonic()
    wait_whole(jobs, starts, observer)
    print(f"whole {time.monotonic() - began:.1f} s after the obstacle went")


def test_a_kube_scheduler_that_is_killed_while_binds_are_held_leaves_no_gang_in_part(
        jobs, programs, starts, observer, held):
    process = programs.programs["scheduler"]
    processes.send(process, signal.SIGKILL)
    processes.wait_for_end(process)
    wait_held(programs, 0)  # their caller has gone
    assert bound(jobs) == []
    programs.start("scheduler")
    held.remove()
    wait_whole(jobs, starts, observer)


@pytest.mark.scheduled
def test_a_job_deleted_while_its_binds_are_held_and_created_again_starts_whole(
        jobs, programs, starts, observer, held, only):
    old = group_uid(jobs)
    jobs.delete(NAME)
    wait_held(programs, 0)  # until the garbage collector comes to its pods, the old gang may start as well
    held.remove()
    jobs.create(gang([only]))
    wait_whole(jobs, starts, observer)
    assert starts.bound_of(old) == []
    assert group_uid(jobs) != old
    wait_held(programs, 0)


# -- when all are accepted


def test_the_coordinator_is_bound_last(jobs, starts, observer):
    jobs.create(job(NAME, collector={"replicas": 11, "template": template()}))
    wait_whole(jobs, starts, observer, pods=13)
    order = [slot for _, slot, _ in starts.bound_of(group_uid(jobs))]
    assert len(order) == 13
    assert order[-1] == "coordinator/0", order


@pytest.fixture
def holds_none(programs, monkeypatch):
    monkeypatch.setenv("NERVEX_EXTENDER_ARGS",
                       f"{os.environ.get('NERVEX_EXTENDER_ARGS', '')} --hold-binds-up-to=0")
    programs.restart("extender")
    yield
    monkeypatch.undo()
    programs.restart("extender")


def test_the_coordinator_is_bound_last_also_when_no_gang_is_held(holds_none, jobs, starts, observer):
    jobs.create(job(NAME, collector={"replicas": 3, "template": template()}))
    wait_whole(jobs, starts, observer)
    assert starts.bound_of(group_uid(jobs))[-1][1] == "coordinator/0"


# -- more gangs than capacity

JOBS, FIT, ON_A_NODE = 40, 20, 15


@pytest.fixture
def small_pool(programs):
    """Nodes for 20 gangs; yields the label that selects them."""
    with nodes.own_nodes(programs.api(), *[{}] * FIT) as (name, names):
        nodes.wait_usable(programs.api(), names)
        yield {nodes.OWN: name}


@pytest.mark.extended
def test_if_not_all_gangs_fit_each_is_whole_or_absent(jobs, programs, starts, observer, small_pool):
    """Coordinator and 14 collectors fill a node; the aggregator goes elsewhere."""
    one = template(cpu="4200m", nodeSelector=small_pool)  # 15 of them to a node with 64 CPUs
    names = [f"{NAME}-{i}" for i in range(JOBS)]
    began = time.monotonic()
    for name in names:
        jobs.create(job(name, coordinator={"template": one}, collector={"replicas": ON_A_NODE - 1, "template": one}))

    def settled():
        by_group = collections.Counter(annotation(pod, "pod-group-uid") for pod in list(starts.bound.values()))
        states = collections.Counter((jobs.phase(name), (jobs.condition(name, "Scheduled") or {}).get("status"))
                                     for name in names)
        return (sorted(by_group.values()) == [ON_A_NODE + 1] * FIT
                and states == {("Running", "True"): FIT, ("Created", "False"): JOBS - FIT}), (states, by_group)
    wait_for(settled, f"{FIT} of {JOBS} gangs to run", 180)
    print(f"{FIT} of {JOBS} gangs whole {time.monotonic() - began:.1f} s after the first was created")
    starts.catch_up()
    assert starts.broken() == []
    whole = [uid for uid in starts.groups if starts.bound_of(uid)]
    assert len(whole) == FIT and all(starts.is_whole(uid) for uid in whole)
    assert all(starts.bound_of(uid)[-1][1] == "coordinator/0" for uid in whole)
    observer.catch_up()
    assert observer.broken == []

    # Those that wait cost nothing: the API server's own work is what is left (it is never at rest).
    Audit(programs.settings).writes_when_quiet(jobs.namespace)
    calm, before = Audit(programs.settings), cpu_seconds(programs)
    lasting(30)
    used = {name: round(seconds - before[name], 2) for name, seconds in cpu_seconds(programs).items()}
    print(f"CPU seconds in 30 s with {JOBS - FIT} gangs that wait: {used}")
    assert not calm.writes(jobs.namespace)
    starts.catch_up()
    assert len(starts.bound) == FIT * (ON_A_NODE + 1)


# -- gangs that only kube-scheduler keeps apart


def rivals(name, labels_of_nodes, learners):
    """A job whose learners, three to a node, share no node with those of other jobs."""
    shy = template(cpu="20", nodeSelector=labels_of_nodes, affinity={
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
            "labelSelector": {"matchLabels": FOREIGN, "matchExpressions": [
                {"key": "e2e-hold-job", "operator": "NotIn", "values": [name]}]},
            "topologyKey": "kubernetes.io/hostname"}]}})
    shy["metadata"] = {"labels": {**FOREIGN, "e2e-hold-job": name}}
    return job(name, learner={"replicas": learners, "template": shy})


def test_gangs_that_refuse_each_other_start_whole_one_after_another(jobs, programs, starts, observer):
    """Each of three gangs needs nodes for itself. The planner does not know that and lets them share. The first one
    takes two or three of the four nodes, so that the others may lack capacity until it ends."""
    with nodes.own_nodes(programs.api(), *[{}] * 4) as (pool, machines):
        nodes.wait_usable(programs.api(), machines)
        names = [f"{NAME}-{i}" for i in range(3)]
        for name in names:
            jobs.create(rivals(name, {nodes.OWN: pool}, 5))

        def running():
            return [name for name in names if jobs.phase(name) == "Running"]

        def refused():
            return {uid: len(starts.refusals(uid)) for uid in list(starts.groups)}
        first = wait_for(running, "a gang to run")
        wait_for(lambda: (sum(refused().values()) >= 1, refused()), "another gang's plan to be refused")
        for name in first:
            jobs.delete(name)
        began = time.monotonic()
        names = [name for name in names if name not in first]
        (second, *_) = wait_for(running, "another gang to run", 240)
        print(f"{second} runs {time.monotonic() - began:.1f} s after {first} ended; plans refused: {refused()}")
        wait_whole(jobs, starts, observer, second, 7)
        assert all(starts.is_whole(uid) or not starts.bound_of(uid) for uid in starts.groups)
