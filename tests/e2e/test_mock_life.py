"""examples/mock, which uses sdk/python: the whole life, with authentication off and on, and with two replicas of
nervex-server behind one address that alternates between them."""

import contextlib

import pytest
from tools.cluster import kubelet
from support.balancer import Balancer
from support.jobs import load_job

EXAMPLE = "nervexjob-example-1"


@pytest.fixture
def tokens(programs, monkeypatch):
    """tokens(): from now on nervex-server requires tokens, and pods get one."""
    changed = []

    def ask():
        monkeypatch.setenv("NERVEX_SERVER_ARGS", "--auth=token")
        monkeypatch.setenv("NERVEX_CONTROLLER_ARGS", "--server-auth=token")
        changed.extend(("server", "controller"))
        for program in changed:
            programs.restart(program)
    yield ask
    monkeypatch.undo()
    for program in changed:
        programs.restart(program)


@pytest.mark.parametrize("replicas", [1, 2], ids=["one server", "two servers"])
@pytest.mark.parametrize("auth", ["none", "token"])
def test_the_mock_runs_through_all_its_steps(programs, jobs, tokens, auth, replicas):
    if auth == "token":
        tokens()
    servers = ["server", *(programs.start_second("server") for _ in range(replicas - 1))]
    with contextlib.closing(Balancer([programs.programs[name]["url"] for name in servers])) as balancer:
        jobs.create(load_job("examples/nervex-mock-nervexjob.yaml"))
        jobs.wait_pods(EXAMPLE, 2, "Running")
        coordinator = kubelet.start_coordinator(programs.api(), jobs.namespace, f"{EXAMPLE}-coordinator",
                                                balancer.url, ("--seconds=0",))
        output, _ = coordinator.communicate(timeout=60)
        assert coordinator.returncode == 0, output
        assert all(count > 0 for count in balancer.taken.values()), "both replicas were asked"
    jobs.wait_pods(EXAMPLE, 4, "Running")
    kubelet.finish(programs.api(), jobs.namespace, f"{EXAMPLE}-coordinator")
    jobs.wait_phase(EXAMPLE, "Succeeded")
    jobs.wait_pods(EXAMPLE, 1)
