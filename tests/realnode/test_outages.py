"""A job runs while what is around it is replaced or away: our own Deployments, the kubelet, the container runtime."""

import json
import signal

from harness.console import wait_for
from harness.realnode import config, install
from jobs import STAYS, container, status, template, uids, wait_ready
from submitter import Submitter


def running(create, suite, name):
    create(name, coordinator=template(container(STAYS)), collector={**template(container(STAYS)), "replicas": 1},
           learner={**template(container(STAYS)), "replicas": 1})
    wait_ready(suite, name, "3/3")
    return uids(suite, name)


def system_pods(node, deployment):
    return install.get(node, "pods", "-n", install.SYSTEM, "-l", f"app.kubernetes.io/name={deployment}")["items"]


def test_each_deployment_is_replaced_while_a_job_runs_and_jobs_are_submitted(suite, create, figures):
    before = running(create, suite, "upgraded")
    names = [one["metadata"]["name"] for one in install.get(suite, "deployments", "-n", install.SYSTEM)["items"]]
    with Submitter(suite) as submitter:
        # In turn: all at once have up to twice their pods for some seconds, for which two CPUs are too few, and these
        # pods are critical: a job's would have to go.
        for name in names:
            old = {pod["metadata"]["uid"] for pod in system_pods(suite, name)}
            suite.kubectl("rollout", "restart", f"deployment/{name}", "-n", install.SYSTEM)
            suite.kubectl("rollout", "status", f"deployment/{name}", "-n", install.SYSTEM, "--timeout=120s", timeout=150)
            wait_for(lambda: (not old & {pod["metadata"]["uid"] for pod in system_pods(suite, name)}, "they end"),
                     f"the old pods of {name} to be gone", 60, 0.5)
            submitter.wait_for(5)
    figures["jobs submitted while each Deployment was replaced"] = str(len(submitter.accepted))
    assert submitter.refused == []
    assert uids(suite, "upgraded") == before
    assert status(suite, "upgraded")["phase"] == "Running"
    # the new ones work: a job that is created now starts
    running(create, suite, "after-upgrade")


def test_a_webhook_pod_that_is_drained_while_jobs_are_submitted_refuses_none(suite):
    with Submitter(suite) as submitter:
        submitter.wait_for(5)
        drained = system_pods(suite, "nervex-webhook")[0]["metadata"]
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": drained["name"]}}
        suite.kubectl("create", "--raw", f"/api/v1/namespaces/{install.SYSTEM}/pods/{drained['name']}/eviction", "-f", "-",
                      body=json.dumps(eviction))
        wait_for(lambda: (drained["uid"] not in {pod["metadata"]["uid"] for pod in system_pods(suite, "nervex-webhook")},
                          "it ends"), "the drained pod to be gone", 60, 0.3)
        install.wait_for_deployments(suite, install.SYSTEM)
        submitter.wait_for(5)
    assert submitter.refused == []


def test_a_webhook_pod_that_is_killed_loses_no_job(suite, figures):
    """Nobody can answer for it until kubelet and kube-proxy have noticed: what meets it is refused, and says why. What was
    accepted is stored (Submitter), and soon all is accepted again."""
    with Submitter(suite) as submitter:
        submitter.wait_for(5)
        (main,) = system_pods(suite, "nervex-webhook")[0]["status"]["containerStatuses"]
        suite.run("ctr", "--address", config.CONTAINERD, "--namespace", "k8s.io", "tasks", "kill", "--signal", "SIGKILL",
                  main["containerID"].removeprefix("containerd://"))

        def started_again():
            found = [one["restartCount"] for pod in system_pods(suite, "nervex-webhook")
                     for one in pod["status"]["containerStatuses"]]
            return sum(found) == 1, found
        wait_for(started_again, "the kubelet to start it again", 60, 0.3)
        install.wait_for_deployments(suite, install.SYSTEM)
        wait_for(lambda: (install.hooks_answer(suite)[0], "refused"), "the hooks", 30, 0.3)
        refused = len(submitter.refused)
        submitter.wait_for(10)
        assert len(submitter.refused) == refused, submitter.refused
    figures["jobs refused in the moment after a webhook pod was killed"] = f"{refused} of {refused + len(submitter.accepted)}"
    assert all("failed calling webhook" in one for one in submitter.refused), submitter.refused


def test_a_kubelet_that_is_away_changes_nothing_for_a_running_job(suite, create):
    before = running(create, suite, "kept")
    suite.stop("kubelet", signal.SIGKILL)
    try:
        wait_for(lambda: (not suite.node_ready()[0], "ready"), "the node to be NotReady", 120, 0.5)
        assert status(suite, "kept")["phase"] == "Running"
    finally:
        suite.start("kubelet")
    suite.wait(suite.node_ready, "the node to be ready again", 60)
    wait_ready(suite, "kept", "3/3", 90)
    assert uids(suite, "kept") == before


def test_containers_outlive_a_restart_of_the_container_runtime(suite, create):
    before = running(create, suite, "outlives")
    suite.stop("containerd", signal.SIGKILL)
    suite.start("containerd")
    suite.wait(suite.containerd_serving, "containerd to answer", 30)
    running(create, suite, "started-after")
    assert uids(suite, "outlives") == before
