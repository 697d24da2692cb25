"""Each program of the last release (VERSION names it) beside this version's CRDs, roles, policies and other programs, as
in the middle of an upgrade (docs/tasks/upgrade.md): a job lives to its end as with programs of one version. And this
version's programs under the policies of the last release: `kubectl apply` may replace a Deployment before a policy."""

import os

import pytest
from tools.base import versions
from tools.cluster import manifests, suite
from tools.realnode import released
from support.commands import command
from support.jobs import GROUP, VERSION, job, refusal_of, template
from support.wait import wait_for

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


MARKS = "nervex-pod-marks"  # a policy that the last release lacks


@pytest.fixture
def released_policies(released_programs, programs, core, namespace):
    """The API server enforces the policies of the last release, and no other of ours, until the test ends."""
    own = policies(os.path.join(manifests.ROOT, "manifests"))
    theirs = policies(os.path.join(released.tree(released.previous()), "manifests"))
    gone = [one for one in own if one["metadata"]["name"] not in {old["metadata"]["name"] for old in theirs}]
    assert {one["metadata"]["name"] for one in gone} == {MARKS}
    for one in gone:
        manifests.kubectl(programs.settings, "delete", one["kind"], one["metadata"]["name"])
    manifests.apply(programs.settings, theirs)
    wait_for(lambda: not why_refused(core, namespace), "a pod with marks to be accepted")
    yield
    manifests.apply(programs.settings, own)
    wait_for(lambda: MARKS in why_refused(core, namespace), "a pod with marks to be refused again")


def policies(folder):
    return [one for one in manifests.documents(f"{folder}/rbac/*.yaml", f"{folder}/webhook/*.yaml")
            if one["kind"] in manifests.POLICY_KINDS]


def why_refused(core, namespace):
    """The API server's words about a pod with the mark of a gang; "" if it would be created."""
    marked = {"metadata": {"name": "marked", "annotations": {f"{GROUP}/slot": "collector/0"}}, "spec": template()["spec"]}
    return refusal_of(lambda: core.create_namespaced_pod(namespace, marked, dry_run="All"))


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


@pytest.mark.parametrize("how", ["Background", "Foreground", "Orphan"])
def test_pods_of_a_job_that_is_deleted_go_with_a_released_controller(with_released, jobs, core, namespace, how):
    """Under this version's policies the garbage collector deletes or orphans the pods, the controller takes its finalizer
    off, and an orphan can be deleted."""
    with_released("controller")
    jobs.create(job("goes", collector={"replicas": 1, "template": template()}))
    jobs.wait_phase("goes", "Running")
    names = {one.metadata.name for one in jobs.pods("goes")}
    assert len(names) >= 2 and MARKS in why_refused(core, namespace)
    jobs.custom.delete_namespaced_custom_object(GROUP, VERSION, namespace, "nervexjobs", "goes", propagation_policy=how)

    def left():
        return [one.metadata for one in core.list_namespaced_pod(namespace).items]
    if how == "Orphan":
        wait_for(lambda: (all(not one.owner_references and not one.finalizers for one in left()), left()),
                 "the pods to have neither owner nor finalizer")
        assert {one.name for one in left()} == names
        for name in names:
            core.delete_namespaced_pod(name, namespace, grace_period_seconds=0)
    wait_for(lambda: (not left(), left()), "the pods to go")


def test_a_job_lives_to_its_end_under_the_policies_of_the_last_release(released_policies, life):
    state = life.run()
    assert (state["phase"], state["attempt"], state["left over"]) == ("Succeeded", 2, [])


def test_the_released_command_line_explains_a_job_that_waits(released_programs, target, jobs, namespace):
    jobs.create(job("waits", coordinator={"template": template(gpus=64)}))
    jobs.wait(lambda: (jobs.get("waits")["status"].get("reason") == "Unschedulable", jobs.get("waits")), "the job to wait")
    said = command(target, f"{released_programs}/nervexctl")("explain", "waits", "-n", namespace)
    assert said.returncode == 0, said.stderr
    assert "coordinator: can never fit" in said.stdout
