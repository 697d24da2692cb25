"""Reserved capacity: reservedReplicas is planned with the gang and kept for the coordinator's first requests.

The coordinators are examples/mock/coordinator.py: they ask for their learners when they run.
Without the reservation both coordinators would start, and each would hold what the other one needs.
"""

import contextlib
import re
import threading

import kubernetes
import pytest
from support.jobs import job, load_job, template
from support.nodes import wait_for_free_gpus
from support.wait import always, wait_for

FIRST, SECOND = "first", "second"


@pytest.fixture
def gpu_nodes(core):
    """The number of nodes with 8 GPUs, once no pod of an earlier test holds any."""
    gpus = list(wait_for_free_gpus(core).values())
    if len(gpus) < 3 or set(gpus) != {8}:
        pytest.skip(f"needs three or more nodes with 8 GPUs each, and there are {gpus}")
    return len(gpus)


@pytest.fixture
def more_than_half(gpu_nodes):
    return gpu_nodes // 2 + 1


def reserving(name, learners, gpus=8, **spec):
    client = template()
    client["spec"]["containers"][0]["command"] = ["python3", "/mock/coordinator.py"]
    return job(name, coordinator={"template": client},
               learner={"reservedReplicas": learners, "template": template(gpus=gpus)}, **spec)


def one_waits(jobs):
    """(running job, waiting job), once that is so."""
    def look():
        phases = {name: jobs.phase(name) for name in (FIRST, SECOND)}
        waits = {name: (jobs.condition(name, "Scheduled") or {}).get("reason") for name in (FIRST, SECOND)}
        running = [name for name in (FIRST, SECOND) if phases[name] == "Running"]
        waiting = [name for name in (FIRST, SECOND) if waits[name] == "Unschedulable"]
        return len(running) == len(waiting) == 1, (running + waiting) if running and waiting else (phases, waits)
    return wait_for(look, "one of the two jobs to run and the other to wait")


@contextlib.contextmanager
def asking(node_agent, name, *flags):
    """The unchanged client acts as the job's coordinator. Yields a function that waits for its end and returns its
    exit code and last line."""
    process = node_agent.start_coordinator(f"{name}-coordinator", *flags)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(process.stdout), daemon=True)
    reader.start()

    def end():
        code = process.wait(90)
        reader.join(10)
        return code, lines[-1].strip() if lines else ""
    try:
        yield end
    finally:
        process.kill()
        process.wait()


def reserved(jobs, name, aggregators=False):
    """{set: pods with reserved capacity} from the PodGroup's status; without those for aggregators of multi-GPU
    learners, unless requested."""
    (group,) = jobs.pod_groups(name)
    found = {}
    for gang in group.get("status", {}).get("gangs", []):
        for one in gang.get("reserved", []):
            found[one["set"]] = found.get(one["set"], 0) + sum(node.get("count", 1) for node in one["nodes"])
    return {name: count for name, count in found.items() if aggregators or "aggregator" not in name}


def test_of_two_jobs_that_ask_for_more_than_half_one_runs_whole_and_the_other_has_no_pod(
        jobs, node_agent, more_than_half, observer):
    for name in (FIRST, SECOND):
        jobs.create(reserving(name, more_than_half))
    running, waiting = one_waits(jobs)
    assert reserved(jobs, running) == {"learner": more_than_half}
    with asking(node_agent, running, "--collectors=0", f"--learners={more_than_half}", "--seconds=0") as end:
        assert end() == (0, "coordinator: done")
    jobs.wait_pods(running, more_than_half, "Running", role="learner")
    assert reserved(jobs, running) == {}
    always(lambda: not jobs.pods(waiting), "the other job without a pod")

    node_agent.finish(f"{running}-coordinator")
    jobs.wait_phase(waiting, "Running")
    with asking(node_agent, waiting, "--collectors=0", f"--learners={more_than_half}", "--seconds=0") as end:
        assert end() == (0, "coordinator: done")
    jobs.wait_pods(waiting, more_than_half, "Running", role="learner")
    observer.catch_up()
    assert observer.broken == []


