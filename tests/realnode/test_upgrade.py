"""From the last release (VERSION names its commit) to this tree and back, with the commands of docs/tasks/upgrade.md: a job that
runs is neither restarted nor forgotten, it goes on asking for replicas, and jobs are taken at every moment."""

import json
import os
import re

import jobs
import pytest
from tools.base import versions
from tools.base.console import Failure, wait_for
from tools.base.tree import ROOT
from tools.images import oci, suite
from tools.realnode import install, released
from jobs import STAYS, job, pods, status, template, uids, wait_phase, wait_ready
from submitter import Submitter

VARIANT = "manifests/variants/self-issued"
DEPLOYMENTS = {"nervex-operator": "nervex-controller", "nervex-scheduler": "nervex-extender",
               "nervex-server": "nervex-server", "nervex-webhook": "nervex-webhook"}
# Asks nervex-server for a collector at once and whenever it gets SIGUSR1, until that has worked; ends well on SIGUSR2.
# With a key for each wish: equal calls within 30 s may be one that was repeated (docs/reference/replicas-api.md).
ASKS = """
import json, os, signal, time, urllib.request
wishes, over = ["first"], []
signal.signal(signal.SIGUSR1, lambda *_: wishes.append(os.urandom(8).hex()))
signal.signal(signal.SIGUSR2, lambda *_: over.append(1))
body = json.dumps({"namespace": "default", "coordinator": os.environ["KUBERNETES_POD_NAME"], "collectors": {"replicas": 1}})
url = "http://" + os.environ["KUBERNETES_SERVER_URL"] + "/v1alpha1/replicas"
while not over:
    time.sleep(0.2)
    if wishes:
        request = urllib.request.Request(url, body.encode(), {"Idempotency-Key": wishes[0]})
        try:
            answer = json.load(urllib.request.urlopen(request, timeout=20))
            print(answer, flush=True)
            if answer.get("success"):
                wishes.pop(0)
        except OSError as error:
            print(error, flush=True)
"""


def container(code):
    """Without requests: while all Deployments are replaced at once a small node has none of its CPU left, and what asks
    for none is not preempted (docs/tasks/upgrade.md, Upgrade)."""
    return {"name": "nervex-container", "image": jobs.MOCK, "command": ["python3", "-c", code]}


def grows(node, name, ready):
    """It asks for one more collector, and gets it."""
    signal(node, name, 10)
    try:
        wait_ready(node, name, ready, 60)
    except Failure as failure:
        said = node.kubectl("logs", f"{name}-coordinator").stdout
        raise Failure(f"{failure}; the coordinator says: {said}") from failure


def signal(node, name, number):
    node.kubectl("exec", f"{name}-coordinator", "--", "python3", "-c", f"import os; os.kill(1, {number})")


def upgrade_commands():
    """What docs/tasks/upgrade.md tells to type, for this variant, as words for kubectl."""
    with open(os.path.join(ROOT, "docs", "tasks", "upgrade.md"), encoding="utf-8") as file:
        block = re.search(r"^## Upgrade\n+```sh\n(.*?)```", file.read(), re.MULTILINE | re.DOTALL)[1]
    lines = [line.partition(" #")[0].split() for line in block.splitlines() if not line.startswith("#")]
    assert {line[0] for line in lines} == {"kubectl"}
    return [[word.replace("manifests/variants/cert-manager", VARIANT) for word in line[1:]] for line in lines]


def apply(node, tree):
    """These commands, with the manifests of that tree."""
    for command in upgrade_commands():
        node.kubectl(*(os.path.join(tree, word) if word.startswith("manifests/") else word for word in command), timeout=240)
    install.wait_for_deployments(node, install.SYSTEM, 300)


def versions_that_run(node):
    found = install.get(node, "pods", "-n", install.SYSTEM)["items"]
    return {one["image"].rpartition(":")[2] for pod in found if pod["metadata"]["labels"].get("app.kubernetes.io/name") in DEPLOYMENTS
            and not pod["metadata"].get("deletionTimestamp")
            for one in pod["spec"]["containers"] if one["name"] in DEPLOYMENTS.values()}


