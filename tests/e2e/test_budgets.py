"""What a job costs the API server, counted in its audit log. Counts, no times: those are for bench/."""

import os

import pytest
from harness import control_plane
from support.audit import Audit, total
from support.jobs import job, template
from support.wait import wait_for

NAME = "budget"
WORKERS = 64
EVENTS = 25  # of one job, however many pods it has


@pytest.fixture
def audit(target):
    if not target.cluster or not os.path.exists(control_plane.audit_log(target.cluster.settings)):
        pytest.skip("the audit log of this cluster is its owner's")
    return Audit(target.cluster.settings)


def small():
    return template(cpu="10m", memory="8Mi")


def test_growth_by_64_workers_takes_few_writes(jobs, replicas_api, node_agent, audit):
    jobs.create(job(NAME, collector={"template": small()}))
    jobs.wait_phase(NAME, "Running")
    wait_for(lambda: jobs.condition(NAME, "Ready")["status"] == "True", "the base gang to be ready")
    before = audit.writes(jobs.namespace)
    assert replicas_api.add(jobs.namespace, f"{NAME}-coordinator", collectors=WORKERS).status == 200
    wait_for(lambda: (audit.writes(jobs.namespace) - before)["controller", "create pods"] >= WORKERS,
             "all pods to be made", 60)
    writes = audit.writes(jobs.namespace) - before
    ours = total(writes, "controller") + total(writes, "server")
    assert ours <= WORKERS * 2 + 5, f"pods, services and five more are allowed: {writes}"
    jobs.wait_pods(NAME, WORKERS + 2, "Running", timeout=60)
    writes = audit.writes(jobs.namespace) - before
    extenders = total(writes, "extender")
    assert extenders <= WORKERS + 2, f"a binding for each pod and two for the plan are allowed: {writes}"

    node_agent.finish(f"{NAME}-coordinator")
    jobs.wait_phase(NAME, "Succeeded")
    jobs.wait_pods(NAME, 1, timeout=60)
    events = jobs.events(NAME)
    assert len(events) <= EVENTS, [(one.reason, one.message) for one in events]


GANGS = 10
CHANGES = 100  # of foreign pods


@pytest.fixture
def full(jobs):
    """Ten gangs that no cluster has room for; each has been told why."""
    names = [f"waiting-{number}" for number in range(GANGS)]
    for name in names:
        jobs.create(job(name, learner={"replicas": 3, "template": template(gpus=1000)}))
    for name in names:
        jobs.wait_condition(name, "Scheduled", "False")
        wait_for(lambda one=name: jobs.condition(one, "Scheduled")["reason"] == "Unschedulable",
                 f"{name} to be told why it waits")
    return names


def test_waiting_gangs_write_nothing_while_other_pods_come_and_go(jobs, core, full, audit):
    """At most two writes of each gang: its numbers may change once a minute, and the job repeats them."""
    before = audit.writes(jobs.namespace)
    spec = template(cpu="100m")["spec"]
    for number in range(CHANGES // 2):
        name = f"foreign-{number}"
        core.create_namespaced_pod(jobs.namespace, {"metadata": {"name": name}, "spec": spec})
        core.delete_namespaced_pod(name, jobs.namespace, grace_period_seconds=0)
    jobs.create(job("small"))  # whose start shows that all of that was seen
    jobs.wait_phase("small", "Running")
    jobs.delete("small")
    writes = audit.writes(jobs.namespace) - before
    waiting = {what: count for what, count in writes.items() if what[1] in (
        "patch podgroups/status", "update podgroups/status", "create events", "patch events")}
    assert not jobs.pods(full[0])
    # The small job's own: two for its plan, two for its status, its events.
    assert sum(waiting.values()) <= 2 * GANGS + 8, writes
