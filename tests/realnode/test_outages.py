"""A job runs while what is around it is replaced or away: our own Deployments, the kubelet, the container runtime."""

import json
import signal
import time

from tools.base.console import timeout_factor, wait_for
from tools.realnode import config, install
from jobs import STAYS, condition, container, status, template, uids, wait_ready
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


def free_cpus(node):
    """Milli-CPUs of the real node that no pod requests."""
    def milli(text):
        return int(text.removesuffix("m")) if text.endswith("m") else int(float(text) * 1000)
    found = install.get(node, "pods", "--all-namespaces", "--field-selector", f"spec.nodeName={node.settings.name}")["items"]
    requests = [one.get("resources", {}).get("requests", {}).get("cpu", "0") for pod in found
                if pod["status"].get("phase") not in ("Succeeded", "Failed") for one in pod["spec"]["containers"]]
    return milli(install.get(node, "node", node.settings.name)["status"]["allocatable"]["cpu"]) - sum(map(milli, requests))


def test_an_upgrade_on_a_full_node_preempts_a_job_that_is_queued_again(suite, create):
    """docs/tasks/upgrade.md, Upgrade: old and new pods are there together, and are critical. It costs the job no retry."""
    fills = container(STAYS)
    fills["resources"]["requests"]["cpu"] = f"{free_cpus(suite) - 10}m"
    create("fills", coordinator=template(fills))
    wait_ready(suite, "fills", "1/1")
    names = [one["metadata"]["name"] for one in install.get(suite, "deployments", "-n", install.SYSTEM)["items"]]
    suite.kubectl("rollout", "restart", "-n", install.SYSTEM, *(f"deployment/{name}" for name in names))
    wait_for(lambda: (status(suite, "fills").get("attempt", 1) > 1, status(suite, "fills")), "the job to be requeued", 120, 0.3)
    assert condition(suite, "fills", "Requeued")["status"] == "True", status(suite, "fills")
    install.wait_for_deployments(suite, install.SYSTEM, 300)
    wait_ready(suite, "fills", "1/1", 180)
    assert status(suite, "fills")["phase"] == "Running"


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
    """A killed container cannot say that it ends. Until the kubelet has noticed (it looks every second), has said so, and
    kube-proxy has the new rules (100 ms), half of all new connections meet it and are refused, with the reason. Nothing
    can shorten that; nothing may lengthen it. What was accepted is stored (Submitter). One pod after the other, since the
    API server keeps its connections, and only calls on those to the killed one notice."""
    unnoticed = (1 + 0.1 + 3) * timeout_factor()  # the kubelet's look, kube-proxy's delay, what busy cores take for the rest
    killed, restarts = [], 0
    with Submitter(suite) as submitter:
        for pod in system_pods(suite, "nervex-webhook"):
            submitter.wait_for(5)
            (main,) = pod["status"]["containerStatuses"]
            killed.append(time.monotonic())
            suite.run("ctr", "--address", config.CONTAINERD, "--namespace", "k8s.io", "tasks", "kill", "--signal", "SIGKILL",
                      main["containerID"].removeprefix("containerd://"))
            restarts += 1

            def started_again(wanted=restarts):
                found = [one["restartCount"] for pod in system_pods(suite, "nervex-webhook")
                         for one in pod["status"]["containerStatuses"]]
                return sum(found) == wanted, found
            wait_for(started_again, "the kubelet to start it again", 60, 0.3)
            install.wait_for_deployments(suite, install.SYSTEM)
            wait_for(lambda: (install.hooks_answer(suite)[0], "refused"), "the hooks", 30, 0.3)
            submitter.wait_for(10)
    after = [at - max(one for one in killed if one < at) for at in submitter.refused_at]
    figures["jobs refused after webhook pods were killed, and for how long"] = (
        f"{len(after)} of {len(after) + len(submitter.accepted)}, {max(after, default=0):.1f} s")
    assert all("failed calling webhook" in one for one in submitter.refused), submitter.refused
    assert all(one < unnoticed for one in after), after


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
