"""A gang starts whole or not at all, and says why it waits."""

import re

import pytest
from tools.cluster import pod_groups
from support.jobs import job, load_job, template
from support.nodes import gpu_nodes, wait_for_free_gpus
from support.wait import always, wait_for


@pytest.fixture
def free_gpu_nodes(core):
    """The number of nodes with 8 GPUs, once no pod of an earlier test holds any."""
    nodes = wait_for_free_gpus(core)
    if len(nodes) < 2 or set(nodes.values()) != {8}:
        pytest.skip(f"needs two or more nodes with 8 GPUs each, and there are {nodes}")
    return len(nodes)


def gang(path, learners):
    body = load_job(path)
    body["spec"]["learner"]["replicas"] = learners
    return body


@pytest.fixture
def first_and_second(jobs, free_gpu_nodes):
    """gang-first runs on all GPU nodes but one; gang-second wants two of them and waits."""
    jobs.create(gang("examples/gang-first.yaml", free_gpu_nodes - 1))
    jobs.wait_pods("gang-first", 4 + free_gpu_nodes - 1, "Running")
    jobs.create(gang("examples/gang-second.yaml", 2))
    return jobs.wait_condition("gang-second", "Scheduled", "False")


def wait_message(jobs, name, pattern):
    """Waits until the job's condition Scheduled=False reports it; returns the message."""
    def look():
        found = jobs.condition(name, "Scheduled") or {}
        return found.get("status") == "False" and bool(re.search(pattern, found.get("message", ""))), found
    return wait_for(look, f"job {name} to say {pattern}")["message"]


def test_a_gang_waits_with_role_resource_and_numbers(jobs, free_gpu_nodes, first_and_second):
    full = free_gpu_nodes - 1
    says = (rf"^learner: 1 of 2 do(es)? not fit: each needs nvidia.com/gpu 8; "
            rf"1 node has it free, {full} more (is|are) full")
    wait_message(jobs, "gang-second", says)
    assert jobs.phase("gang-second") == "Created"
    assert jobs.get("gang-second")["status"]["reason"] == "Unschedulable"
    (group,) = jobs.pod_groups("gang-second")
    (base,) = group["status"]["gangs"]
    assert re.search(says, base["message"])
    assert not base["planned"]
    assert base.get("placements", []) == []


def test_a_waiting_gang_has_no_pods(jobs, first_and_second):
    always(lambda: not jobs.pods("gang-second") and not jobs.services("gang-second"),
           "a waiting gang without pods and services")


@pytest.mark.versions
def test_a_waiting_gang_starts_by_itself_when_the_other_ends(jobs, node_agent, first_and_second):
    node_agent.finish("gang-first-coordinator")
    pods = jobs.wait_pods("gang-second", 6, "Running")
    jobs.wait_phase("gang-second", "Running")
    assert all(pod.spec.scheduler_name == "nervex-scheduler" for pod in pods)
    jobs.wait_condition("gang-second", "Scheduled")
    assert jobs.phase("gang-first") == "Succeeded"


def test_smaller_jobs_pass_a_waiting_gang(jobs, first_and_second):
    jobs.create(job("small"))
    jobs.wait_phase("small", "Running")
    assert jobs.phase("gang-second") == "Created"


@pytest.mark.versions
def test_a_gang_that_can_never_fit_says_so(jobs, core):
    largest = max(gpu_nodes(core).values(), default=0)
    body = job("never", learner={"replicas": 1, "template": template(gpus=largest + 1)})
    jobs.create(body)
    says = wait_message(jobs, "never", "never")
    assert says.startswith("learner: ")
    assert f"nvidia.com/gpu {largest + 1}" in says


def test_a_gang_that_can_never_fit_starts_when_its_template_asks_for_less(jobs, core):
    largest = max(gpu_nodes(core).values(), default=0)
    jobs.create(job("shrinks", learner={"replicas": 1, "template": template(gpus=largest + 1)}))
    wait_message(jobs, "shrinks", "can never fit")
    queued = jobs.get("shrinks")["status"]["waitingSince"]
    jobs.patch("shrinks", {"spec": {"learner": {"template": template(gpus=largest)}}})
    jobs.wait_phase("shrinks", "Running")
    status = jobs.get("shrinks")["status"]
    assert (status["attempt"], status["waitingSince"], status.get("failedAttempts", 0)) == (2, queued, 0)
    assert "TemplateChanged" in {event.reason for event in jobs.events("shrinks")}
    (learner,) = jobs.pods("shrinks", "learner")
    assert learner.spec.containers[0].resources.limits["nvidia.com/gpu"] == str(largest)


