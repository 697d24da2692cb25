"""Jobs for tests on a real node, and what is to be seen of them."""

from tools.base import versions
from tools.base.console import wait_for
from tools.images import suite
from tools.realnode import install, simulated

MOCK = f"{suite.MOCK}:{versions.read().version}"

STAYS = "import signal, time; signal.signal(15, lambda *_: exit(0)); time.sleep(600)"


def container(code, name="nervex-container", image=MOCK, memory=None, gpus=None):
    made = {"name": name, "image": image, "command": ["python3", "-c", code],
            "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}}}
    limits = {"memory": memory, "nvidia.com/gpu": gpus}
    if memory or gpus:
        made["resources"]["limits"] = {name: value for name, value in limits.items() if value}
    return made


def on_simulated(gpus=None, **spec):
    """A template whose pods go to simulated nodes alone, where nothing runs."""
    return template(container(STAYS, gpus=gpus), nodeSelector=dict([simulated.LABEL]),
                    tolerations=[simulated.TOLERATION], **spec)


def on_labelled(label, **spec):
    """A template whose pods go to nodes with that label, real ones and simulated ones."""
    return template(container(STAYS), nodeSelector={label: "yes"}, tolerations=[simulated.TOLERATION], **spec)


def template(*containers, **spec):
    return {"template": {"spec": {"containers": list(containers), **spec}}}


def job(name, **spec):
    return {"apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob", "metadata": {"name": name}, "spec": spec}


def status(node, name):
    return install.get(node, "nervexjob", name).get("status", {})


def condition(node, name, kind):
    return next((one for one in status(node, name).get("conditions", []) if one["type"] == kind), {})


def pods(node, name, role=None):
    selector = f"nervexjob-name={name}" + (f",replica-type={role}" if role else "")
    return install.get(node, "pods", "-l", selector)["items"]


def uids(node, name, role=None):
    """{(pod, UID, restarts)}: unchanged as long as nothing happened to them."""
    return {(pod["metadata"]["name"], pod["metadata"]["uid"],
             sum(one["restartCount"] for one in pod["status"].get("containerStatuses", []))) for pod in pods(node, name, role)}


def nodes_of(node, name, role=None):
    return {pod["spec"].get("nodeName") for pod in pods(node, name, role)}


def end_coordinator(node, name):
    """Tells the container that it is time to end, as its program would decide it; it exits 0 (STAYS)."""
    node.kubectl("exec", f"{name}-coordinator", "--", "python3", "-c", "import os; os.kill(1, 15)", check=False)


def wait_phase(node, name, phase, timeout=60):
    wait_for(lambda: (status(node, name).get("phase") == phase, status(node, name)), f"{name} to be {phase}", timeout, 0.3)


def wait_ready(node, name, ready, timeout=60):
    """`ready` as the status has it: "2/2"."""
    wait_for(lambda: (status(node, name).get("ready") == ready, status(node, name)), f"{name} to be {ready}", timeout, 0.3)
