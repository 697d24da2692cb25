"""nervexctl list, suspend, resume, delete, wait and events, for users with one of Kubernetes' own roles in one
namespace."""

import json
import re

import pytest
from support.commands import Background
from support.jobs import job, template
from support.wait import wait_for

TOO_MUCH = template(memory="1000Ti")
HEADER = ["NAME", "PHASE", "QUEUE", "POSITION", "READY", "REASON", "AGE"]


@pytest.fixture
def editor(nervexctl_as):
    return nervexctl_as("edit")


@pytest.fixture
def viewer(nervexctl_as):
    return nervexctl_as("view")


def test_jobs_are_listed_with_phase_ready_reason_and_age(jobs, editor, namespace):
    jobs.create(job("waits", learner={"replicas": 2, "template": TOO_MUCH}))
    jobs.create({**job("runs"), "metadata": {"name": "runs", "labels": {"team": "vision"}}})
    jobs.wait_phase("runs", "Running")
    jobs.wait_condition("waits", "Scheduled", "False")
    said = editor("list")
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[0].split() == HEADER
    assert [line.split()[:2] for line in lines[1:]] == [["runs", "Running"], ["waits", "Created"]]
    assert re.search(r"waits +Created +- +\S+ +0/\d+ +\w+ +\d+s", said.stdout), said.stdout
    assert editor("list", "-l", "team=vision", "-o", "name").stdout == "nervexjob.nervex.sensetime.com/runs\n"
    listed = json.loads(editor("list", "-o", "json").stdout)
    assert (listed["apiVersion"], listed["kind"]) == ("cli.nervex.sensetime.com/v1", "JobList")
    assert [(one["namespace"], one["name"]) for one in listed["items"]] == [(namespace, "runs"), (namespace, "waits")]
    assert "- attempt: 1" in editor("list", "-o", "yaml").stdout

    refused = editor("list", "-A")
    assert refused.returncode == 1
    assert "you may not list nervexjobs.nervex.sensetime.com in the whole cluster: name a namespace" in refused.stderr


def test_a_list_shows_the_queue_and_the_position_in_it(jobs, editor, core, custom, namespace):
    queue = "q-" + namespace
    core.patch_namespace(namespace, {"metadata": {"labels": {"nervex.sensetime.com/queue": queue}}})
    kind = ("nervex.sensetime.com", "v1alpha1", "queues")
    custom.create_cluster_custom_object(*kind, {"apiVersion": "/".join(kind[:2]), "kind": "Queue", "metadata": {"name": queue},
                                                "spec": {"limit": [{"resources": {"cpu": "1m"}}]}})
    try:
        for name in ("first", "second"):
            jobs.create(job(name))
            jobs.wait_condition(name, "Scheduled", "False")

        def look():
            rows = [line.split() for line in editor("list").stdout.splitlines()[1:]]
            return [row[2:4] for row in rows] == [[queue, "1"], [queue, "2"]], rows
        wait_for(look, "the queue and the positions to be listed", 60)
        said = editor("queue", queue)
        assert said.returncode == 0, said.stderr
        head, line, _, waiting, *jobs_in_order = said.stdout.splitlines()
        assert head.split()[:3] == ["QUEUE", "PENDING", "RUNNING"]
        assert line.split()[0] == queue and "cpu 1m" in line
        assert waiting.split()[:4] == ["NAMESPACE", "NAME", "QUEUE", "POSITION"]
        assert [one.split()[:4] for one in jobs_in_order] == [[namespace, "first", queue, "1"], [namespace, "second", queue, "2"]]
        every = json.loads(editor("queue", "-o", "json").stdout)
        assert queue in [one["name"] for one in every["queues"]]
        assert editor("queue", "absent").returncode == 1
    finally:
        custom.delete_cluster_custom_object(*kind, queue)


def test_an_empty_list_says_so(editor, namespace):
    said = editor("list")
    assert (said.returncode, said.stdout) == (0, "")
    assert said.stderr == f"nervexctl: no jobs in namespace {namespace}\n"


def test_a_list_is_watched(jobs, target, namespace):
    jobs.create(job("runs"))
    with Background(target, "nervexctl", "list", "-w", "-n", namespace) as watch:
        wait_for(lambda: any("Running" in line for line in watch.lines), "the list to show that it runs")
        jobs.delete("runs")
        wait_for(lambda: any("Deleted" in line for line in watch.lines), "the deletion to be shown")
        watch.interrupt()
        assert watch.wait() == 130
    lines = [line.split() for line in watch.lines]
    assert lines[0] == HEADER
    assert any(line[1] == "Running" for line in lines), lines