def test_a_job_that_waits_follows_its_aggregator(jobs, core):
    largest = max(gpu_nodes(core).values(), default=0)
    jobs.create(job("follows", learner={"replicas": 1, "template": template(gpus=largest + 1)}))
    wait_message(jobs, "follows", "never")

    def members(attempt):
        groups = [group for group in jobs.pod_groups("follows") if group["spec"]["attempt"] == attempt]
        return {member["name"] for group in groups for member in pod_groups.sets(group)}
    assert "aggregator" in members(1)
    jobs.patch("follows", {"spec": {"aggregator": "OnDemand"}})
    wait_for(lambda: (members(2) == {"coordinator", "learner"}, members(2)), "the gang to be planned without it")
    assert jobs.get("follows")["status"].get("failedAttempts", 0) == 0


def test_a_request_that_does_not_fit_waits_beside_the_running_job(jobs, core, namespace, replicas_api):
    largest = max(gpu_nodes(core).values(), default=0)
    jobs.create(job("grows"))
    jobs.wait_phase("grows", "Running")
    reply = replicas_api.add(namespace, "grows-coordinator", collectors={"replicas": 1, "gpus": largest + 1})
    assert reply.status == 200 and reply.json["success"], reply
    condition = jobs.wait_condition("grows", "RequestsScheduled", "False")
    wait_for(lambda: "collector" in (jobs.condition("grows", "RequestsScheduled") or condition)["message"],
             "the request's explanation")
    assert jobs.phase("grows") == "Running"
    assert len(jobs.pods("grows")) == 2


def test_nodes_are_never_overcommitted(jobs, core, free_gpu_nodes, observer):
    """More gangs than capacity, all at once: the running ones are whole, and no node is ever overcommitted."""
    gangs = [f"gang-{i}" for i in range(6)]
    for name in gangs:
        jobs.create(job(name, learner={"replicas": 1, "template": template(gpus=8)}))

    def settled():
        seen = {name: len(jobs.pods(name)) for name in gangs}
        running = [name for name in gangs if jobs.phase(name) == "Running"]
        waiting = [name for name in gangs if (jobs.condition(name, "Scheduled") or {}).get("status") == "False"]
        return len(running) == min(free_gpu_nodes, 6) and len(running) + len(waiting) == 6, (seen, running, waiting)
    wait_for(settled, "as many gangs as there are GPU nodes to run")
    whole = sorted(len(jobs.pods(name)) for name in gangs)
    assert whole == [0] * (6 - min(free_gpu_nodes, 6)) + [3] * min(free_gpu_nodes, 6)
    observer.catch_up()
    assert observer.broken == []
    bound = sum(observer.slots_bound(jobs.get(name)["metadata"]["uid"]).total() for name in gangs)
    assert bound == 3 * min(free_gpu_nodes, 6), "each binding was judged"


def test_a_gang_that_cannot_be_created_completely_frees_its_capacity(jobs, core, namespace):
    """Its coordinator names a missing ServiceAccount, which shows only after the workers are created."""
    body = job("half", learner={"replicas": 2, "template": template(gpus=8)},
               coordinator={"template": template(serviceAccountName="nobody-yet")})
    jobs.create(body)
    told = jobs.wait_condition("half", "PodsCreated", "False")
    assert "nobody-yet" in told["message"]
    wait_for(lambda: not jobs.pods("half"), "the workers to go")
    assert jobs.get("half")["status"]["reason"] == "FailedCreate"

    core.create_namespaced_service_account(namespace, {"metadata": {"name": "nobody-yet"}})
    jobs.wait_phase("half", "Running")
    jobs.wait_pods("half", 4, "Running")
    jobs.wait_condition("half", "PodsCreated")
