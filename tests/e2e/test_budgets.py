"""What does a job cost the API server? Counts requests in its audit log; bench/ measures times."""

import time

import pytest
from support.audit import total
from support.jobs import job, template
from support.wait import wait_for

NAME = "budget"
WORKERS = 64
EVENTS = 25  # of one job, however many pods it has
# Of the job's status while it grows: the request is seen, planned, its pods are made, and counted as they run.
STATUS_UPDATES = 12


def small():
    return template(cpu="10m", memory="8Mi")


def test_growth_by_64_workers_takes_few_writes(jobs, replicas_api, node_agent, audit):
    """Counts all writes of our programs until the job has settled."""
    jobs.create(job(NAME, collector={"template": small()}))
    jobs.wait_phase(NAME, "Running")
    jobs.wait_condition(NAME, "Ready")
    before = audit.writes_when_quiet(jobs.namespace)
    assert replicas_api.add(jobs.namespace, f"{NAME}-coordinator", collectors=WORKERS).status == 200
    jobs.wait_pods(NAME, WORKERS + 2, "Running")
    wait_for(lambda: (jobs.get(NAME)["status"]["ready"] == f"{WORKERS + 2}/{WORKERS + 2}", jobs.get(NAME)["status"]),
             "all pods to be counted as ready")
    writes = audit.writes_when_quiet(jobs.namespace) - before
    print(writes)
    assert writes["controller", "create pods"] == WORKERS, writes
    ours = total(writes, "controller") + total(writes, "server")
    assert ours <= WORKERS + 5 + STATUS_UPDATES, f"pods, five more and the status are allowed: {writes}"
    extenders = total(writes, "extender")
    assert extenders <= WORKERS + 2, f"a binding for each pod and two for the plan are allowed: {writes}"

    node_agent.finish(f"{NAME}-coordinator")
    jobs.wait_phase(NAME, "Succeeded")
    jobs.wait_pods(NAME, 1)
    audit.writes_when_quiet(jobs.namespace)
    events = jobs.events(NAME)
    assert len(events) <= EVENTS, [(one.reason, one.message) for one in events]


SMALL_JOBS, SMALL_WORKERS = 20, 8  # with coordinator and aggregator ten pods each
SMALL_WRITES = 8  # of a job beside those of its pods, with the one that creates it and two of its status
STATUS_PERIOD = 2.0  # seconds; a slow start has another status write for each


def test_small_jobs_take_few_writes_beside_their_pods(jobs, audit):
    before = audit.writes_when_quiet(jobs.namespace)
    names = [f"small-{number}" for number in range(SMALL_JOBS)]
    began = time.monotonic()
    for name in names:
        jobs.create(job(name, collector={"replicas": SMALL_WORKERS, "template": small()}))
    for name in names:
        jobs.wait_phase(name, "Running")
        jobs.wait_condition(name, "Ready")
    seconds = time.monotonic() - began
    writes = audit.writes_when_quiet(jobs.namespace) - before
    pods, bindings = writes.pop(("controller", "create pods")), writes.pop(("extender", "create pods/binding"))
    writes.pop(("scheduler", "create events"))  # kube-scheduler's own: one of each pod
    for (program, what), count in sorted(writes.items()):
        print(f"{program:12}{what:32}{count / SMALL_JOBS:6.2f} per job; started within {seconds:.1f} s")
    assert pods == bindings == SMALL_JOBS * (SMALL_WORKERS + 2)
    status = writes["controller", "update nervexjobs/status"] / SMALL_JOBS
    assert status <= 2 + seconds / STATUS_PERIOD, writes
    assert 1 + sum(writes.values()) / SMALL_JOBS - max(0, status - 2) <= SMALL_WRITES, writes


GANGS = 10
CHANGES = 100  # of foreign pods


@pytest.fixture
def full(jobs):
    """Ten gangs too large for the cluster; each has its reason."""
    names = [f"waiting-{number}" for number in range(GANGS)]
    for name in names:
        jobs.create(job(name, learner={"replicas": 3, "template": template(gpus=1000)}))

    def told():
        conditions = {name: jobs.condition(name, "Scheduled") or {} for name in names}
        return all(one.get("reason") == "Unschedulable" for one in conditions.values()), conditions
    wait_for(told, "each to be told why it waits")
    return names


def test_waiting_gangs_write_nothing_while_other_pods_come_and_go(jobs, core, full, audit):
    """At most two writes per gang: its numbers may change once a minute, and the job repeats them."""
    audit.writes_when_quiet(jobs.namespace)

    def theirs():
        return audit.writes(jobs.namespace, about=lambda name: name.startswith("waiting-"))
    before = theirs()
    spec = template(cpu="100m")["spec"]
    for number in range(CHANGES // 2):
        name = f"foreign-{number}"
        core.create_namespaced_pod(jobs.namespace, {"metadata": {"name": name}, "spec": spec})
        core.delete_namespaced_pod(name, jobs.namespace, grace_period_seconds=0)
    jobs.create(job("small"))  # whose start shows that all of that was seen
    jobs.wait_phase("small", "Running")
    jobs.delete("small")
    audit.writes_when_quiet(jobs.namespace)
    writes = theirs() - before
    print(writes)
    assert not jobs.pods(full[0])
    assert sum(writes.values()) <= 2 * GANGS, writes