def test_a_watched_list_ends_when_its_reader_hangs_up(jobs, target, namespace):
    jobs.create(job("runs"))
    with Background(target, "sh", "-c", f"nervexctl list -w -n {namespace} | head -1; echo done") as watch:
        wait_for(lambda: watch.lines[:1], "the header")
        jobs.wait_phase("runs", "Running")
        jobs.delete("runs")
        wait_for(lambda: "done" in watch.lines, "the list to end")


def test_an_editor_suspends_resumes_waits_and_deletes(jobs, editor, namespace):
    jobs.create(job("mine"))
    said = editor("wait", "mine", "--for=running", "--timeout", "60s")
    assert (said.returncode, said.stdout) == (0, "nervexjob.nervex.sensetime.com/mine condition met\n"), said.stderr
    assert editor("suspend", "mine").stdout == "nervexjob.nervex.sensetime.com/mine suspended\n"
    assert editor("suspend", "mine").stdout == "nervexjob.nervex.sensetime.com/mine suspended (unchanged)\n"
    assert editor("wait", "mine", "--for=condition=Suspended", "--timeout", "60s").returncode == 0
    wait_for(lambda: not jobs.pods("mine"), "the pods to be deleted")
    assert editor("resume", "--all").stdout == "nervexjob.nervex.sensetime.com/mine resumed\n"
    assert editor("wait", "mine", "--for=running", "--timeout", "60s").returncode == 0
    said = editor("delete", "mine", "--wait", "--timeout", "60s")
    assert (said.returncode, said.stdout) == (0, "nervexjob.nervex.sensetime.com/mine deleted\n"), said.stderr
    assert not jobs.pods("mine")
    missing = editor("delete", "mine")
    assert missing.returncode == 1
    assert "kubectl nervex list shows the jobs" in missing.stderr


def test_a_wait_says_why_and_ends_with_the_job(jobs, editor, node_agent):
    jobs.create(job("waits", learner={"replicas": 1, "template": TOO_MUCH}))
    said = editor("wait", "waits", "--for=running", "--timeout", "4s")
    assert said.returncode == 1
    assert re.search(r"waits waits: the whole gang: learner: .* memory 1000Ti", said.stderr), said.stderr
    assert "timed out after 4s" in said.stderr
    assert "kubectl nervex explain waits" in said.stderr

    jobs.create(job("ends"))
    jobs.wait_phase("ends", "Running")
    node_agent.finish("ends-coordinator", exit_code=3)
    said = editor("wait", "ends", "--timeout", "60s")
    assert said.returncode == 1
    assert "ends failed (CoordinatorFailed)" in said.stderr

    missing = editor("wait", "absent")
    assert missing.returncode == 1
    assert '"absent" not found' in missing.stderr


def test_events_of_a_job_and_its_pods_are_shown(jobs, viewer):
    jobs.create(job("runs"))
    jobs.wait_phase("runs", "Running")
    jobs.wait_event("runs", "NerveXJobRunning")
    said = viewer("events", "runs")
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines()[0].split("  ")[0] == "LAST SEEN"
    assert re.search(r"Normal +NerveXJobRunning +nervexjob/runs", said.stdout), said.stdout
    events = json.loads(viewer("events", "runs", "-o", "json").stdout)
    assert events["kind"] == "JobEventList"
    assert viewer("events", "absent").returncode == 1


def test_a_viewer_reads_and_is_told_clearly_what_it_may_not(jobs, viewer, namespace):
    jobs.create(job("theirs"))
    jobs.wait_phase("theirs", "Running")
    assert "theirs" in viewer("list").stdout
    assert viewer("wait", "theirs", "--for=running").returncode == 0
    for words in (["suspend", "theirs"], ["delete", "theirs"]):
        refused = viewer(*words)
        assert refused.returncode == 1
        assert f"in namespace {namespace}: choose another one with -n, or ask for the role edit" in refused.stderr
    assert jobs.phase("theirs") == "Running"


@pytest.mark.parametrize("words", [["suspend"], ["delete", "a", "--all"], ["wait"], ["wait", "a", "--for=ready"],
                                   ["list", "--sort", "size"], ["list", "-o", "csv"], ["events"]])
def test_wrong_usage_is_status_2(nervexctl, words):
    said = nervexctl(*words)
    assert said.returncode == 2
    assert said.stdout == ""
