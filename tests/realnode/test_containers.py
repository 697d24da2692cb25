"""What only containers do: they are out of memory, their image does not exist, they outlive the main one, they end
slowly. The suite is installed once; each test has jobs of its own name."""

from tools.base.console import wait_for
from jobs import STAYS, condition, container, pods, status, template, wait_phase, wait_ready


def test_an_image_that_does_not_exist_is_said_by_the_job(suite, create):
    create("no-image", coordinator=template(container(STAYS, image="nervex-mock:no-such")))
    wait_for(lambda: ("cannot be pulled" in condition(suite, "no-image", "Ready").get("message", ""), status(suite, "no-image")),
             "the job to say so", 60, 0.3)
    ready = condition(suite, "no-image", "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodsNotReady")
    assert ready["message"] == "not all pods are ready: the image of pod no-image-coordinator cannot be pulled"
    assert status(suite, "no-image")["phase"] == "Created"


def test_a_learner_that_is_out_of_memory_is_started_again_and_counted_as_running(suite, create):
    grows = "import time; time.sleep(1); hoard = bytearray(400 << 20); time.sleep(600)"
    create("oom", coordinator=template(container(STAYS)),
           learner={**template(container(grows, memory="100Mi")), "replicas": 1})

    def killed():
        found = pods(suite, "oom", "learner")
        states = [one.get("lastState", {}).get("terminated", {}) or one.get("state", {}).get("terminated", {})
                  for pod in found for one in pod["status"].get("containerStatuses", [])]
        return any(one.get("reason") == "OOMKilled" and one.get("exitCode") == 137 for one in states), states
    wait_for(killed, "the kernel to kill the learner", 60, 0.3)
    assert status(suite, "oom")["phase"] == "Running"
    assert len(pods(suite, "oom", "learner")) == 1, "the kubelet starts it again: it is not replaced"


def test_a_learner_that_must_not_restart_and_is_out_of_memory_has_failed(suite, create):
    grows = "import time; time.sleep(1); hoard = bytearray(400 << 20); time.sleep(600)"
    create("oom-once", coordinator=template(container(STAYS)),
           learner={**template(container(grows, memory="100Mi"), restartPolicy="Never"), "replicas": 1})
    wait_for(lambda: (status(suite, "oom-once").get("replicaStatus", {}).get("Learner", {}).get("failed") == 1,
                      status(suite, "oom-once")), "the learner to be counted as failed", 60, 0.3)
    assert status(suite, "oom-once")["phase"] == "Running"


def test_a_job_is_over_when_its_main_container_is_though_a_sidecar_runs_on(suite, create):
    create("sidecar", coordinator=template(container("import time; time.sleep(2)"), container(STAYS, "sidecar")))
    wait_phase(suite, "sidecar", "Succeeded")
    states = {one["name"]: next(iter(one["state"])) for pod in pods(suite, "sidecar", "coordinator")
              for one in pod["status"]["containerStatuses"]}
    assert states == {"nervex-container": "terminated", "sidecar": "running"}


def test_a_pod_that_ends_slowly_does_not_hold_up_the_end_of_its_job(suite, create):
    deaf = "import signal, time\nsignal.signal(15, lambda *_: None)\nwhile True: time.sleep(1)"
    create("slow", coordinator=template(container("import time; time.sleep(4)")),
           collector={**template(container(deaf), terminationGracePeriodSeconds=20), "replicas": 1})
    wait_phase(suite, "slow", "Succeeded")
    found = pods(suite, "slow", "collector")
    assert [pod["metadata"].get("deletionTimestamp") is not None for pod in found] == [True], "it is still ending"
    wait_for(lambda: (not pods(suite, "slow", "collector"), "still there"), "it to be gone after its grace period", 60, 0.5)


def test_a_pod_whose_probe_fails_is_not_ready_and_its_job_runs(suite, create):
    unready = {**container(STAYS), "readinessProbe": {"exec": {"command": ["python3", "-c", "exit(1)"]}, "periodSeconds": 1}}
    create("unready", coordinator=template(container(STAYS)), collector={**template(unready), "replicas": 1})
    wait_phase(suite, "unready", "Running")
    wait_ready(suite, "unready", "1/2")
    wait_for(lambda: (status(suite, "unready")["replicaStatus"]["Collector"]["active"] == 1, status(suite, "unready")),
             "the collector to be counted as active", 30, 0.3)
    assert condition(suite, "unready", "Ready")["message"] == "not all pods are ready"
