"""Held binds under load, and when the API server does not answer one of them: one gang's problem does not affect
others."""

import re

import pytest
from tools.base import processes
from support import nodes
from support.jobs import job, template
from support.wait import wait_for

PAUSE = "registry.k8s.io/pause:3.10"
PODS = 1000  # of the largest gang whose binds are held
# What kube-scheduler says when the extender does not take its call, or not in time.
TROUBLE = re.compile(r"connection refused|connection reset|EOF|deadline exceeded|Client\.Timeout|cannot start now")


def is_commit_of(name):
    """A commit of a job's first attempt."""
    def match(request):
        return (request.kind == "PATCH podgroups/status" and request.name == f"{name}-1"
                and b'"committed":true' in request.body)
    return match


def test_a_commit_that_hangs_holds_up_neither_other_gangs_nor_filter(jobs, rig, starts, observer):
    hold = rig.proxies["extender"].hold(is_commit_of("hangs"))
    jobs.create(job("hangs", collector={"replicas": 3, "template": template()}))
    hold.wait()
    jobs.create(job("other", collector={"replicas": 3, "template": template()}))
    jobs.wait_phase("other", "Running")
    jobs.core.create_namespaced_pod(jobs.namespace, {
        "metadata": {"name": "plain"},
        "spec": {"schedulerName": "nervex-scheduler", "containers": [{"name": "main", "image": PAUSE}]}})
    wait_for(lambda: jobs.core.read_namespaced_pod("plain", jobs.namespace).spec.node_name, "a plain pod to be bound")
    assert [pod.metadata.name for pod in jobs.pods("hangs") if pod.spec.node_name] == []
    hold.release()
    jobs.wait_phase("hangs", "Running")
    starts.catch_up()
    assert starts.broken() == []
    observer.catch_up()
    assert observer.broken == []


@pytest.fixture
def scheduler_stopped(programs):
    programs.stop("scheduler")
    yield
    if not processes.alive(programs.programs["scheduler"]):
        programs.start("scheduler")


@pytest.fixture
def pool(programs):
    """Nodes for this many pods, 110 each; yields the label that selects them."""
    with nodes.own_nodes(programs.api(), *[{}] * (PODS // 100)) as (label, names):
        nodes.wait_usable(programs.api(), names)
        yield {nodes.OWN: label}


@pytest.mark.extended
@pytest.mark.scheduled
def test_a_restarted_scheduler_that_meets_1000_pinned_pods_binds_each_at_its_first_call(
        jobs, programs, pool, starts, scheduler_stopped):
    one = template(cpu="10m", nodeSelector=pool)
    jobs.create(job("large", coordinator={"template": one}, collector={"replicas": PODS - 2, "template": one}))
    wait_for(lambda: len(jobs.pods("large")) == PODS, f"{PODS} pods to be made", 120)
    programs.start("scheduler")
    jobs.wait_phase("large", "Running", 120)
    with open(programs.programs["scheduler"]["log"], encoding="utf-8") as log:
        lines = [line for line in log if jobs.namespace in line]  # what earlier tests left is not asked for
    assert len([line for line in lines if "Successfully bound pod" in line]) == PODS
    assert [line for line in lines if TROUBLE.search(line)] == []
    starts.catch_up()
    assert starts.broken() == []
