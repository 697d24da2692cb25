"""examples/mock/coordinator.py when errors occur. (test_job_life.py shows that it works.)"""

import os
import subprocess
import sys

import pytest
from tools.base.tree import ROOT
from support.jobs import job

MOCK = os.path.join(ROOT, "examples", "mock", "coordinator.py")


def run(*flags, **environment):
    """Its exit code, and its last line."""
    done = subprocess.run([sys.executable, MOCK, "--seconds=0", *flags], capture_output=True, text=True,
                          env=environment, timeout=60)
    return done.returncode, (done.stdout + done.stderr).splitlines()[-1]


@pytest.fixture
def identity(env, namespace):
    """The environment of a coordinator, with only the server variable that older clients know."""
    return {"KUBERNETES_NERVEX_SERVER_URL": env["NERVEX_SERVER_URL"], "KUBERNETES_POD_NAMESPACE": namespace,
            "KUBERNETES_POD_NAME": "mock-coordinator", "COORDINATOR_PORT": "80"}


def test_a_missing_environment_is_named():
    code, last_line = run()
    assert code == 1
    assert last_line.startswith("coordinator: FAILED: the environment has no KUBERNETES_SERVER_URL")


def test_a_refusal_ends_it_with_the_servers_words(identity):
    code, says = run(**identity)
    assert code == 1
    assert says.startswith("coordinator: FAILED: POST /v1alpha1/replicas: 404 ")


def test_missing_replicas_end_the_mock_after_its_timeout(jobs, identity):
    jobs.create(job("mock"))
    jobs.wait_phase("mock", "Running")
    code, says = run("--collectors=1", "--learners=0", "--cpus=100000", "--timeout=2", **identity)
    assert code == 1
    assert "still missing: mock-collector-" in says


def test_the_mock_works_without_replicas(jobs, identity):
    jobs.create(job("mock"))
    jobs.wait_phase("mock", "Running")
    assert run("--collectors=0", "--learners=0", **identity) == (0, "coordinator: done")
