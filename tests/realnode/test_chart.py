"""The Helm chart on a real node, with the commands of docs/tasks/install.md and docs/tasks/upgrade.md: from the install to
its removal, and a job in containers that notices none of it. The tests build on one another in this order."""

import re
import time

import jobs
import pytest
import yaml
from tools.base.console import Failure
from tools.base.tree import ROOT
from tools.controlplane import binaries
from tools.realnode import install

from jobs import STAYS, job, template, uids, wait_phase, wait_ready

VALUES = {"certificates": {"mode": "selfIssued"}}


def documented(page, heading):
    """The commands below that heading, without their comments."""
    with open(f"{ROOT}/docs/tasks/{page}.md", encoding="utf-8") as file:
        section = re.search(rf"^#+ {heading}\n(.*?)^#+ ", file.read(), re.MULTILINE | re.DOTALL)[1]
    blocks = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    return [line.partition(" #")[0].strip() for line in lines if not line.startswith("#")]


@pytest.fixture(scope="module")
def shell(node, tmp_path_factory):
    """shell(line, values=None): runs it as a user of the checkout would, with these values in values.yaml."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "charts").symlink_to(f"{ROOT}/charts")

    def run(line, values=VALUES):
        (folder / "values.yaml").write_text(yaml.safe_dump(values))
        install.type_in(node, f"export PATH={binaries.folder('--helm')}:$PATH HOME={folder}\n{line}\n", folder)
    return run


@pytest.fixture(scope="module")
def release(node, shell, figures):
    begin = time.monotonic()
    for line in documented("install", "Install with Helm"):
        shell(line)
    install.wait_for_deployments(node, install.SYSTEM)
    figures["install of the chart to every Deployment ready, seconds"] = f"{time.monotonic() - begin:.1f}"
    install.wait_for_hooks(node)
    yield shell
    if install.get(node, "deployment", "nervex-webhook", "-n", install.SYSTEM):  # a test failed before it was removed
        shell("helm uninstall nervex --namespace nervex-system")
    install.uninstall(node, "self-issued")


@pytest.fixture(scope="module")
def running(node, release):
    """The pods of a job that runs all the while."""
    node.kubectl("create", "-f", "-", body=yaml.safe_dump(job(
        "runs", coordinator=template(jobs.container(STAYS)), collector={**template(jobs.container(STAYS)), "replicas": 1})))
    wait_ready(node, "runs", "2/2", 120)
    return uids(node, "runs")


def helm(verb):
    """The documented command with that verb."""
    return next(line for line in documented("upgrade", "With Helm") if line.startswith(f"helm {verb} "))


def replicas(node):
    return install.get(node, "deployment", "nervex-server", "-n", install.SYSTEM)["spec"]["replicas"]


def test_a_job_runs_in_containers(node, running):
    assert len(running) == 2


def test_an_upgrade_changes_what_values_say_under_the_running_job(node, release, running):
    release(helm("upgrade"), {**VALUES, "server": {"replicas": 1}})
    install.wait_for_deployments(node, install.SYSTEM)
    assert replicas(node) == 1
    assert uids(node, "runs") == running


def test_a_wrong_value_is_named_and_changes_nothing(node, release, running):
    with pytest.raises(Failure, match="/server/replicas"):
        release(helm("upgrade"), {**VALUES, "server": {"replicas": "many"}})
    assert replicas(node) == 1


def test_a_rollback_restores_the_revision_before(node, release, running):
    release(helm("rollback"))
    install.wait_for_deployments(node, install.SYSTEM)
    assert replicas(node) == 2
    assert uids(node, "runs") == running
    install.wait_for_hooks(node)


def test_the_job_ends_after_all_of_it(node, release, running):
    jobs.end_coordinator(node, "runs")
    wait_phase(node, "runs", "Succeeded", 60)


def test_all_can_be_removed(node, release, running):
    assert len(install.left_overs(node)) > 40, "before, it is seen"
    delete_jobs, wait, uninstall, delete_crds = documented("upgrade", "With Helm")[-4:]
    for command in (delete_jobs, wait, uninstall):
        release(command)
    assert install.get(node, "crd", "nervexjobs.nervex.sensetime.com"), "a removal of the chart alone keeps jobs"
    release(delete_crds)
    node.kubectl("delete", "namespace", install.SYSTEM, timeout=240)
    assert install.left_overs(node) == []
    assert node.kubectl("get", "pods", "-n", "default", "-o", "name").stdout == ""
