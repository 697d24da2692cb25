"""The API server, etcd or the connection to them fails while programs watch: they recover on their own, running jobs
are not affected, and no program retries in a busy loop."""

import collections
import threading
import time

import kubernetes
import pytest
from tools.base import processes
from support.fault_proxy import writes
from support.jobs import job
from support.wait import away, conflict, lasting, wait_for

pytestmark = pytest.mark.long
OURS = ("webhook", "extender", "controller", "server")
OUTAGE = 3.0         # seconds
MOST_WHILE_AWAY = 20   # times that one program repeats one request in that time; a busy loop makes thousands
MOST_IN_A_SECOND = 150  # when all is well again and jobs are made: writes, lists and events
MOST_GROWTH = 16 << 10  # KiB of one program's memory over an outage


@pytest.fixture(autouse=True)
def bears_outages(jobs):
    jobs.not_yet = [away]


@pytest.fixture
def components(rig, components):
    """With our programs behind the rig's proxies."""
    return components


def memory(process):
    """Resident memory in KiB."""
    with open(f"/proc/{process['pid']}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def is_list(request):
    """True for a paged or a streamed list."""
    is_one = not request.is_watch or "sendInitialEvents=true" in request.target
    return request.method == "GET" and bool(request.resource) and not request.name and is_one


def most_repeated(requests):
    """The path with the most requests, and their number."""
    paths = collections.Counter(f"{one.method} {one.target.partition('?')[0]}" for one in requests)
    return next(iter(paths.most_common(1)), ("", 0))


class Watcher:
    """The state of our programs before an outage, and whether they survived it."""

    def __init__(self, rig):
        self.rig = rig
        self.programs = {name: dict(rig.cluster.programs[name]) for name in OURS}
        self.memory = {name: memory(one) for name, one in self.programs.items()}
        self.marks = {name: rig.proxies[name].mark() for name in OURS}

    def check(self):
        busiest = {name: self.rig.proxies[name].busiest_second(mark) for name, mark in self.marks.items()}
        print("requests in the busiest second:", busiest)
        gone = [name for name, one in self.programs.items() if not processes.alive(one)]
        assert gone == [], "programs that ended"
        assert {name: count for name, count in busiest.items() if count > MOST_IN_A_SECOND} == {}, "busy loops"
        grown = {name: memory(one) - self.memory[name] for name, one in self.programs.items()}
        print("memory grew by, KiB:", grown)
        assert {name: size for name, size in grown.items() if size > MOST_GROWTH} == {}, "memory kept"


@pytest.fixture
def watcher(rig):
    return Watcher(rig)


class RunningJob:
    """A job that runs through an outage and must not be affected."""

    def __init__(self, jobs):
        self.jobs = jobs
        body = job("through")
        body["spec"]["collector"]["replicas"] = 2
        jobs.create(body)
        jobs.wait_pods("through", 4, "Running")
        jobs.wait_phase("through", "Running")
        jobs.wait_condition("through", "Ready")
        self.pods = self.now()

    def now(self):
        return {pod.metadata.name: (pod.metadata.uid, pod.status.phase, pod.metadata.deletion_timestamp)
                for pod in self.jobs.pods("through")}

    def check(self, node_agent):
        assert self.now() == self.pods
        assert self.jobs.phase("through") == "Running"
        assert self.jobs.get("through")["status"]["attempt"] == 1
        node_agent.finish("through-coordinator")
        self.jobs.wait_phase("through", "Succeeded")


@pytest.fixture
def running(jobs):
    return RunningJob(jobs)


def until_a_new_job_runs(jobs, timeout=120):
    """Creates one as soon as the API server accepts it; returns the seconds until it ran."""
    begin = time.monotonic()

    def take():
        try:
            return jobs.create(job("afterwards"))
        except kubernetes.client.ApiException as error:
            if conflict(error):  # taken at the last try, whose answer was lost
                return True
            raise
    wait_for(take, "a job to be taken", timeout, not_yet=[away])
    jobs.wait_phase("afterwards", "Running", timeout=timeout)
    jobs.wait_pods("afterwards", 2, "Running", timeout=timeout)
    return time.monotonic() - begin


@pytest.mark.parametrize("component", ["kube-apiserver", pytest.param("etcd", marks=pytest.mark.extended)])
def test_a_coordinator_that_asks_meanwhile_is_told_to_retry(jobs, replicas_api, components, component):
    """Any answer except 2xx would end its communication permanently."""
    jobs.create(job("asks"))
    jobs.wait_phase("asks", "Running")
    components.kill(component)
    back = threading.Timer(OUTAGE, components.start, [component])
    back.start()
    replies = []

    def ask():
        replies.append(replicas_api.add(jobs.namespace, "asks-coordinator", collectors=1))
        return replies[-1].json["success"]
    wait_for(ask, "the server to take the request", 60)
    back.join()
    print("replies until the request was taken:", len(replies))
    assert {reply.status for reply in replies} == {200}, replies
    jobs.wait_pods("asks", 3, "Running")


@pytest.mark.parametrize("component", ["kube-apiserver", "etcd"])
def test_a_killed_component_comes_back(jobs, node_agent, life, observer, running, components, rig, watcher,
                                       component):
    components.kill(component)
    marks = {name: rig.proxies[name].mark() for name in OURS}
    lasting(OUTAGE)
    repeated = {name: most_repeated(rig.proxies[name].since(mark)) for name, mark in marks.items()}
    print("the most repeated request while it was away:", repeated)
    assert {name: one for name, one in repeated.items() if one[1] > MOST_WHILE_AWAY} == {}
    components.start(component)
    components.wait_until_ready()
    seconds = until_a_new_job_runs(jobs)
    print(f"{component} was away for {OUTAGE:g} s and more; a new job ran {seconds:.1f} s after it was ready again")
    running.check(node_agent)
    life.run()
    assert life.faults_seen(observer) == []
    watcher.check()


def test_an_expired_watch_lists_again(jobs, node_agent, life, observer, running, components,
                                                       rig, watcher):
    """The programs get no events while versions pass, then etcd compacts these versions and the API server restarts:
    a watch at its old version only gets "410 Gone"."""
    expired = {name: rig.proxies[name].expired for name in OURS}
    for proxy in rig.proxies.values():
        proxy.freeze_watches()
    jobs.create(job("unseen"))  # by the controller
    jobs.delete("unseen")
    components.kill("kube-apiserver")
    components.compact()
    components.start("kube-apiserver")
    components.wait_until_ready()
    for proxy in rig.proxies.values():
        proxy.cut_watches()
        proxy.thaw()
    until_a_new_job_runs(jobs)
    told = {name: rig.proxies[name].expired - count for name, count in expired.items()}
    lists = {name: len(rig.proxies[name].since(mark, is_list)) for name, mark in watcher.marks.items()}
    print("410 Gone, times:", told, "lists:", lists)
    # An API server that starts refuses with 403 until it knows its roles; after that one lists, too.
    assert sum(told.values()) > 0, "no client was told"
    assert all(lists[name] for name in ("extender", "controller", "server")), lists
    running.check(node_agent)
    life.run()
    assert life.faults_seen(observer) == []
    watcher.check()


def test_cut_watches_are_opened_again(rig, life, observer, watcher):
    def enough():
        now = {name: len(rig.proxies[name].watches) for name in OURS}
        return now["controller"] >= 5 and now["extender"] >= 3 and now["server"] >= 3, now
    wait_for(enough, "all watches to be open", 60)
    open_before = {name: len(rig.proxies[name].watches) for name in OURS}

    def all_open():
        now = {name: len(rig.proxies[name].watches) for name in OURS}
        return all(now[name] >= open_before[name] for name in OURS), now
    for _ in range(2):
        for name in OURS:
            assert rig.proxies[name].cut_watches() >= open_before[name]
        wait_for(all_open, f"the watches {open_before} to be opened again", 60)
    life.run()
    assert life.faults_seen(observer) == []
    watcher.check()


@pytest.mark.parametrize("program", ["extender", pytest.param("controller", marks=pytest.mark.extended), "server"])
def test_watches_may_come_late(rig, life, observer, watcher, program):
    """Earlier writes are not repeated: nothing is decided twice on a stale cache."""
    proxy = rig.proxies[program]
    life.create()
    proxy.freeze_watches()
    lasting(1.5)
    proxy.thaw()
    life.run(created=True)
    assert life.faults_seen(observer) == []
    watcher.check()


@pytest.mark.extended  # tests/kube/client_test.cpp has a stream that comes byte by byte
def test_watches_may_come_in_small_pieces(rig, life, observer, watcher):
    for name in OURS:
        rig.proxies[name].cut_watches()
        rig.proxies[name].trickle(100, 0.001)
    life.run()
    assert life.faults_seen(observer) == []
    watcher.check()


def test_an_outage_longer_than_the_leases_ends_only_the_leaders(jobs, node_agent, components, running,
                                                                             monkeypatch):
    """Like every leader elected by Kubernetes' rules. Restarting them is the kubelet's task."""
    leaders = ("controller", "extender")
    monkeypatch.setattr(components.cluster, "revives", False)
    for program in leaders:
        monkeypatch.setenv(f"NERVEX_{program.upper()}_ARGS",
                           "--leader-elect-lease-duration=3s --leader-elect-renew-deadline=2s "
                           "--leader-elect-retry-period=500ms")
        components.cluster.restart(program)
    for program in leaders:  # one that waits for its predecessor's lease does not end with it
        wait_for(lambda name=program: components.cluster.is_leader(name), f"{program} to lead", 60)
    before = {name: dict(components.cluster.programs[name]) for name in OURS}
    components.kill("kube-apiserver")
    wait_for(lambda: not any(processes.alive(before[name]) for name in leaders), "the leaders to end", 60)
    assert all(processes.alive(before[name]) for name in OURS if name not in leaders)
    components.start("kube-apiserver")
    components.wait_until_ready()
    monkeypatch.undo()
    for program in leaders:
        components.cluster.start(program)
    until_a_new_job_runs(jobs)
    running.check(node_agent)


def test_an_api_server_that_restarts_in_the_middle_of_a_start_takes_no_gang_back(jobs, components, rig):
    """It answers 401 and 403 until it has read its roles; that does not refuse the gang."""
    body = job("starts")
    body["spec"]["collector"]["replicas"] = 60
    proxy = rig.proxies["controller"]
    held = proxy.hold(writes("POST pods", jobs.namespace), nth=20)
    jobs.create(body)
    held.wait()
    components.kill("kube-apiserver")
    held.release()
    components.start("kube-apiserver")
    components.wait_until_ready()
    jobs.wait_phase("starts", "Running", timeout=120)
    jobs.wait_pods("starts", 62, "Running", timeout=120)
    status = jobs.get("starts")["status"]
    assert status["attempt"] == 1, status
    assert "lastAttempt" not in status, status
