"""Argo CD's health of a NerveXJob: manifests/argocd/health.yaml, by Lua 5.1, whose language Argo CD runs."""

import os
import subprocess

import pytest
import yaml
from tools.base.tree import ROOT
from support.jobs import job, template
from support.wait import wait_for

NAME = "synced"
KEY = "resource.customizations.health.nervex.sensetime.com_NerveXJob"


def script():
    with open(os.path.join(ROOT, "manifests", "argocd", "health.yaml"), encoding="utf-8") as file:
        return yaml.safe_load(file)["data"][KEY]


def literal(value):
    """A value of JSON in Lua, where null is the absence of a value."""
    if isinstance(value, dict):
        return "{" + ",".join(f"[{literal(key)}]={literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ",".join(map(literal, value)) + "}"
    if isinstance(value, str):
        return '"' + "".join(f"\\{byte:03d}" for byte in value.encode()) + '"'
    return {None: "nil", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)


def health(found):
    """(status, message)"""
    program = f"obj = {literal(found)}\nlocal function check()\n{script()}\nend\nlocal hs = check()\nprint(hs.status .. '\\n' .. hs.message)"
    done = subprocess.run(["lua5.1", "-"], input=program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tuple(done.stdout.strip("\n").split("\n", 1))


def wait_health(jobs, want, says):
    def look():
        seen = health(jobs.get(NAME))
        return seen[0] == want and says in seen[1], seen
    wait_for(look, f"the job to be {want}", 60)


def condition(kind, value, reason="", message=""):
    return {"type": kind, "status": value, "reason": reason, "message": message}


def seen(*conditions, generation=2, observed=2, reason="Queued"):
    return {"metadata": {"generation": generation},
            "status": {"observedGeneration": observed, "reason": reason, "conditions": list(conditions)}}


@pytest.mark.parametrize("when, found, want", [
    ("no controller has seen it", {"metadata": {"generation": 1}},
     ("Progressing", "nervex-controller has not seen this spec yet")),
    ("its change has not been seen", seen(condition("Ready", "True"), generation=3),
     ("Progressing", "nervex-controller has not seen this spec yet")),
    ("it succeeded, and is Ready as well", seen(condition("Ready", "True", message="all pods"),
                                                condition("Succeeded", "True", message="exit code 0"), reason="Completed"),
     ("Healthy", "Completed: exit code 0")),
    ("it failed", seen(condition("Stalled", "True"), condition("Failed", "True", message="10 s passed"), reason="DeadlineExceeded"),
     ("Degraded", "DeadlineExceeded: 10 s passed")),
    ("it was resumed", seen(condition("Suspended", "False", "Resumed"), condition("Scheduled", "False", "Queued", "not planned")),
     ("Progressing", "Queued: not planned")),
    ("the API server refuses its pods", seen(condition("Scheduled", "False", "Unschedulable", "learner: does not fit"),
                                             condition("PodsRefused", "True", "PodsRefused", "forbidden"), reason="PodsRefused"),
     ("Progressing", "PodsRefused: forbidden")),
    ("a condition has no message", seen({"type": "Scheduled", "status": "False", "reason": "Queued"}), ("Progressing", "Queued: ")),
    ("its status has no conditions", {"metadata": {"generation": 1}, "status": {"observedGeneration": 1}},
     ("Progressing", "Created")),
], ids=lambda one: one if isinstance(one, str) else "")
def test_health_follows_the_conditions(when, found, want):
    assert health(found) == want


@pytest.mark.parametrize("exit_code, end, says", [(0, "Healthy", "Completed: "), (1, "Degraded", "CoordinatorFailed: ")])
def test_a_job_that_runs_is_healthy_and_then_it_is_as_it_ended(jobs, node_agent, exit_code, end, says):
    jobs.create(job(NAME))
    wait_health(jobs, "Healthy", "Running: ")
    node_agent.finish(f"{NAME}-coordinator", exit_code)
    wait_health(jobs, end, says)


def test_a_job_that_waits_is_progressing_with_its_reason_until_it_is_suspended(jobs):
    jobs.create(job(NAME, coordinator={"template": template(gpus=64)}))
    wait_health(jobs, "Progressing", "Unschedulable: coordinator: can never fit")
    jobs.patch(NAME, {"spec": {"suspend": True}})
    wait_health(jobs, "Suspended", "Suspended: the job was suspended")
    jobs.patch(NAME, {"spec": {"suspend": False}})
    wait_health(jobs, "Progressing", "Unschedulable: coordinator: can never fit")
