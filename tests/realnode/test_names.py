"""Names of pods in the cluster's DNS, as its containers resolve them, in both modes of nervex-controller --services."""

import json

import pytest
from tools.base.console import wait_for
from tools.realnode import install
from jobs import container, pods, template, wait_ready

SERVES = "import http.server; http.server.HTTPServer(('', 22270), http.server.SimpleHTTPRequestHandler).serve_forever()"
ASK = "import socket, sys; print(socket.getaddrinfo(sys.argv[1], 22270)[0][4][0])"
CALL = "import sys, urllib.request; print(urllib.request.urlopen('http://' + sys.argv[1] + ':22270/', timeout=5).status)"
IDLES = "import time; time.sleep(3600)"


@pytest.fixture(scope="module")
def stranger(suite):
    """Another owner's pod in another namespace."""
    suite.kubectl("create", "namespace", "strangers")
    wait_for(lambda: (install.get(suite, "serviceaccount", "default", "-n", "strangers") is not None, "none"),
             "the namespace's account", 30, 0.2)
    suite.kubectl("create", "-f", "-", body=json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger", "namespace": "strangers"},
         "spec": {"containers": [container(IDLES)], "terminationGracePeriodSeconds": 0}}))
    suite.kubectl("wait", "--for=condition=Ready", "pod/stranger", "-n", "strangers", "--timeout=60s")
    yield "strangers/stranger"
    suite.kubectl("delete", "namespace", "strangers")


@pytest.fixture(scope="module", params=["shared", "per-pod"])
def mode(request, suite):
    """How the controller makes names known; as it is installed afterwards."""
    def controllers():
        found = install.get(suite, "pods", "-n", install.SYSTEM, "-l", "app.kubernetes.io/name=nervex-operator")["items"]
        return {pod["metadata"]["uid"] for pod in found}

    def arguments(change):
        old = controllers()
        suite.kubectl("patch", "deployment", "nervex-operator", "-n", install.SYSTEM, "--type=json", "-p", json.dumps([change]))
        install.wait_for_deployments(suite, install.SYSTEM)
        # One that still ends may lead, and begin the next job in the mode of before.
        wait_for(lambda: (not old & controllers(), "they end"), "the old pods of nervex-operator to be gone", 60, 0.3)

    path = "/spec/template/spec/containers/0/args"
    before = install.get(suite, "deployment", "nervex-operator", "-n", install.SYSTEM)
    before = before["spec"]["template"]["spec"]["containers"][0]["args"]
    if request.param != "shared":  # which is the default
        arguments({"op": "add", "path": path + "/-", "value": f"--services={request.param}"})
    yield request.param
    if request.param != "shared":
        arguments({"op": "replace", "path": path, "value": before})


def run_in(suite, pod, code, *arguments):
    namespace, _, name = pod.rpartition("/")
    done = suite.kubectl("exec", "-n", namespace or "default", name, "--", "python3", "-c", code, *arguments, check=False)
    return done.stdout.strip() or done.stderr.strip()[-300:]


def wait_answer(suite, pod, code, name, answer):
    """Names become known a moment after the pod has its address."""
    def look():
        seen = run_in(suite, pod, code, name)
        return seen == answer, seen
    wait_for(look, f"{pod} to find {name}", 30, 0.3)


def test_pods_find_each_other_by_name(suite, create, mode, stranger):
    name = f"named-{mode}"
    serves = {**container(SERVES), "ports": [{"name": "nervex-port", "containerPort": 22270}]}
    create(name, coordinator=template(container(IDLES), terminationGracePeriodSeconds=1),
           collector={**template(serves, terminationGracePeriodSeconds=1), "replicas": 2})
    wait_ready(suite, name, "3/3")
    collectors = {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in pods(suite, name, "collector")}
    assert len(collectors) == 2
    service = "default.default.svc" if mode == "shared" else "default.svc"
    for pod, address in collectors.items():
        short = f"{pod}.default"  # what the replicas API answers
        wait_answer(suite, f"{name}-coordinator", ASK, short, address)
        wait_answer(suite, f"{name}-coordinator", CALL, short, "200")
        for other in set(collectors) - {pod}:
            wait_answer(suite, other, CALL, short, "200")
        for full in (f"{pod}.{service}", f"{pod}.{service}.cluster.local"):
            wait_answer(suite, stranger, ASK, full, address)
    coordinator = pods(suite, name, "coordinator")[0]["status"]["podIP"]
    (one, *_rest) = collectors
    wait_answer(suite, one, ASK, f"{name}-coordinator.default", coordinator)


def test_a_pod_that_runs_may_not_listen_yet_and_its_caller_is_refused(suite, create):
    """Its name is known, its container runs: so a coordinator has to try again."""
    later = "import signal, time\ntold = []\nsignal.signal(10, lambda *_: told.append(1))\nwhile not told: time.sleep(0.1)\n" + SERVES
    create("later", coordinator=template(container(IDLES), terminationGracePeriodSeconds=1),
           collector={**template(container(later), terminationGracePeriodSeconds=1), "replicas": 1})
    wait_ready(suite, "later", "2/2")
    (pod,) = [pod["metadata"]["name"] for pod in pods(suite, "later", "collector")]

    def answer():
        said = run_in(suite, "later-coordinator", CALL, f"{pod}.default")
        return "Connection refused" in said, said
    wait_for(answer, "the call to be refused", 30, 0.3)
    run_in(suite, pod, "import os; os.kill(1, 10)")
    wait_answer(suite, "later-coordinator", CALL, f"{pod}.default", "200")


def test_a_pod_that_is_not_ready_yet_has_its_name(suite, create, mode):
    """A coordinator connects to workers that say they are ready only when it has connected."""
    name = f"early-{mode}"
    unready = {**container(SERVES), "readinessProbe": {"exec": {"command": ["python3", "-c", "exit(1)"]}, "periodSeconds": 1}}
    create(name, coordinator=template(container(IDLES), terminationGracePeriodSeconds=1),
           collector={**template(unready, terminationGracePeriodSeconds=1), "replicas": 1})
    wait_ready(suite, name, "1/2")
    wait_for(lambda: (bool(pods(suite, name, "collector")[0]["status"].get("podIP")), "none"), "its address", 60, 0.3)
    (pod,) = pods(suite, name, "collector")
    wait_answer(suite, f"{name}-coordinator", CALL, f"{pod['metadata']['name']}.default", "200")
