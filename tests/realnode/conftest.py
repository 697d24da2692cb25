"""Fixtures of the tests on a real node (scripts/real-node): one node per session, with the images of this project.

    make test-node                                   all of them
    scripts/test --only node -- -k example           some

    NERVEX_BIN=FOLDER         programs that go into the images (default build/dev/bin)
    NERVEX_NODE_SKIPS=1       skip where the machine cannot run a node; without it that is a failure
    NODE=nervex-test-node     its name; runs at the same time need names of their own
    KEEP=1                    leave the node up at the end

Whether the machine can is tried (scripts/real-node check), so on a machine that can nothing is skipped.
"""

import contextlib
import json
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tools.base.console import Failure, wait_for  # noqa: E402
from tools.realnode import install, lifecycle, machine, simulated  # noqa: E402
from tools.realnode.node import Node  # noqa: E402
from tools.realnode.settings import Settings  # noqa: E402

import jobs  # noqa: E402
import traces  # noqa: E402

SETTINGS = Settings(os.environ.get("NODE") or "nervex-test-node")
BIN = os.path.abspath(os.environ.get("NERVEX_BIN") or os.path.join(ROOT, "build", "dev", "bin"))


def pytest_collection_modifyitems(config, items):
    """A test that does not apply to a variant of the install is not there for it. (A test that returns counts as passed.)"""
    def applies(item):
        mark = item.get_closest_marker("variants")
        return not mark or item.callspec.params["variant"] in mark.args
    others = [item for item in items if not applies(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if applies(item)]


@pytest.fixture(scope="session")
def node(request):
    lifecycle.down(SETTINGS)  # of a run that was killed
    before = traces.of_machine(SETTINGS)
    lacking = machine.lacks()
    if lacking:
        message = machine.cannot(lacking)
        if os.environ.get("NERVEX_NODE_SKIPS") == "1":
            pytest.skip(message)
        pytest.exit(message, returncode=1)
    try:
        found = lifecycle.up(SETTINGS)
        install.load_images(found, BIN)
    except Failure as failure:
        pytest.exit(f"no node to test on: {failure} (logs: {SETTINGS.folder}.failed/)", returncode=1)
    yield found
    found.look_after()
    if os.environ.get("KEEP") == "1":
        return
    lifecycle.down(SETTINGS, keep=request.session.testsfailed > 0)
    assert traces.left(before, SETTINGS) == {}, "the node left something behind"


@pytest.fixture(scope="module")
def suite(node):
    """The node with the self-issued variant installed."""
    install.install(node, "self-issued")
    install.wait_for_hooks(node)
    yield node
    install.uninstall(node, "self-issued")


@pytest.fixture(scope="module")
def beside(suite):
    """The same, with simulated nodes in its cluster: gpu-node-0 to 3, cpu-node-0 to 19."""
    simulated.add(suite, gpu_nodes=4, cpu_nodes=20)
    yield suite

    def look():  # `kubectl wait` would watch each of thousands of pods by itself
        left = suite.kubectl("get", "pods", "-l", "group-name=nervex.sensetime.com", "-o", "name").stdout.split()
        return not left, f"{len(left)} are there, such as {left[:3]}"
    wait_for(look, "the jobs' pods to go", 300, 1)
    simulated.remove(suite)


@pytest.fixture
def label(suite):
    """label(node): a label of the test's own on it, which goes with the test. .name is its key."""
    class Label:
        name, on = "nervex-test/here", []

        def __call__(self, node):
            suite.kubectl("label", "node", node, f"{self.name}=yes")
            self.on.append(node)

    made = Label()
    made.on = []
    yield made
    for node in made.on:
        suite.kubectl("label", "node", node, f"{made.name}-")


@pytest.fixture
def create(suite):
    """create("name", coordinator=..., ...): a job that goes with the test."""
    made = []

    def create_job(name, **spec):
        made.append(name)
        suite.kubectl("create", "-f", "-", body=json.dumps(jobs.job(name, **spec)))
    yield create_job
    for name in made:
        suite.kubectl("delete", "nervexjob", name)


@pytest.fixture(scope="session")
def figures(request):
    """figures["what"] = "value": printed at the end, and kept beside the reports."""
    found = {}
    request.config.nervex_figures = found
    return found


def pytest_terminal_summary(terminalreporter, config):
    found = getattr(config, "nervex_figures", None)
    if found:
        terminalreporter.section("measured")
        for what, value in found.items():
            terminalreporter.write_line(f"{what:<60} {value}")
        folder = os.path.join(ROOT, "build", "reports")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "node-figures.json"), "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(item, call):
    """A failed test comes with what the cluster says."""
    report = yield
    if report.failed:
        found = Node.load(SETTINGS)
        if found and found.alive:
            for namespace in (install.SYSTEM, "default"):
                with contextlib.suppress(Failure):  # of a cluster that answers
                    report.sections.append((f"pods and events in {namespace}", install.describe(found, namespace)))
    return report
