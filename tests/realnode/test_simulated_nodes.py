"""Simulated nodes beside the real one, in one cluster: gangs with GPUs next to containers that run."""

import time

from tools.base.console import wait_for
from tools.realnode import install
from jobs import (STAYS, condition, container, end_coordinator, nodes_of, on_simulated, pods, status, template, uids,
                  wait_phase, wait_ready)


def test_nothing_goes_to_a_simulated_node_that_does_not_ask_for_it(beside, create):
    create("asks-not", coordinator=template(container(STAYS)),
           learner={**template(container(STAYS, gpus=1)), "replicas": 1})
    wait_for(lambda: ("untolerated taint" in condition(beside, "asks-not", "Scheduled").get("message", ""),
                      status(beside, "asks-not")), "the job to say why it waits", 60, 0.3)
    assert pods(beside, "asks-not") == []
    for deployment in install.get(beside, "deployments", "-n", install.SYSTEM)["items"]:
        beside.kubectl("rollout", "restart", f"deployment/{deployment['metadata']['name']}", "-n", install.SYSTEM)
        install.wait_for_deployments(beside, install.SYSTEM)
    for namespace in (install.SYSTEM, "kube-system"):
        found = {pod["spec"]["nodeName"] for pod in install.get(beside, "pods", "-n", namespace)["items"]}
        assert found == {beside.settings.name}


def test_gangs_with_gpus_and_a_coordinator_in_a_container_run_to_their_ends(beside, create):
    create("played", coordinator=on_simulated(), collector={**on_simulated(), "replicas": 16},
           learner={**on_simulated(gpus=8), "replicas": 2})
    create("mixed", coordinator=template(container(STAYS)), learner={**on_simulated(gpus=8), "replicas": 2})
    wait_ready(beside, "played", "19/19")
    wait_ready(beside, "mixed", "3/3")
    assert nodes_of(beside, "mixed", "coordinator") == {beside.settings.name}
    assert nodes_of(beside, "played", "learner") | nodes_of(beside, "mixed", "learner") == {
        f"gpu-node-{number}" for number in range(4)}, "each learner has the GPUs of a whole node"
    ((main,),) = [pod["status"]["containerStatuses"] for pod in pods(beside, "mixed", "coordinator")]
    assert main["containerID"].startswith("containerd://")

    # of the simulated coordinator nothing but its node knows that it ended
    beside.kubectl("annotate", "pod", "played-coordinator", "nervex-e2e/main-exits=0")
    end_coordinator(beside, "mixed")
    for name in ("played", "mixed"):
        wait_phase(beside, name, "Succeeded")
        wait_for(lambda: ([pod["metadata"]["labels"]["replica-type"] for pod in pods(beside, name)] == ["coordinator"],
                          "others are there"), "the workers to go", 60, 0.3)


def test_two_thousand_pods_stand_beside_jobs_in_containers(beside, create, figures):
    def in_containers(name):
        create(name, coordinator=template(container(STAYS)), learner={**template(container(STAYS)), "replicas": 1})
        wait_ready(beside, name, "2/2")
    in_containers("before")
    before = uids(beside, "before")
    for number in range(2):
        began = time.monotonic()
        create(f"many-{number}", coordinator=on_simulated(), collector={**on_simulated(), "replicas": 999})
        wait_ready(beside, f"many-{number}", "1000/1000", 300)
        figures[f"gang {number + 1} of 1,000 simulated pods, created to all ready"] = f"{time.monotonic() - began:.1f} s"
    assert uids(beside, "before") == before, "no container of another job was started again"
    in_containers("after")
    for name in ("before", "after"):
        end_coordinator(beside, name)
        wait_phase(beside, name, "Succeeded")
