"""kube-scheduler calls one replica of the extender, another one leads and plans. Tests concurrent writes of both,
the death of either, and lost replies while binds are held. Each talks to the API server through a proxy that holds a
request until the test releases it (docs/adr/2026-11-22-held-binds.md)."""

import contextlib
import json
import os
import signal

import pytest
import yaml
from tools.base import processes
from tools.cluster import pod_groups
from support.fault_proxy import FaultProxy, writes
from support import nodes
from support.jobs import job, template
from support.starts import annotation, status_of, version_of
from support.wait import wait_for

NAME = "both"
PODS = 4  # coordinator, aggregator, collector, learner
STATUS = "PATCH podgroups/status"
TAKE_OVER = 60
BOTH = ("extender", "extender-2")
PAUSE = "registry.k8s.io/pause:3.10"


class Sides:
    """.asked is the proxy of the extender that kube-scheduler calls, .leader that of the leader."""

    def __init__(self, cluster):
        self.cluster = cluster
        self._kubeconfig = cluster.settings.path("programs", "extender.kubeconfig")
        self.asked = self.leader = None

    @contextlib.contextmanager
    def installed(self):
        with open(self._kubeconfig, encoding="utf-8") as file:
            kept = file.read()
        try:
            self.cluster.start_second("extender", self._put_leader)
            self.asked = self._put_proxy(self._kubeconfig)
            self.cluster.restart("extender")
            yield self
        finally:
            self.calm()
            self._write(self._kubeconfig, kept)
            if "extender-2" in self.cluster.programs:
                self.cluster.drop_second("extender-2")
            self.cluster.restart("extender")
            for proxy in filter(None, (self.asked, self.leader)):
                proxy.close()

    def calm(self):
        for proxy in filter(None, (self.asked, self.leader)):
            proxy.calm()

    def take_parts(self):
        """Both run, the second one leads, and kube-scheduler calls the other."""
        for name in BOTH:
            if not processes.alive(self.cluster.programs[name]):
                self.start(name)
        wait_for(lambda: any(self.cluster.is_leader(name) for name in BOTH), "an extender to lead", TAKE_OVER)
        if self.cluster.is_leader("extender"):
            self.cluster.stop("extender")  # gives its lease back
            wait_for(lambda: self.cluster.is_leader("extender-2"), "extender-2 to lead", TAKE_OVER)
            self.start("extender")

    def kill(self, name):
        one = self.cluster.programs[name]
        assert processes.send(one, signal.SIGKILL)
        processes.wait_for_end(one)

    def start(self, name):
        one = self.cluster.programs[name]
        self.cluster.launch("extender", one["port"], one["metrics_port"], name=name)
        self.cluster.wait_until_ready(name)

    def restart(self, name):
        self.cluster.stop(name)
        self.start(name)

    def _put_leader(self, path):
        self.leader = self._put_proxy(path)

    def _put_proxy(self, path):
        with open(path, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        api = self.cluster.api()
        proxy = FaultProxy(api.server, api.certificate_authority, config["users"][0]["user"]["token"])
        config["clusters"][0]["cluster"] = {"server": proxy.url}
        self._write(path, yaml.safe_dump(config))
        return proxy

    @staticmethod
    def _write(path, text):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)


@pytest.fixture(scope="module")
def sides_of_module(target):
    if not target.cluster:
        pytest.skip("our programs are not local processes on this cluster")
    with Sides(target.cluster).installed() as sides:
        yield sides


@pytest.fixture
def sides(sides_of_module):
    """The two proxies, with each replica in its role at the start of the test."""
    sides_of_module.take_parts()
    yield sides_of_module
    sides_of_module.calm()


@pytest.fixture
def cluster(sides):
    """Not `programs`, which would stop the second replica after each test."""
    return sides.cluster


