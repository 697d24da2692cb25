"""docs/tasks/share-a-cluster.md does what it says: its commands as they are written, by an administrator, and every piece of
a Queue in it is one that the API server and `kubectl nervex validate` accept."""

import os
import re

import pytest
import yaml
from tools.base.tree import ROOT
from support.commands import command
from support.jobs import Jobs, job
from support.wait import absent, conflict, wait_for

TEAMS = {"rl-vision": "vision", "rl-speech": "speech"}


def blocks(kind):
    with open(os.path.join(ROOT, "docs", "tasks", "share-a-cluster.md"), encoding="utf-8") as file:
        return re.findall(rf"^```{kind}\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


def run_all(block, shell):
    for line in block.splitlines():
        said = shell(line)
        assert said.returncode == 0, (line, said.stdout, said.stderr)
    return said.stdout


@pytest.fixture
def shell(target, kubectl, tmp_path):
    """A shell of the administrator, in a folder with queues.yaml."""
    (tmp_path / "queues.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    yield command(target, f"--chdir={tmp_path}", "sh", "-c")
    kubectl("delete", "queues.nervex.sensetime.com", *TEAMS.values())


def create_namespace(core, name):
    wait_for(lambda: core.create_namespace({"metadata": {"name": name}}), f"{name} of an earlier test to be gone", 120,
             not_yet=[conflict])
    wait_for(lambda: core.read_namespaced_service_account("default", name), f"the account of {name}", 120, not_yet=[absent])


@pytest.fixture
def teams(core, kubectl):
    """The namespaces of the page."""
    for name in TEAMS:
        create_namespace(core, name)
    yield
    for name in TEAMS:
        kubectl("delete", "nervexjobs", "--all", "-n", name)
        core.delete_namespace(name, grace_period_seconds=0)


def test_teams_get_queues_that_can_be_stopped(shell, teams, core, custom):
    create, stop = blocks("sh")
    table = run_all(create, shell)
    assert {"vision", "speech"} <= {line.split()[0] for line in table.splitlines() if line}, table
    hold, go_on = stop.splitlines()
    assert shell(hold).returncode == 0
    jobs = Jobs(core, custom, "rl-vision")
    jobs.create(job("held"))
    wait_for(lambda: ((jobs.condition("held", "Scheduled") or {}).get("reason") == "QueueStopped", jobs.get("held")), "it to be held")
    assert jobs.get("held")["status"]["queue"]["name"] == "vision"
    assert shell(go_on).returncode == 0
    jobs.wait_phase("held", "Running")


def test_each_piece_of_a_queue_is_accepted(shell, tmp_path):
    run_all("kubectl apply -f queues.yaml", shell)
    pieces = [yaml.safe_load(block) for block in blocks("yaml")[1:]]
    queues = [one for one in pieces if "spec" in one]
    assert len(queues) >= 5, pieces
    for piece in queues:
        body = {"apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "Queue", "metadata": piece.get("metadata", {"name": "vision"}),
                "spec": {"quota": [{"resources": {"nvidia.com/gpu": 64}}], **piece["spec"]}}
        if "parent" in piece["spec"]:  # a part has at most the quota of the whole
            del body["spec"]["quota"]
        (tmp_path / "piece.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
        for check in ("kubectl nervex validate -f piece.yaml", "kubectl apply --dry-run=server -f piece.yaml"):
            said = shell(check)
            assert said.returncode == 0, (check, body, said.stdout, said.stderr)
