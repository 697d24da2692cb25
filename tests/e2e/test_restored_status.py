"""A user clears the status of a PodGroup by hand, at each stage of a job's life. It is restored from the pods:
nothing that runs is affected, and what waits starts."""

import contextlib

import pytest
from tools.cluster import kubelet, pod_groups
from support import nodes
from support.jobs import GROUP, VERSION, job, template
from support.wait import always, wait_for

NAME = "wiped"
QUICK = "--bind-deadline=2s --node-lost-after=30s --healing-deadline=8s"


@pytest.fixture
def own_nodes(quick, target):
    """Two nodes for this test with 1 GPU each."""
    api = target.cluster.api()
    with nodes.own_nodes(api, {}, {}, gpus=1) as (pool, names):
        nodes.wait_usable(api, names)
        yield pool, names


def on(pool, gpus=1):
    return template(gpus=gpus, nodeSelector={nodes.OWN: pool})


def group_of(jobs):
    (group,) = jobs.pod_groups(NAME)
    return group


def wipe(jobs):
    jobs.custom.api_client.call_api(
        f"/apis/{GROUP}/{VERSION}/namespaces/{jobs.namespace}/podgroups/{group_of(jobs)['metadata']['name']}/status",
        "PATCH", body={"status": None},
        header_params={"Content-Type": "application/merge-patch+json", "Accept": "application/json"},
        auth_settings=["BearerToken"], response_type="object", _return_http_data_only=True)


def placements(jobs):
    return sorted((one["role"], one["ordinal"], one["node"], one["number"])
                  for one in pod_groups.placements(group_of(jobs)))


@contextlib.contextmanager
def not_ready(api, names):
    for name in names:
        kubelet.set_node_ready(api, name, False)
    try:
        yield
    finally:
        for name in names:
            kubelet.set_node_ready(api, name, True)


def is_committed(jobs):
    status = group_of(jobs).get("status", {})
    gangs = status.get("gangs", [])
    return bool(gangs) and all(gang["committed"] and gang["planned"] for gang in gangs), status


def uids(jobs):
    return {pod.metadata.uid for pod in jobs.pods(NAME) if not pod.metadata.deletion_timestamp}


def stays(jobs, before):
    return lambda: (uids(jobs) == before and jobs.get(NAME)["status"]["attempt"] == 1, jobs.get(NAME)["status"])


def test_a_job_that_waits_starts_nevertheless(jobs, own_nodes, target):
    pool, names = own_nodes
    api = target.cluster.api()
    api.call("PATCH", f"/api/v1/nodes/{names[0]}", {"spec": {"unschedulable": True}}, "application/merge-patch+json")
    jobs.create(job(NAME, collector={"replicas": 2, "template": on(pool)}))
    wait_for(lambda: (jobs.condition(NAME, "Scheduled") or {}).get("reason") == "Unschedulable", "the job to wait")
    wipe(jobs)
    wait_for(lambda: group_of(jobs).get("status", {}).get("gangs"), "the planner to look again")
    api.call("PATCH", f"/api/v1/nodes/{names[0]}", {"spec": {"unschedulable": False}}, "application/merge-patch+json")
    jobs.wait_phase(NAME, "Running")


def test_a_job_whose_pods_are_being_bound_starts_nevertheless(jobs, own_nodes, programs):
    """Its pods exist and kube-scheduler is down: the plan is made again, and its pods with it."""
    pool, _ = own_nodes
    programs.stop("scheduler")
    jobs.create(job(NAME, collector={"replicas": 2, "template": on(pool)}))
    jobs.wait_pods(NAME, 4)
    last = max(number for *_, number in placements(jobs))
    wipe(jobs)
    wait_for(lambda: group_of(jobs).get("status", {}).get("gangs") and placements(jobs), "another plan")
    assert min(number for *_, number in placements(jobs)) > last
    programs.start("scheduler")
    jobs.wait_phase(NAME, "Running")
    wait_for(lambda: is_committed(jobs), "the gang to be committed")


@pytest.mark.parametrize("how", ["alone", pytest.param("node away for a second", marks=pytest.mark.extended),
                                 pytest.param("extender restarted", marks=pytest.mark.extended)])
def test_a_job_that_runs_is_left_alone(jobs, own_nodes, programs, replicas_api, namespace, observer, how):
    pool, names = own_nodes
    jobs.create(job(NAME, collector={"replicas": 1, "reservedReplicas": 2, "template": on(pool)},
                    learner={"template": template()}))
    jobs.wait_phase(NAME, "Running")
    assert replicas_api.add(namespace, f"{NAME}-coordinator", learners=1).status == 200
    jobs.wait_pods(NAME, 4, "Running")
    wait_for(lambda: is_committed(jobs), "all gangs to be committed")
    before, pods = placements(jobs), uids(jobs)
    coordinator = jobs.pods(NAME, "coordinator")[0].spec.node_name
    away = {coordinator, *names} if how == "node away for a second" else ()
    with not_ready(programs.api(), away):
        if how == "extender restarted":
            programs.stop("extender")
        wipe(jobs)
        if how == "extender restarted":
            programs.start("extender")
        wait_for(lambda: is_committed(jobs), "the status to be restored")
    always(stays(jobs, pods), "the same pods, beyond every deadline", 12)
    assert placements(jobs) == before
    reserved = [one.get("reserved") for one in group_of(jobs)["status"]["gangs"] if one["name"] == "base"]
    assert reserved and reserved[0], "capacity is reserved as before"
    observer.catch_up()
    assert observer.broken == []


def test_a_gang_that_is_healed_keeps_what_runs(jobs, own_nodes, quick, core, namespace):
    pool, _ = own_nodes
    jobs.create(job(NAME, collector={"replicas": 2, "template": on(pool)}))
    jobs.wait_phase(NAME, "Running")
    jobs.wait_pods(NAME, 4, "Running")
    victim = jobs.pods(NAME, "collector")[0]
    others = uids(jobs) - {victim.metadata.uid}
    core.delete_namespaced_pod(victim.metadata.name, namespace)
    wipe(jobs)

    def look():
        running = {pod.metadata.uid for pod in jobs.pods(NAME) if pod.status.phase == "Running"}
        return running == uids(jobs) and len(running) == 4 and victim.metadata.uid not in running, running
    healed = wait_for(look, "the victim's successor to run")
    wait_for(lambda: is_committed(jobs), "the gang to be whole")
    assert others < healed
    assert jobs.get(NAME)["status"]["attempt"] == 1