def starts(node, name):
    """A job that is created now runs, and ends when it is told to."""
    node.kubectl("create", "-f", "-", body=json.dumps(job(name, coordinator=template(container(ASKS)),
                                                            collector=template(container(STAYS)),
                                                            learner={**template(container(STAYS)), "replicas": 1})))
    wait_ready(node, name, "3/3", 120)
    signal(node, name, 12)
    wait_phase(node, name, "Succeeded", 60)
    node.kubectl("delete", "nervexjob", name)


@pytest.fixture(scope="module")
def old(node):
    """The last release, installed as its own install guide says; (its tree, its version)."""
    commit = released.previous()
    tree, version = released.provide(commit), released.version(commit)
    assert version != versions.read().version
    release = suite.Release(version, released.programs(commit), suite.architecture(suite.own_architecture()))
    for name in suite.PROGRAMS:
        path = node.settings.path("images", f"{name}-{version}.tar")
        oci.write([suite.image(release, name)], path, compress=False)
        node.load_images([path])
        os.unlink(path)
    node.kubectl("create", "-k", os.path.join(tree, VARIANT))
    install.wait_for_deployments(node, install.SYSTEM)
    install.wait_for_hooks(node)
    yield tree, version
    for left in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):  # not of every release
        node.kubectl("delete", left, "nervex-requests", "--ignore-not-found")
    install.uninstall(node, "self-issued")


@pytest.fixture(scope="module")
def lives(node, old):
    """A job that runs all the while; what its pods are, besides those that it asks for later."""
    node.kubectl("create", "-f", "-", body=json.dumps(job(
        "lives", cleanPodPolicy="None", coordinator=template(container(ASKS)),
        collector={**template(container(STAYS)), "replicas": 1}, learner={**template(container(STAYS)), "replicas": 1})))
    wait_ready(node, "lives", "4/4", 120)
    return uids(node, "lives")


@pytest.fixture(scope="module")
def waits(node, old):
    """A job that cannot start: no node has a GPU."""
    greedy = {**container(STAYS), "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    node.kubectl("create", "-f", "-", body=json.dumps(job("waits", coordinator=template(greedy))))
    wait_for(lambda: (jobs.condition(node, "waits", "Scheduled").get("status") == "False", status(node, "waits")),
             "the waiting job to say so", 60, 0.3)


def test_the_last_release_runs_a_job_and_one_waits(node, old, lives, waits):
    assert versions_that_run(node) == {old[1]}
    assert status(node, "lives")["phase"] == "Running"
    assert status(node, "waits")["phase"] == "Created"


def test_the_upgrade_changes_nothing_for_running_and_waiting_jobs(node, old, lives, waits, figures):
    with Submitter(node) as submitter:
        apply(node, ROOT)
    figures["jobs submitted during the upgrade from the last release"] = str(len(submitter.accepted))
    wait_for(lambda: (versions_that_run(node) == {versions.read().version}, versions_that_run(node)), "the new version alone", 60)
    assert submitter.refused == []
    assert len(submitter.accepted) > 3
    assert uids(node, "lives") == lives
    assert status(node, "lives")["phase"] == "Running"
    assert status(node, "waits")["phase"] == "Created"
    assert pods(node, "waits") == []


def test_after_the_upgrade_the_running_job_grows_and_new_ones_start(node, old, lives):
    grows(node, "lives", "5/5")
    assert lives < uids(node, "lives")
    starts(node, "upgraded")


def test_back_to_the_last_release_the_running_job_goes_on_to_its_end(node, old, lives):
    tree, version = old
    before = uids(node, "lives")
    apply(node, tree)
    wait_for(lambda: (versions_that_run(node) == {version}, versions_that_run(node)), "the old version alone", 60)
    install.wait_for_hooks(node)
    assert uids(node, "lives") == before
    grows(node, "lives", "6/6")
    starts(node, "back")
    signal(node, "lives", 12)
    wait_phase(node, "lives", "Succeeded", 60)
