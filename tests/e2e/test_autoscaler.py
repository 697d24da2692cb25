"""A HorizontalPodAutoscaler of the cluster scales the collectors of a running job, as docs/tasks/scale-a-job.md shows."""

import pathlib
import re

import pytest
import yaml
from support.jobs import ROOT, job, template
from support.metrics_api import MetricsApi
from support.wait import wait_for

NAME = "dqn"
COORDINATOR = f"{NAME}-coordinator"
PERIODS = 240.0  # seconds: an autoscaler looks each 15 s, and some looks have no metrics


def documented():
    """The manifest of the page."""
    page = pathlib.Path(ROOT, "docs/tasks/scale-a-job.md").read_text(encoding="utf-8")
    return yaml.safe_load(re.search(r"```yaml\n(apiVersion: autoscaling/v2\n.*?)```", page, re.DOTALL).group(1))


@pytest.fixture
def metrics(target, tmp_path):
    if not target.cluster:
        pytest.skip("the metrics API of this cluster is its owner's")
    with MetricsApi(target.cluster.api(), str(tmp_path)) as one:
        yield one


def test_an_autoscaler_converges_on_base_collectors_alone(metrics, jobs, namespace, target, replicas_api):
    jobs.create(job(NAME, collector={"replicas": 2, "template": template(cpu="100m")}))
    jobs.wait_phase(NAME, "Running")
    jobs.wait_pods(NAME, 4, "Running")
    requested = replicas_api.add(namespace, COORDINATOR, collectors=3).data["collectors"]
    jobs.wait_pods(NAME, 7, "Running")
    metrics.millicores = 160  # twice the target
    autoscaler = documented()
    # The page leaves out what only shortens this test: by default a lower number waits five minutes.
    autoscaler["spec"]["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
    target.cluster.api().call("POST", path, autoscaler)

    def replicas():
        return jobs.get(NAME)["spec"]["collector"]["replicas"]

    def status():
        return target.cluster.api().get(f"{path}/{NAME}").get("status", {})

    def sees(replicas_now, desired):
        found = status()
        return (found.get("currentReplicas"), found.get("desiredReplicas")) == (replicas_now, desired), found

    wait_for(lambda: (replicas() == 4, status()), "twice as many base collectors", PERIODS)
    jobs.wait_pods(NAME, 9, "Running")
    metrics.millicores = 80  # the target
    wait_for(lambda: sees(4, 4), "the autoscaler to be content", PERIODS)
    # The coordinator takes its own back, then two of the base. The autoscaler counts what is left.
    replicas_api.remove(namespace, COORDINATOR, collectors=3)
    removed = replicas_api.remove(namespace, COORDINATOR, collectors=2).data["collectors"]
    assert len(removed) == 2 and not set(removed) & set(requested)
    jobs.wait_pods(NAME, 4, "Running")
    metrics.millicores = 120
    wait_for(lambda: (replicas() == 3, status()), "three for the two that are left", PERIODS)
    jobs.wait_pods(NAME, 5, "Running")
    metrics.millicores = 80
    wait_for(lambda: sees(3, 3), "the autoscaler to be content again", PERIODS)
    (selector,) = metrics.asked
    assert "nervex.sensetime.com/base-replica=true" in selector
