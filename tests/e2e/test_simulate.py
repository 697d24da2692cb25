"""Simulations: what would happen if? The scheduler's own answer, which leaves no trace (kubectl nervex simulate).

Each test has a node of its own with 8 GPUs.
"""

import json

import pytest
from support import nodes
from support.jobs import GROUP, VERSION, job, refusal_of, template
from support.wait import wait_for

PLURAL = "simulations"


@pytest.fixture
def gpu_job(node):
    """gpu_job(name, collectors): each collector needs a GPU of the test's node."""
    def make(name, collectors, **spec):
        on_node = {"nodeSelector": {nodes.OWN: node}}
        return job(name, coordinator={"template": template(**on_node)},
                   collector={"replicas": collectors, "template": template(gpus=1, **on_node)}, **spec)
    return make


@pytest.fixture
def simulate(nervexctl, namespace):
    """The exit code and the answer."""
    def run(*words, body=None):
        file = ["-f", "-"] if body else []
        done = nervexctl("simulate", *file, *words, "-n", namespace, "-o", "json", body=json.dumps(body))
        assert done.returncode in (0, 1) and done.stdout, done
        return done.returncode, json.loads(done.stdout)["answer"]
    return run


def create(jobs, name, **spec):
    return jobs.custom.create_namespaced_custom_object(GROUP, VERSION, jobs.namespace, PLURAL, {
        "apiVersion": f"{GROUP}/{VERSION}", "kind": "Simulation", "metadata": {"name": name}, "spec": spec})


def simulations(jobs):
    return jobs.custom.list_namespaced_custom_object(GROUP, VERSION, jobs.namespace, PLURAL)["items"]


def wait_answered(jobs, name):
    def look():
        found = [one for one in simulations(jobs) if one["metadata"]["name"] == name]
        return bool(found) and "completionTime" in found[0].get("status", {}), found
    wait_for(look, f"Simulation {name} to be answered")
    return next(one for one in simulations(jobs) if one["metadata"]["name"] == name)["status"]


def wait_unschedulable(jobs, name):
    """The message with which the job waits."""
    def look():
        seen = jobs.condition(name, "Scheduled") or {}
        return seen.get("reason") == "Unschedulable", seen
    wait_for(look, f"{name} to wait for capacity")
    jobs.wait_checked(name)
    return jobs.condition(name, "Scheduled")["message"]


@pytest.mark.versions
def test_the_answer_comes_true_and_leaves_no_trace(jobs, gpu_job, simulate, node):
    code, answer = simulate(body=gpu_job("asked", 4))
    assert code == 0
    assert answer["verdict"] == "Starts"
    assert {one["name"]: one["pods"] for one in answer["nodes"]}[node] == {"coordinator": 1, "collector": 4}
    assert answer["most"] == {"role": "collector", "count": 8}
    assert jobs.custom.list_namespaced_custom_object(GROUP, VERSION, jobs.namespace, "nervexjobs")["items"] == []
    wait_for(lambda: (not simulations(jobs), simulations(jobs)), "the Simulation to be deleted")
    jobs.create(gpu_job("most", 8))
    jobs.wait_phase("most", "Running")


def test_a_job_that_would_wait_says_why_and_what_helps(jobs, gpu_job, simulate, nervexctl, namespace):
    jobs.create(gpu_job("runs", 6))
    jobs.wait_phase("runs", "Running")
    code, answer = simulate(body=gpu_job("asked", 4))
    assert code == 1
    assert answer["verdict"] == "Waits"
    assert answer["cause"]["code"] == "InsufficientCapacity"
    assert answer["remedy"] == "Wait"
    assert answer["most"] == {"role": "collector", "count": 2}
    jobs.create(gpu_job("asked", 4))
    assert wait_unschedulable(jobs, "asked") == answer["message"]
    shown = nervexctl("simulate", "-f", "-", "-n", namespace, body=json.dumps(gpu_job("asked-2", 4)))
    assert "asked-2 would wait" in shown.stdout
    assert "With at most 2 collectors it would start now." in shown.stdout
    code, answer = simulate(body=gpu_job("large", 9))
    assert answer["verdict"] == "Never"


def test_more_replicas_and_other_nodes(jobs, gpu_job, simulate, node):
    jobs.create(gpu_job("runs", 6))
    jobs.wait_phase("runs", "Running")
    assert simulate("--grow", "runs=2")[1]["verdict"] == "Starts"
    assert simulate("--grow", "runs=3")[1]["verdict"] == "Waits"
    assert simulate("--grow", "runs=3", "--nodes", f"+1:{node}")[1]["verdict"] == "Starts"
    code, answer = simulate("--grow", "gone=3")
    assert (code, answer["verdict"]) == (1, "Invalid")
    assert "job gone neither waits nor runs" in answer["message"]
    jobs.create(gpu_job("waits", 8))
    wait_unschedulable(jobs, "waits")
    code, answer = simulate("--nodes", f"+1:{node}")
    assert (code, answer["starts"]) == (0, {"count": 1, "jobs": ["waits"]})


def test_a_wrong_job_is_refused_with_its_field(gpu_job, nervexctl, namespace):
    wrong = gpu_job("wrong", 1)
    wrong["spec"]["collector"]["replicas"] = -1
    done = nervexctl("simulate", "-f", "-", "-n", namespace, body=json.dumps(wrong))
    assert done.returncode == 1
    assert "spec.collector.replicas" in done.stderr


def test_who_may_create_jobs_may_simulate(gpu_job, nervexctl_as, namespace):
    asked = json.dumps(gpu_job("asked", 1))
    assert nervexctl_as("edit")("simulate", "-f", "-", "-n", namespace, body=asked).returncode == 0
    refused = nervexctl_as("view")("simulate", "-f", "-", "-n", namespace, body=asked)
    assert refused.returncode == 1
    assert "forbidden" in refused.stderr


def test_the_spec_is_checked_and_fixed(jobs):
    assert "job or grow, not both" in refusal_of(
        lambda: create(jobs, "both", job={}, grow={"job": "a", "replicas": 1}))
    assert "set job, grow or nodes" in refusal_of(lambda: create(jobs, "none"))
    create(jobs, "one", grow={"job": "a", "replicas": 1})
    body = {"spec": {"grow": {"job": "a", "replicas": 2}}}
    assert "cannot be changed" in refusal_of(lambda: jobs.custom.api_client.call_api(
        f"/apis/{GROUP}/{VERSION}/namespaces/{jobs.namespace}/{PLURAL}/one", "PATCH", body=body,
        header_params={"Content-Type": "application/merge-patch+json"}, auth_settings=["BearerToken"]))


def test_an_answered_simulation_is_deleted_at_its_end(jobs):
    create(jobs, "short", grow={"job": "a", "replicas": 1}, ttlSeconds=0)
    create(jobs, "long", grow={"job": "a", "replicas": 1})
    assert wait_answered(jobs, "long")["verdict"] == "Invalid"
    wait_for(lambda: (len(simulations(jobs)) == 1, simulations(jobs)), "the short one to be deleted")
    for number in range(25):
        create(jobs, f"more-{number}", grow={"job": "a", "replicas": 1})
    wait_for(lambda: (len(simulations(jobs)) == 20 and all("status" in one for one in simulations(jobs)),
                      len(simulations(jobs))), "no more than 20 answered ones to be left")


def test_a_simulation_that_no_extender_has_seen_is_answered_later(jobs, gpu_job, programs):
    programs.stop("extender")
    create(jobs, "early", job=gpu_job("asked", 2)["spec"])
    programs.start("extender")
    assert wait_answered(jobs, "early")["verdict"] == "Starts"
