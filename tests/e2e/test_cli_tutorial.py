"""docs/tasks/run-a-job.md does what it says: its commands, in order, as they are written, by a user with the role `edit`."""

import os
import re

import pytest
from tools.base.tree import ROOT
from support.commands import Background, command
from support.users import wait_until_user_may
from support.wait import wait_for

PAGE = os.path.join(ROOT, "docs", "tasks", "run-a-job.md")
END = "## Choose where workers come from"  # what follows is a reference
READS = ("list", "explain", "doctor")  # their answers depend on how far the job is


def read_page():
    with open(PAGE, encoding="utf-8") as file:
        return file.read().partition(END)[0]


def read_steps(page):
    """[(command, lines that it prints)]"""
    steps = []
    for kind, block in re.findall(r"^```(sh|console)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if kind == "sh" or line.startswith("$ "):
                steps.append((line.removeprefix("$ ").partition("   #")[0].strip(), []))
            elif line != "...":
                steps[-1][1].append(line)
    return steps


def normalised(text):
    """Its lines without numbers, times, the namespace, and the width of columns."""
    text = re.sub(r"\S*/(dqn|too-large)\b", r"\1", text)
    return [re.sub(r"\s+", " ", re.sub(r"\d[\w:./-]*", "N", line)) for line in text.splitlines()]


@pytest.fixture
def user(users, kubectl, target, tmp_path):
    """user(command): run by a shell, in a folder with the page's job.yaml."""
    path = users.kubeconfig("edit")
    for verb, what in (("create", "nervexjobs"), ("create", "pods"), ("get", "podgroups.nervex.sensetime.com"), ("list", "events")):
        wait_until_user_may(kubectl, path, verb, what)
    body = re.search(r"^```yaml\n(.*?)^```", read_page(), re.MULTILINE | re.DOTALL)[1]
    (tmp_path / "job.yaml").write_text(body, encoding="utf-8")
    run = command(target, f"--chdir={tmp_path}", f"KUBECONFIG={path}", "sh", "-c")
    run.kubeconfig = path
    return run


def test_its_commands_do_what_the_page_says(user, target, jobs, pod_logs):
    steps = read_steps(read_page())
    assert {"submit", "logs", "scale", "suspend", "delete"} <= {one.split()[2] for one, _ in steps}
    pod_logs.write("dqn-coordinator", "epoch 1")
    for one, wanted in steps:
        verb = one.split()[2]
        if one.endswith(" -f"):
            follow(target, one, user.kubeconfig)
            continue
        if verb in ("logs", "scale", "suspend"):
            jobs.wait_phase("dqn", "Running")
        if "collector/0" in one:
            (pod,) = jobs.pods("dqn", "collector")
            pod_logs.write(pod.metadata.name, "step 1")
        if verb == "resume":
            jobs.wait_condition("dqn", "Suspended")
        if "too-large" in one and verb == "submit":
            wait_for(lambda one=one: sees_no_other_nodes(user, one), "nodes of the tests before to be gone")
        run(user, one, wanted, verb in READS)
    wait_for(lambda: not jobs.pods("dqn"), "its pods to be deleted")


def sees_no_other_nodes(user, submit):
    """The webhook may still know a node that a test before has cordoned and deleted."""
    said = user(f"{submit} --dry-run")
    return "cordoned" not in said.stdout + said.stderr, said.stderr


def run(user, one, wanted, may_take_time):
    def look():
        said = user(one)
        assert said.returncode == 0, (one, said.stdout, said.stderr)
        shown = normalised(said.stdout + said.stderr)
        return all(line in shown for line in normalised("\n".join(wanted))), (one, wanted, said.stdout + said.stderr)
    if may_take_time:
        wait_for(look, f"the answer of {one}")
        return
    done, said = look()
    assert done, said


def follow(target, one, kubeconfig):
    with Background(target, *one.split(), "--kubeconfig", kubeconfig) as log:
        wait_for(lambda: ("epoch 1" in log.lines, (log.lines, log.errors)), "the log")
        log.interrupt()
        assert log.wait() == 130
