"""docs/tasks/scale-a-job.md does what it says: its commands, in order, as they are written, by a user with the role `edit`.
The autoscaler of the page is that of test_autoscaler.py."""

import os
import re

import pytest
import yaml
from tools.base.tree import ROOT
from support.commands import command
from support.jobs import template
from support.users import wait_until_user_may
from support.wait import wait_for

NAME = "dqn"


def read(page):
    with open(os.path.join(ROOT, "docs", "tasks", page), encoding="utf-8") as file:
        return file.read()


def commands(title):
    """Those of the section with that title, without comments."""
    section = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", re.sub(r"```yaml\n.*?```", "", read("scale-a-job.md"), flags=re.S),
                        re.MULTILINE | re.DOTALL)[1]
    blocks = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    text = "".join(blocks).replace("\\\n", " ").replace("',\n", "',").replace(",\n  ", ", ")
    found = [line.partition("   #")[0].strip() for line in text.splitlines()]
    assert found, title
    return found


@pytest.fixture
def user(users, kubectl, target, env, namespace, tmp_path):
    """user(command): run by a shell; what the page leaves to the reader is filled in."""
    path = users.kubeconfig("edit")
    for verb, what in (("create", "nervexjobs"), ("patch", "nervexjobs/scale"), ("get", "podgroups.nervex.sensetime.com"),
                       ("create", "serviceaccounts/token")):
        wait_until_user_may(kubectl, path, verb, what)
    run = command(target, f"--chdir={tmp_path}", f"KUBECONFIG={path}", f"NERVEX_SERVER_URL={env['NERVEX_SERVER_URL']}", "sh", "-c")

    def told(one, fails=False, **values):
        for placeholder, value in values.items():
            assert placeholder in one, one
            one = one.replace(placeholder, value)
        said = run(one)
        assert (said.returncode != 0) == fails, (one, said.stdout, said.stderr)
        return said.stdout + said.stderr
    return told


def start(jobs, collectors):
    """The job of the page that this one refers to, with learners."""
    body = yaml.safe_load(re.search(r"^```yaml\n(.*?)^```", read("run-a-job.md"), re.MULTILINE | re.DOTALL)[1])
    body["spec"]["collector"]["replicas"] = collectors
    body["spec"]["learner"] = {"template": template()}
    jobs.create(body)
    jobs.wait_phase(NAME, "Running")
    jobs.wait_pods(NAME, collectors, "Running", role="collector")


def test_base_replicas_are_scaled(user, jobs):
    start(jobs, 1)
    first, with_learners, plain, listed = commands("Scale the base replicas")
    assert "scaled: collectors 8, learners 0" in user(first)
    jobs.wait_pods(NAME, 8, "Running", role="collector")
    assert "scaled: collectors 8, learners 2" in user(with_learners)
    jobs.wait_pods(NAME, 2, "Running", role="learner")
    assert "scaled" in user(plain)
    wait_for(lambda: ("12/12" in user(listed), user(listed)), "all pods to be listed as ready")  # one aggregator


def test_removed_base_replicas_return(user, jobs, namespace, replicas_api):
    start(jobs, 4)
    assert len(replicas_api.remove(namespace, f"{NAME}-coordinator", collectors=2).data["collectors"]) == 2
    jobs.wait_pods(NAME, 2, "Running", role="collector")
    shown, lower, wait, raised = commands("Base replicas that the coordinator has removed")
    wait_for(lambda: (user(shown).strip() == "4 2", user(shown)), "the page's numbers")
    assert "2 of these 4 collectors stay removed" in user("kubectl nervex scale dqn --collectors 4"), "as the page says"
    for one in (lower, wait, raised):
        user(one)
    jobs.wait_pods(NAME, 4, "Running", role="collector")


def test_replicas_are_requested_by_hand(user, jobs, namespace):
    start(jobs, 1)
    got, added, learner, removed, replaced, token, with_token = commands("Request replicas by hand")
    (base,) = jobs.pods(NAME, "collector")
    wait_for(lambda: (base.metadata.name in user(got), user(got)), "the collector to be listed")
    user(added)
    jobs.wait_pods(NAME, 3, "Running", role="collector")
    user(learner)
    jobs.wait_pods(NAME, 2, "Running", role="ddp-learner")
    user(removed)
    pods = jobs.wait_pods(NAME, 2, "Running", role="collector")
    (requested,) = [pod.metadata.name for pod in pods if pod.metadata.uid != base.metadata.uid]
    user(replaced, **{"dqn-collector-x2b7k": requested})
    wait_for(lambda: requested not in [pod.metadata.name for pod in jobs.pods(NAME)], "the replaced pod to be gone")
    jobs.wait_pods(NAME, 2, "Running", role="collector")
    user(token, ACCOUNT="default")
    assert base.metadata.name in user(with_token)


def test_the_coordinator_requests_replicas(user, jobs, env, namespace):
    start(jobs, 1)
    (call,) = commands("Request replicas from the coordinator")
    address = env["NERVEX_SERVER_URL"].removeprefix("http://")
    answer = user(call, **{"$KUBERNETES_SERVER_URL": address, '"rl"': f'"{namespace}"'})
    assert '"success":true' in answer, answer
    jobs.wait_pods(NAME, 3, "Running", role="collector")
