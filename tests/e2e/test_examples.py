"""The jobs in examples/ and in docs/tasks/run-a-job.md: each is admitted, and its pods pass Pod Security level "restricted"."""

import copy
import glob
import os
import re

import kubernetes
import pytest
from tools.base.tree import ROOT
from tools.cluster import manifests
from support.jobs import load, load_job

WRONG = "examples/wrong-job.yaml"
FILES = sorted(os.path.relpath(path, ROOT) for pattern in ("*.yaml", "di-engine/*.yaml")
               for path in glob.glob(os.path.join(ROOT, "examples", pattern)))
WITH_PODS = [path for path in FILES if path != WRONG and load(path)[0]["kind"] in ("NerveXJob", "AggregatorConfig")]
JOBS = [path for path in WITH_PODS if load(path)[0]["kind"] == "NerveXJob"]
ROLES = ("coordinator", "aggregator", "collector", "learner")


@pytest.fixture
def restricted(core, namespace):
    core.patch_namespace(namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    return namespace


def pods(path):
    for one in load(path):
        for role in ROLES:
            template = one["spec"].get(role)
            if isinstance(template, dict):
                spec = copy.deepcopy(template["template"]["spec"])
                spec["volumes"] = spec.get("volumes", []) + one["spec"].get("volumes", [])
                yield {"metadata": {"name": role}, "spec": spec}


@pytest.mark.parametrize("path", JOBS)
def test_a_job_is_admitted(jobs, path):
    jobs.create(load_job(path), dry_run=True)


def test_the_job_of_the_tutorial_runs(jobs):
    with open(os.path.join(ROOT, "docs", "tasks", "run-a-job.md"), encoding="utf-8") as guide:
        block = re.search(r"^```yaml\n(.*?)^```", guide.read(), re.MULTILINE | re.DOTALL).group(1)
    jobs.create(next(iter(manifests.load_all(block))))
    jobs.wait_phase("dqn", "Running")


@pytest.mark.parametrize("path", WITH_PODS)
def test_pods_pass_pod_security_restricted(core, restricted, path):
    made = [core.create_namespaced_pod(restricted, pod, dry_run="All") for pod in pods(path)]
    assert made


def test_a_pod_without_security_context_does_not_pass(core, restricted):
    """Otherwise the test above proves nothing."""
    pod = next(pods(WITH_PODS[0]))
    del pod["spec"]["securityContext"]
    with pytest.raises(kubernetes.client.ApiException) as refused:
        core.create_namespaced_pod(restricted, pod, dry_run="All")
    assert refused.value.status == 403 and "restricted" in refused.value.body
