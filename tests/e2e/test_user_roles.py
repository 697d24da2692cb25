"""What manifests/rbac/users.yaml adds to Kubernetes' own roles: a user with `edit` or `view` in a namespace can do
there exactly what docs/tasks/run-a-job.md describes."""

import json

import pytest

from support.jobs import job
from support.users import may, wait_until_user_may

GROUPS = "podgroups.nervex.sensetime.com"


@pytest.mark.versions
def test_a_user_who_may_edit_a_namespace_runs_jobs_there(users, kubectl, nervexctl, jobs):
    editor = users.kubeconfig("edit")
    for verb, what in (("create", "nervexjobs"), ("create", "pods"), ("get", GROUPS),
                       ("patch", "nervexjobs/scale")):
        wait_until_user_may(kubectl, editor, verb, what)

    def do(*words, body=None):
        done = kubectl("--kubeconfig", editor, *words, body=body and json.dumps(body))
        assert done.returncode == 0, done.stderr
        return done.stdout
    do("create", "-f", "-", body=job("mine"))
    jobs.wait_phase("mine", "Running")
    assert "mine" in do("get", "nervexjobs", "-o", "wide")
    said = nervexctl("explain", "mine", "--kubeconfig", editor)
    assert said.returncode == 0 and "cannot show" not in said.stdout + said.stderr, said
    do("scale", "nvxjob", "mine", "--replicas", "1")
    jobs.wait_pods("mine", 3, "Running")
    do("patch", "nvxjob", "mine", "--type=merge", "-p", '{"spec": {"suspend": true}}')
    do("delete", "nvxjob", "mine")

    for verb, what in (("create", GROUPS), ("patch", GROUPS + "/status"), ("create", "aggregatorconfigs"),
                       ("patch", "nervexjobs/status")):
        assert not may(kubectl, editor, verb, what), (verb, what)


def test_a_user_who_may_view_a_namespace_sees_why_jobs_wait_there(users, kubectl, nervexctl, jobs):
    viewer = users.kubeconfig("view")
    jobs.create(job("theirs"))
    jobs.wait_phase("theirs", "Running")
    for what in ("nervexjobs", GROUPS, "aggregatorconfigs"):
        wait_until_user_may(kubectl, viewer, "list", what)
    said = nervexctl("explain", "theirs", "--kubeconfig", viewer)
    assert said.returncode == 0 and "cannot show" not in said.stdout + said.stderr, said
    refused = kubectl("--kubeconfig", viewer, "delete", "nvxjob", "theirs")
    assert "cannot delete resource" in refused.stderr
