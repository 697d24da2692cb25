"""Each program of the last release (VERSION names it) beside this version's CRDs, roles and other programs, as in the
middle of an upgrade: a job lives to its end as with programs of one version."""

import pytest
from tools.base import versions
from tools.cluster import suite
from tools.realnode import released
from support.commands import command
from support.jobs import job, template

pytestmark = pytest.mark.extended

OURS = [program for program in suite.PROGRAMS if program != "scheduler"]


@pytest.fixture(scope="module")
def released_programs():
    """The folder of the last release's programs; compiled if they are missing."""
    commit = released.previous()
    released.provide(commit)
    return released.programs(commit)


@pytest.fixture
def with_released(programs, released_programs, monkeypatch):
    """with_released("controller"): this one is of the last release, until the test ends."""
    restarted = []

    def restart(program):
        own = suite.binary
        with monkeypatch.context() as patch:
            patch.setattr(suite, "binary", lambda settings, name: (
                f"{released_programs}/nervex-{name}" if name == program else own(settings, name)))
            programs.restart(program)
        restarted.append(program)
        assert programs.metrics(program)[f'nervex_build_info{{version="{versions.read().previous}"}}'] == 1
    yield restart
    for program in restarted:
        programs.restart(program)


@pytest.mark.parametrize("program", OURS)
def test_a_job_lives_to_its_end_beside_one_program_of_the_last_release(with_released, life, program):
    with_released(program)
    state = life.run()
    assert (state["phase"], state["reason"], state["attempt"], state["left over"]) == ("Succeeded", "Completed", 2, [])
    assert {role: counts["succeeded"] for role, counts in state["counts"].items()} == {
        "Coordinator": 1, "Aggregator": 1, "Collector": 2, "Learner": 2}


def test_what_a_released_controller_began_goes_on_with_this_one(with_released, programs, life):
    """An upgrade in the middle of a job's life."""
    with_released("controller")
    state = life.run(before=lambda step: programs.restart("controller") if step == "replace" else None)
    assert (state["phase"], state["attempt"], state["left over"]) == ("Succeeded", 2, [])


def test_the_released_command_line_explains_a_job_that_waits(released_programs, target, jobs, namespace):
    jobs.create(job("waits", coordinator={"template": template(gpus=64)}))
    jobs.wait(lambda: (jobs.get("waits")["status"].get("reason") == "Unschedulable", jobs.get("waits")), "the job to wait")
    said = command(target, f"{released_programs}/nervexctl")("explain", "waits", "-n", namespace)
    assert said.returncode == 0, said.stderr
    assert "coordinator: can never fit" in said.stdout