def test_the_example_of_the_guide_runs_and_a_second_one_waits(jobs, node_agent, gpu_nodes):
    for name in (FIRST, SECOND):
        body = load_job("examples/reserved-capacity.yaml", name)
        body["spec"]["learner"]["reservedReplicas"] = gpu_nodes // 2 + 1
        jobs.create(body)
    running, waiting = one_waits(jobs)
    assert reserved(jobs, running) == {"collector": 2, "learner": gpu_nodes // 2 + 1}
    with asking(node_agent, running, f"--learners={gpu_nodes // 2 + 1}", "--seconds=0") as end:
        assert end() == (0, "coordinator: done")
    jobs.wait_pods(running, gpu_nodes // 2 + 1, "Running", role="learner")
    jobs.wait_pods(running, 2, "Running", role="collector")
    assert reserved(jobs, running) == {}
    assert not jobs.pods(waiting)


def test_learners_with_several_gpus_get_the_reserved_capacity(jobs, node_agent, more_than_half):
    for name in (FIRST, SECOND):
        jobs.create(reserving(name, more_than_half))
    running, waiting = one_waits(jobs)
    assert reserved(jobs, running, aggregators=True) == {"aggregator": more_than_half, "learner": more_than_half}
    with asking(node_agent, running, "--collectors=0", f"--learners={more_than_half}", "--gpus=8", "--seconds=0") as end:
        assert end() == (0, "coordinator: done")
    jobs.wait_pods(running, more_than_half, "Running", role="ddp-learner")
    assert reserved(jobs, running, aggregators=True) == {}
    always(lambda: not jobs.pods(waiting), "the other job without a pod")


def test_a_gang_that_needs_reserved_capacity_waits_and_says_why(jobs, more_than_half):
    jobs.create(reserving(FIRST, more_than_half))
    jobs.wait_phase(FIRST, "Running")
    jobs.create(job(SECOND, learner={"replicas": more_than_half, "template": template(gpus=8)}))
    jobs.wait_condition(SECOND, "Scheduled", "False")
    wait_for(lambda: re.match(rf"learner: \d+ of {more_than_half} do(es)? not fit: each needs nvidia.com/gpu 8",
                              jobs.condition(SECOND, "Scheduled")["message"]), "the explanation")
    assert not jobs.pods(FIRST, "learner")  # none of its own pods is there


def test_unused_reserved_capacity_is_released_after_reservation_seconds(jobs, more_than_half):
    jobs.create(reserving(FIRST, more_than_half, reservationSeconds=2))
    jobs.wait_phase(FIRST, "Running")
    jobs.create(reserving(SECOND, more_than_half))
    jobs.wait_phase(SECOND, "Running")
    assert jobs.phase(FIRST) == "Running"
    assert reserved(jobs, FIRST) == {}
    assert reserved(jobs, SECOND) == {"learner": more_than_half}


def test_a_request_for_more_than_is_reserved_waits_with_its_reservation(
        jobs, node_agent, gpu_nodes, more_than_half, replicas_api, namespace):
    """One node is missing: the whole request waits, and no other job gets its reserved capacity."""
    jobs.create(reserving(FIRST, more_than_half))
    jobs.wait_phase(FIRST, "Running")
    rest = gpu_nodes - more_than_half
    jobs.create(job("in-the-way", learner={"replicas": rest, "template": template(gpus=8)}))
    jobs.wait_phase("in-the-way", "Running")
    reply = replicas_api.add(namespace, f"{FIRST}-coordinator", learners=more_than_half + 1)
    assert reply.status == 200 and reply.json["success"], reply
    jobs.wait_condition(FIRST, "RequestsScheduled", "False")
    wait_for(lambda: sum(reserved(jobs, FIRST).values()) == more_than_half, "the reservation to follow the request")
    jobs.create(reserving(SECOND, 1))
    jobs.wait_condition(SECOND, "Scheduled", "False")
    always(lambda: not jobs.pods(FIRST, "learner") and not jobs.pods(SECOND), "no learner and no second job")

    node_agent.finish("in-the-way-coordinator")
    jobs.wait_pods(FIRST, more_than_half + 1, "Running", role="learner")
    assert reserved(jobs, FIRST) == {}


def test_restarts_keep_what_is_reserved(jobs, programs, node_agent, more_than_half):
    jobs.create(reserving(FIRST, more_than_half))
    jobs.wait_phase(FIRST, "Running")
    for name in ("controller", "extender"):
        programs.stop(name)
    jobs.create(job(SECOND, learner={"replicas": more_than_half, "template": template(gpus=8)}))
    for name in ("extender", "controller"):
        programs.start(name)
    wait_for(lambda: (jobs.condition(SECOND, "Scheduled") or {}).get("reason") == "Unschedulable",
             "the second job to wait")
    assert reserved(jobs, FIRST) == {"learner": more_than_half}
    with asking(node_agent, FIRST, "--collectors=0", f"--learners={more_than_half}", "--seconds=0") as end:
        assert end() == (0, "coordinator: done")
    jobs.wait_pods(FIRST, more_than_half, "Running", role="learner")
    assert not jobs.pods(SECOND)


def test_explain_shows_what_is_reserved_and_until_when(jobs, nervexctl, namespace, more_than_half):
    jobs.create(reserving(FIRST, more_than_half))
    jobs.wait_phase(FIRST, "Running")
    said = nervexctl("explain", FIRST, "-n", namespace)
    assert said.returncode == 0, said.stderr
    assert re.search(rf"Reserved +capacity for .*{more_than_half} learners, until \d{{4}}-.*Z, in \d+m", said.stdout)
    assert re.search(r"gpu-node-\d +.*1 learner reserved", said.stdout)


def test_reserved_replicas_above_max_replicas_are_refused_with_the_field(jobs):
    body = reserving(FIRST, 3)
    body["spec"]["learner"]["maxReplicas"] = 2
    with pytest.raises(kubernetes.client.ApiException) as refused:
        jobs.create(body)
    assert refused.value.status == 422
    assert "spec.learner.reservedReplicas" in refused.value.body


def test_what_is_reserved_counts_in_a_quota(jobs, core, namespace, gpu_nodes):
    """Otherwise a namespace whose quota has no GPUs could block them for all others."""
    def allow(gpus):
        return {"metadata": {"name": "team"}, "spec": {"hard": {"requests.nvidia.com/gpu": gpus}}}
    core.create_namespaced_resource_quota(namespace, allow("1"))
    wait_for(lambda: core.read_namespaced_resource_quota("team", namespace).status.used, "the quota to count")
    jobs.create(reserving(FIRST, 2, gpus=1))

    def waits():
        status = jobs.get(FIRST).get("status", {})
        return status.get("reason") == "OverQuota", status
    wait_for(waits, "the job to wait for its quota")
    assert jobs.pods(FIRST) == []
    assert reserved(jobs, FIRST) == {}
    core.patch_namespaced_resource_quota("team", namespace, allow("2"))
    jobs.wait_phase(FIRST, "Running")
    wait_for(lambda: reserved(jobs, FIRST) == {"learner": 2}, "capacity to be reserved")