@pytest.fixture
def pair(cluster):
    """Two nodes with 1 GPU each; a learner goes to one of them."""
    with nodes.own_node(cluster.api(), 1) as first, nodes.own_node(cluster.api(), 1) as second:
        nodes.wait_usable(cluster.api(), [first, second])
        yield first, second


@pytest.fixture
def only(cluster):
    with nodes.own_node(cluster.api(), 1) as name:
        nodes.wait_usable(cluster.api(), [name])
        yield name


def gang(names):
    """Its learner goes to one of these nodes."""
    terms = [{"matchExpressions": [{"key": nodes.OWN, "operator": "In", "values": list(names)}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    return job(NAME, collector={"replicas": 1, "template": template()},
               learner={"replicas": 1, "template": template(gpus=1, affinity=affinity)})


def group_of(jobs):
    groups = jobs.pod_groups(NAME)
    return groups[0] if groups else None


def base_of(jobs):
    """The gang's status; {} while there is none."""
    return status_of(group_of(jobs) or {"status": {}}, "base") or {}


def learner_of(group):
    """(number, node) of its placement; None without a plan."""
    found = [(one["number"], one["node"]) for one in pod_groups.placements(group) if one["role"] == "learner"]
    return found[0] if found else None


def plan_of(jobs):
    """The placement numbers of its plan."""
    return sorted(one["number"] for one in pod_groups.placements(group_of(jobs)))


def plans_of(starts, uid):
    """Every plan of the gang so far, as sets of placement numbers, in order."""
    found = []
    for group in starts.groups[uid]:
        numbers = {one["number"] for one in pod_groups.placements(group)}
        if numbers and numbers not in found:
            found.append(numbers)
    return found


def bound_off_plan(starts):
    """Pods bound while their gang was not committed to exactly that placement."""
    found = []
    for pod in [one for one in list(starts.bound.values()) if annotation(one, "slot")]:
        before = [one for one in starts.groups.get(annotation(pod, "pod-group-uid"), [])
                  if version_of(one) < version_of(pod)]
        base = (status_of(before[-1], "base") if before else None) or {}
        places = {(f"{one['role']}/{one['ordinal']}", one["number"], one["node"])
                  for one in (pod_groups.placements(before[-1]) if before else [])}
        mine = annotation(pod, "slot"), int(annotation(pod, "placement")), pod["spec"]["nodeName"]
        if not base.get("committed") or mine not in places:
            found.append((mine, base, places))
    return found


def wait_whole(jobs, starts, observer, cluster):
    """Waits until the whole job runs and nothing is held; the job was never there in part before."""
    jobs.wait_phase(NAME, "Running", 120)
    pods = jobs.wait_pods(NAME, PODS, "Running", timeout=120)
    uid = group_of(jobs)["metadata"]["uid"]
    starts.catch_up()
    assert starts.is_whole(uid)
    assert starts.broken() == []
    assert starts.bound_of(uid)[-1][1] == "coordinator/0"
    observer.catch_up()
    assert observer.broken == []
    assert jobs.get(NAME)["status"]["attempt"] == 1
    number, node = learner_of(group_of(jobs))
    (learner,) = [pod for pod in pods if pod.metadata.labels["replica-type"] == "learner"]
    assert learner.spec.node_name == node
    assert learner.metadata.annotations["nervex.sensetime.com/placement"] == str(number)
    wait_for(lambda: cluster.metrics("extender")["nervex_extender_held_binds"] == 0, "no bind to be held any more")
    return uid


def bound(jobs):
    return [(pod.metadata.name, pod.spec.node_name) for pod in jobs.pods(NAME) if pod.spec.node_name]


def hold_commit(sides, namespace, after=False):
    return sides.asked.hold(writes(STATUS, namespace), after=after)


# -- a plan is dropped and committed at the same moment


def cordon(api, node):
    api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})


@pytest.mark.parametrize("first", ["the commit", "the new plan"])
@pytest.mark.scheduled
def test_of_a_commit_and_a_new_plan_at_the_same_moment_one_is_stored(
        jobs, cluster, sides, starts, observer, namespace, pair, first):
    """The learner's node is cordoned: the leader moves it, while the other replica commits the old placement."""
    commit = hold_commit(sides, namespace)
    jobs.create(gang(pair))
    assert json.loads(commit.wait(60).body)["status"]["gangs"][0]["committed"]
    old = learner_of(group_of(jobs))
    move = sides.leader.hold(writes(STATUS, namespace))
    cordon(cluster.api(), old[1])
    move.wait()
    assert bound(jobs) == []
    if first == "the commit":
        commit.release()
        wait_for(lambda: base_of(jobs).get("committed"), "the commit to be stored")
        jobs.wait_bound(NAME, PODS)
        move.release()
    else:
        move.release()
        wait_for(lambda: learner_of(group_of(jobs)) not in (None, old), "the new plan to be stored")
        assert not base_of(jobs).get("committed")
        commit.release()
    uid = wait_whole(jobs, starts, observer, cluster)
    assert bound_off_plan(starts) == []
    now = learner_of(group_of(jobs))
    assert (now == old) == (first == "the commit"), (old, now)
    assert len(plans_of(starts, uid)) == (1 if first == "the commit" else 2)


@pytest.mark.parametrize("first", ["the commit", "the end of the plan"])
@pytest.mark.scheduled
def test_of_a_commit_and_the_end_of_the_plan_at_the_same_moment_one_is_stored(
        jobs, core, cluster, sides, starts, observer, namespace, only, first):
    """Another pod takes the learner's node: the leader drops the plan, since no other node fits, while the other
    replica commits it."""
    commit = hold_commit(sides, namespace)
    jobs.create(gang([only]))
    commit.wait(60)
    drop = sides.leader.hold(writes(STATUS, namespace))
    core.create_namespaced_pod(namespace, {"metadata": {"name": "thief"}, "spec": {
        "nodeName": only, "containers": [{"name": "main", "image": PAUSE,
                                          "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})
    assert not json.loads(drop.wait().body)["status"]["gangs"][0].get("planned")
    if first == "the commit":
        commit.release()
        wait_for(lambda: base_of(jobs).get("committed"), "the commit to be stored")
        jobs.wait_bound(NAME, PODS)
        drop.release()
        core.delete_namespaced_pod("thief", namespace, grace_period_seconds=0)
    else:
        drop.release()
        wait_for(lambda: learner_of(group_of(jobs)) is None, "the plan to be dropped")
        commit.release()
        wait_for(lambda: (not jobs.pods(NAME), bound(jobs)), "the pods of the dropped plan to go")
        core.delete_namespaced_pod("thief", namespace, grace_period_seconds=0)
    jobs.wait_phase(NAME, "Running", 120)
    jobs.wait_pods(NAME, PODS, "Running", timeout=120)
    starts.catch_up()
    uid = group_of(jobs)["metadata"]["uid"]
    assert starts.is_whole(uid) and starts.broken() == []
    assert bound_off_plan(starts) == []
    assert len(plans_of(starts, uid)) == (1 if first == "the commit" else 2)
    assert jobs.get(NAME)["status"]["attempt"] == 1


@pytest.fixture
def impatient(sides, monkeypatch):
    """A leader that drops a plan unless it is bound at once."""
    monkeypatch.setenv("NERVEX_EXTENDER_ARGS",
                       f"{os.environ.get('NERVEX_EXTENDER_ARGS', '')} --hold-deadline=2s --plan-deadline=3s")
    sides.restart("extender-2")
    sides.take_parts()
    yield
    monkeypatch.undo()
    sides.restart("extender-2")


@pytest.mark.extended
@pytest.mark.parametrize("first", ["the commit", "the end of the plan"])
@pytest.mark.scheduled
def test_of_a_commit_and_the_expiry_of_the_plan_at_the_same_moment_one_is_stored(
        jobs, cluster, sides, impatient, starts, observer, namespace, pair, first):
    commit = hold_commit(sides, namespace)
    jobs.create(gang(pair))
    commit.wait(60)
    plan = plan_of(jobs)
    drop = sides.leader.hold(writes(STATUS, namespace))
    assert b"kube-scheduler" in drop.wait().body
    if first == "the commit":
        commit.release()
        jobs.wait_bound(NAME, PODS)
        drop.release()
    else:
        drop.release()
        wait_for(lambda: (plan_of(jobs) != plan, plan_of(jobs)), "the plan to be dropped")
        assert not base_of(jobs).get("committed")
        commit.release()
    uid = wait_whole(jobs, starts, observer, cluster)
    assert bound_off_plan(starts) == []
    assert (plan_of(jobs) == plan) == (first == "the commit")
    assert starts.is_whole(uid)


@pytest.mark.scheduled
def test_a_plan_expires_while_there_is_no_kube_scheduler_and_nothing_else_happens(
        jobs, cluster, sides, impatient, starts, observer, pair):
    cluster.stop("scheduler")
    try:
        jobs.create(gang(pair))

        def reason():
            return (base_of(jobs).get("reason") == "PlanExpired", base_of(jobs))
        wait_for(reason, "the plan to expire")
        assert "kube-scheduler has not bound any of 4 pods" in base_of(jobs)["message"]
    finally:
        cluster.start("scheduler")
    wait_whole(jobs, starts, observer, cluster)
    assert bound_off_plan(starts) == []


@pytest.mark.scheduled
def test_a_slot_that_moves_while_it_is_bound_ends_on_one_node(jobs, cluster, sides, starts, observer, namespace, pair):
    """After the commit: the leader does not know of a binding in progress, and moves the learner."""
    # A leader that loses its lease on a busy machine is started again: the other one, which knows, must not lead then.
    sides.asked.hold(lambda request: request.is_write and request.resource == "leases")
    binding = sides.asked.hold(lambda request: request.kind == "POST pods/binding" and "-learner-" in request.name)
    jobs.create(gang(pair))
    binding.wait(60)
    old = learner_of(group_of(jobs))
    cordon(cluster.api(), old[1])
    wait_for(lambda: learner_of(group_of(jobs)) not in (None, old), "the learner to move")
    binding.release()
    uid = wait_whole(jobs, starts, observer, cluster)
    new = learner_of(group_of(jobs))
    assert new[1] != old[1]
    assert {node for _, slot, node in starts.bound_of(uid) if slot == "learner/0"} <= {old[1], new[1]}


# -- killed while binds are held


@pytest.mark.parametrize("victims", [["extender"], ["extender-2"], ["extender", "extender-2"]],
                         ids=["the asked one", "the leader", "both"])
@pytest.mark.scheduled
def test_a_replica_that_is_killed_while_binds_are_held_leaves_no_gang_in_part(
        jobs, cluster, sides, starts, observer, namespace, pair, victims):
    """All are held, and the gang is about to be committed."""
    commit = hold_commit(sides, namespace)
    jobs.create(gang(pair))
    commit.wait(60)
    for name in victims:
        sides.kill(name)
    commit.drop() if "extender" in victims else commit.release()
    if "extender" in victims:
        assert bound(jobs) == []
    for name in victims:
        sides.start(name)
    uid = wait_whole(jobs, starts, observer, cluster)
    assert len(plans_of(starts, uid)) == 1
    assert bound_off_plan(starts) == []


# -- lost replies


def test_a_plan_whose_reply_is_lost_is_the_only_one(jobs, cluster, sides, starts, observer, namespace, pair):
    lost = sides.leader.hold(lambda request: writes(STATUS, namespace)(request) and b'"planned":true' in request.body,
                             after=True, only_one=True)
    jobs.create(gang(pair))
    lost.wait(60)
    assert learner_of(group_of(jobs)) is not None
    lost.drop()
    uid = wait_whole(jobs, starts, observer, cluster)
    assert len(plans_of(starts, uid)) == 1
    assert bound_off_plan(starts) == []


@pytest.mark.scheduled
def test_a_commit_whose_reply_is_lost_binds_the_gang(jobs, cluster, sides, starts, observer, namespace, pair):
    lost = sides.asked.hold(writes(STATUS, namespace), after=True, only_one=True)
    jobs.create(gang(pair))
    lost.wait(60)
    assert base_of(jobs).get("committed")
    assert bound(jobs) == []
    lost.drop()
    uid = wait_whole(jobs, starts, observer, cluster)
    assert len(plans_of(starts, uid)) == 1
    assert bound_off_plan(starts) == []


@pytest.mark.scheduled
def test_a_commit_that_never_arrived_is_written_again(jobs, cluster, sides, starts, observer, namespace, pair):
    lost = sides.asked.hold(writes(STATUS, namespace), only_one=True)
    jobs.create(gang(pair))
    lost.wait(60)
    assert not base_of(jobs).get("committed")
    lost.drop()
    uid = wait_whole(jobs, starts, observer, cluster)
    assert len(plans_of(starts, uid)) == 1
    assert bound_off_plan(starts) == []


@pytest.mark.extended
def test_a_refusal_whose_reply_is_lost_is_learned_once(jobs, core, cluster, sides, starts, observer, namespace, pair):
    """The replica that kube-scheduler calls drops the plan that kube-scheduler refuses."""
    body = gang(pair)
    spec = body["spec"]["learner"]["template"]["spec"]
    spec["affinity"]["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"e2e-both": "foreign"}}, "topologyKey": "kubernetes.io/hostname"}]}
    for node in pair:
        core.create_namespaced_pod(namespace, {
            "metadata": {"name": f"foreign-{pair.index(node)}", "labels": {"e2e-both": "foreign"}},
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": PAUSE}]}})
    lost = sides.asked.hold(writes(STATUS, namespace), after=True, only_one=True)
    jobs.create(body)
    assert b'"avoid"' in lost.wait(60).body
    (refused,) = {entry["node"] for entry in group_of(jobs)["status"]["avoid"]}
    lost.drop()
    (other,) = set(pair) - {refused}
    core.delete_namespaced_pod(f"foreign-{pair.index(other)}", namespace, grace_period_seconds=0)
    uid = wait_whole(jobs, starts, observer, cluster)
    assert [node for _, slot, node in starts.bound_of(uid) if slot == "learner/0"] == [other]
    assert bound_off_plan(starts) == []


# -- deleted and created again


@pytest.mark.parametrize("arrives", ["before the new PodGroup", "after it"])
@pytest.mark.scheduled
def test_a_commit_on_its_way_does_not_reach_the_job_that_was_created_again(
        jobs, cluster, sides, starts, observer, namespace, pair, arrives):
    """Both PodGroups have the same name."""
    commit = sides.asked.hold(writes(STATUS, namespace), only_one=True)
    jobs.create(gang(pair))
    commit.wait(60)
    old = group_of(jobs)["metadata"]
    jobs.delete(NAME)
    if arrives == "before the new PodGroup":
        commit.release()
    jobs.create(gang(pair))

    def again():
        now = group_of(jobs)
        return bool(now) and now["metadata"]["uid"] != old["uid"] and bool(pod_groups.placements(now)), now
    wait_for(again, "the new job's plan")
    assert group_of(jobs)["metadata"]["name"] == old["name"]
    commit.release()
    uid = wait_whole(jobs, starts, observer, cluster)
    assert uid != old["uid"]
    assert bound_off_plan(starts) == []
    if arrives == "after it":
        assert starts.bound_of(old["uid"]) == []
