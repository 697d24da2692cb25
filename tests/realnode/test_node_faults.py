"""What happens to jobs when a node's kubelet rejects a pod, is away for long, or the whole node loses its power. Simulated
nodes are beside the real one, so that what it loses finds another place."""

from tools.base.console import wait_for
from tools.realnode import install
from jobs import (STAYS, condition, container, nodes_of, on_labelled, on_simulated, pods, status, template, uids, wait_phase,
                  wait_ready)


def wait_node(node, name, role, wanted, timeout=60):
    def look():
        seen = [(pod["spec"].get("nodeName"), pod["status"].get("phase")) for pod in pods(node, name, role)]
        return seen == [(wanted, "Running")], seen
    wait_for(look, f"the {role} of {name} to run on {wanted}", timeout, 0.5)


def containers(node, pod_uid):
    """Of that pod, as the container runtime has them."""
    return node.run("ctr", "--address", "/run/containerd/containerd.sock", "--namespace", "k8s.io", "containers", "ls", "-q",
                    f'labels."io.kubernetes.pod.uid"=={pod_uid}').stdout.split()


def test_a_pod_that_its_kubelet_rejects_runs_on_another_node(beside, create, label):
    """It asks for a sysctl that no kubelet allows by default."""
    label(beside.settings.name)
    create("rejected", coordinator=on_simulated(),
           collector={**on_labelled(label.name, securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "999"}]}),
                      "replicas": 1})

    def rejected():
        found = install.get(beside, "events", "--field-selector", "reason=SysctlForbidden")["items"]
        return any(one["involvedObject"]["name"].startswith("rejected-collector-") for one in found), "no such event"
    wait_for(rejected, "the kubelet to reject the collector", 60, 0.3)
    label("cpu-node-0")
    wait_node(beside, "rejected", "collector", "cpu-node-0")
    wait_ready(beside, "rejected", "2/2")
    assert (status(beside, "rejected")["phase"], status(beside, "rejected")["attempt"]) == ("Running", 1)
    assert status(beside, "rejected")["replicaStatus"]["Collector"].get("failed", 0) == 0, "it never ran"


def test_a_rejected_pod_without_another_node_is_said_by_the_job(beside, create):
    forbidden = template(container(STAYS), securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "999"}]})
    create("stuck", coordinator=on_simulated(), collector={**forbidden, "replicas": 1})
    wait_for(lambda: (condition(beside, "stuck", "Scheduled").get("status") == "False"
                      and status(beside, "stuck").get("reason") == "Healing", status(beside, "stuck")),
             "the job to say that it lacks its collector", 90, 0.3)
    assert status(beside, "stuck")["phase"] in ("Created", "Running")


def test_a_node_whose_kubelet_is_away_for_long_loses_its_workers(beside, create, label, figures):
    """NotReady after 50 s (the controller manager's default), lost 60 s later (--node-lost-after)."""
    label(beside.settings.name)
    create("healed", coordinator=on_simulated(), collector={**on_labelled(label.name), "replicas": 1})
    wait_ready(beside, "healed", "2/2")
    wait_node(beside, "healed", "collector", beside.settings.name)
    coordinator, (lost,) = uids(beside, "healed", "coordinator"), pods(beside, "healed", "collector")
    assert containers(beside, lost["metadata"]["uid"])
    label("cpu-node-1")
    beside.stop("kubelet")
    try:
        wait_node(beside, "healed", "collector", "cpu-node-1", 240)
        wait_ready(beside, "healed", "2/2")
        assert containers(beside, lost["metadata"]["uid"]), "the node does not know yet"
    finally:
        beside.start("kubelet")
    beside.wait(beside.node_ready, "the node to be ready again", 60)
    wait_for(lambda: (not containers(beside, lost["metadata"]["uid"]), "they run"), "the old container to be ended", 120, 0.5)
    assert (status(beside, "healed")["phase"], status(beside, "healed")["attempt"]) == ("Running", 1)
    assert uids(beside, "healed", "coordinator") == coordinator
    assert nodes_of(beside, "healed", "collector") == {"cpu-node-1"}, "it does not come back"
    install.wait_for_deployments(beside, install.SYSTEM)
    install.wait_for_hooks(beside)


def test_after_a_power_failure_of_its_node_each_job_goes_on_as_documented(beside, create, figures):
    """docs/concepts/attempts.md: a coordinator that ended with an error uses up a retry; a worker's container starts again in its
    pod. The suite itself was on that node, too."""
    here = template(container(STAYS))
    create("once", coordinator=here)
    create("retried", backoffLimit=1, coordinator=here, collector={**here, "replicas": 1})
    create("elsewhere", coordinator=on_simulated(), collector={**here, "replicas": 1})
    for name, ready in (("once", "1/1"), ("retried", "2/2"), ("elsewhere", "2/2")):
        wait_ready(beside, name, ready)
    ((worker, uid, restarts),) = uids(beside, "elsewhere", "collector")
    coordinator = uids(beside, "elsewhere", "coordinator")
    beside.lose_power()
    beside.boot()

    wait_phase(beside, "once", "Failed", 180)
    assert status(beside, "once")["reason"] == "CoordinatorFailed"
    wait_for(lambda: (status(beside, "retried").get("attempt") == 2 and status(beside, "retried").get("ready") == "2/2",
                      status(beside, "retried")), "the second attempt to run", 180, 0.5)
    assert status(beside, "retried")["lastAttempt"]["reason"] == "CoordinatorFailed"
    wait_ready(beside, "elsewhere", "2/2", 180)
    assert uids(beside, "elsewhere", "coordinator") == coordinator
    assert uids(beside, "elsewhere", "collector") == {(worker, uid, restarts + 1)}, "it was started again in its pod"
    assert (status(beside, "elsewhere")["phase"], status(beside, "elsewhere")["attempt"]) == ("Running", 1)

    install.wait_for_deployments(beside, install.SYSTEM)
    install.wait_for_hooks(beside)
    create("afterwards", coordinator=here)
    wait_ready(beside, "afterwards", "1/1")
