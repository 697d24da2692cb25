"""From images to a job that has run, as the README says it to a user, with nothing set up beside it: in each variant of
the install. The tests of one variant follow one another on the same cluster."""

import json
import re
import time

import pytest
from tools.base.console import wait_for
from tools.cluster import manifests
from tools.realnode import install

import certificates
from submitter import Submitter

EXAMPLE = install.EXAMPLE
SYSTEM = install.SYSTEM
VARIANTS = [pytest.param("self-issued", marks=pytest.mark.short), "cert-manager", "hardened", "hardened-self-issued"]


@pytest.fixture(scope="module", params=VARIANTS)
def variant(request, node, figures):
    """The suite is installed in this variant and ready."""
    name = request.param
    if name in install.BY_CERT_MANAGER:
        install.install_cert_manager(node)
    seconds = install.install(node, name)
    figures[f"install of {name} to every Deployment ready, seconds"] = f"{seconds:.1f}"
    if name in install.SHOW_CERTIFICATE:
        introduce_api_server(node, name)
    install.wait_for_hooks(node)
    yield name
    if install.get(node, "namespace", SYSTEM):  # a test failed before it was uninstalled
        install.uninstall(node, name)
    if name in install.SHOW_CERTIFICATE:
        install.let_api_server_show_certificate(node, shown=False)
    if name in install.BY_CERT_MANAGER:
        install.remove_cert_manager(node)


def introduce_api_server(node, variant):
    """What docs/tasks/secure.md says in "Who may call the webhook": what one reads until it is done, and when the certificate
    has expired; and that new files are read without a restart."""
    install.wait_for_refusal(node, "tls: certificate required")
    by_openssl = variant not in install.BY_CERT_MANAGER
    install.issue_client_certificate(node, variant, days=0)
    install.let_api_server_show_certificate(node)
    install.wait_for_deployments(node, SYSTEM)
    if by_openssl:
        install.wait_for_refusal(node, "tls: expired certificate")
        install.issue_client_certificate(node, variant)


def pods(node, namespace="default", selector=f"nervexjob-name={EXAMPLE}"):
    return install.get(node, "pods", "-n", namespace, "-l", selector)["items"]


def listing(node):
    """{role: (ready, status)} as the user's `kubectl get pods` shows it."""
    said = node.kubectl("get", "pods", "--no-headers").stdout
    found = {}
    for line in said.splitlines():
        name, ready, status, restarts, _age = line.split()[:5]
        role = re.fullmatch(rf"{EXAMPLE}-(coordinator|aggregator|collector|learner)(-[a-z0-9]{{5}})?", name)[1]
        assert restarts == "0"
        found[role] = (ready, status)
    return found


def logs(node, pod):
    return node.kubectl("logs", pod, check=False).stdout


def test_every_deployment_is_ready_with_two_pods_and_no_restart(node, variant):
    assert install.unready(node, SYSTEM) == []
    names = {one["metadata"]["name"] for one in install.get(node, "deployments", "-n", SYSTEM)["items"]}
    assert names == {"nervex-operator", "nervex-scheduler", "nervex-server", "nervex-webhook"}
    for name in names:
        found = pods(node, SYSTEM, f"app.kubernetes.io/name={name}")
        assert len(found) == 2
        restarts = [one["restartCount"] for pod in found for one in pod["status"]["containerStatuses"]]
        # leaders do not survive an API server that is away for longer than their deadline
        assert restarts == [0] * len(restarts) or variant in install.SHOW_CERTIFICATE, name


def test_the_api_server_calls_the_webhook_through_its_service(node, variant):
    refused, said = install.hooks_answer(node)
    assert refused, said
    assert "nvidia.com/gpu" in said, "both wrong fields are named, so the mutating hook was called too"
    configuration = install.get(node, "validatingwebhookconfiguration", "nervex-validating-webhook-configuration")
    assert configuration["webhooks"][0]["clientConfig"]["service"]["name"] == "nervex-webhook-service"


def test_each_program_that_elects_a_leader_has_one_of_its_two_pods_as_it(node, variant):
    for lease, deployment in (("nervex-controller", "nervex-operator"), ("nervex-extender", "nervex-scheduler"),
                              ("nervex-scheduler", "nervex-scheduler")):
        holder = install.get(node, "lease", lease, "-n", SYSTEM)["spec"]["holderIdentity"]
        names = [pod["metadata"]["name"] for pod in pods(node, SYSTEM, f"app.kubernetes.io/name={deployment}")]
        assert [name for name in names if holder.startswith(name)], (lease, holder, names)


def test_scheduler_and_extender_are_in_one_pod(node, variant):
    for pod in pods(node, SYSTEM, "app.kubernetes.io/name=nervex-scheduler"):
        assert {one["name"] for one in pod["status"]["containerStatuses"] if one["ready"]} == {"kube-scheduler", "nervex-extender"}


def test_the_example_lives_its_life_in_real_containers(node, variant, figures):
    begin = time.monotonic()
    install.create_examples(node, install.example_job(seconds=30))

    def all_run():
        found = listing(node)
        return found == dict.fromkeys(("aggregator", "collector", "coordinator", "learner"), ("1/1", "Running")), found
    wait_for(all_run, "the listing that users know", 60, interval=0.2)

    def begun():
        said = logs(node, f"{EXAMPLE}-coordinator")
        return "connected to learner" in said, said
    wait_for(begun, "the coordinator to connect to its workers", 60, interval=0.2)
    figures[f"kubectl create to connected workers ({variant}), seconds"] = f"{time.monotonic() - begin:.1f}"
    workers = f"nervexjob-name={EXAMPLE},replica-type in (collector,learner)"

    def exchanged():
        said = node.kubectl("logs", "-l", workers, check=False).stdout
        return re.search(r"^\w+: task \d+: .* -> ", said, re.MULTILINE), said
    wait_for(exchanged, "the first task", 60, interval=0.05)
    figures[f"kubectl create to the first task exchanged ({variant}), seconds"] = f"{time.monotonic() - begin:.1f}"
    learner = next(pod["metadata"]["name"] for pod in pods(node) if pod["metadata"]["labels"]["replica-type"] == "learner")

    def worked():
        said = logs(node, learner)
        return said.count("task ") >= 3, said
    said = wait_for(worked, "tasks in the learner's log", 60, interval=0.2)
    assert f"learner: connected by {EXAMPLE}-coordinator.default:80" in said

    def over():
        job = install.get(node, "nervexjob", EXAMPLE)
        return job.get("status", {}).get("phase") in ("Succeeded", "Failed"), job.get("status")
    status = wait_for(over, "the job's end", 90, interval=0.3)
    said = logs(node, f"{EXAMPLE}-coordinator")
    assert status["phase"] == "Succeeded", said
    for words in (f"server http://nervex-server.{SYSTEM}:8080", "promised: ", "connected to collector", "given back: ",
                  "let go of ", "coordinator: done"):
        assert words in said, said
    tasks = int(re.search(r"(\d+) tasks are done", said)[1])
    assert tasks >= 3


def test_the_completed_coordinator_and_its_log_stay(node, variant):
    wait_for(lambda: (listing(node) == {"coordinator": ("0/1", "Completed")}, listing(node)), "the others to go", 60)
    assert "coordinator: done" in logs(node, f"{EXAMPLE}-coordinator")
    counts = install.get(node, "nervexjob", EXAMPLE)["status"]["replicaStatus"]
    assert {role: one["active"] for role, one in counts.items()} == dict.fromkeys(counts, 0)
    assert counts["Coordinator"]["succeeded"] == 1 and counts["Learner"]["succeeded"] == 1


def cpus(text):
    return float(text.removesuffix("m")) / 1000 if text.endswith("m") else float(text)


def requested(template):
    return sum(cpus(one["resources"]["requests"]["cpu"]) for one in template["spec"]["containers"])


def test_the_suite_and_the_example_fit_on_a_node_of_two_cpus():
    deployments = [one["spec"] for one in manifests.variant("hardened") if one["kind"] == "Deployment"]
    (job,) = manifests.documents(install.JOB)
    (aggregator,) = manifests.documents(install.AGGREGATOR)
    roles = [job["spec"][role]["template"] for role in ("coordinator", "collector", "learner")]
    total = sum(one["replicas"] * requested(one["template"]) for one in deployments) + sum(map(requested, roles))
    total += requested(aggregator["spec"]["aggregator"]["template"])
    assert total <= 1.7, "what a node of two CPUs has left besides the cluster's own pods"


CALL = """
import json, os, urllib.error, urllib.request
body = {"namespace": "default", "coordinator": "%s", "collectors": {"replicas": 1}}
for token in (open(os.environ["KUBERNETES_NERVEX_SERVER_TOKEN_FILE"]).read(), ""):
    request = urllib.request.Request("http://" + os.environ["KUBERNETES_SERVER_URL"] + "/v1alpha1/replicas",
                                     json.dumps(body).encode(), {"Authorization": "Bearer " + token} if token else {})
    try:
        print(urllib.request.urlopen(request, timeout=20).status, flush=True)
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode(), flush=True)
"""


@pytest.mark.variants("hardened", "hardened-self-issued")
def test_another_jobs_pod_is_refused(node, variant):
    """With authentication on a pod may change its own job only; without, any pod may, as in 2021."""
    victim = install.example_job(seconds=600, name="victim")
    node.kubectl("create", "-f", "-", body=victim)

    def connected():
        said = logs(node, "victim-coordinator")
        return "connected to learner" in said, said
    wait_for(connected, "the victim's coordinator to work", 90, interval=0.3)
    before = install.get(node, "nervexjob", "victim")["spec"]["requests"]
    words = f"command: [python3, -c, {json.dumps(CALL % 'victim-coordinator')}]"
    intruder = re.sub(r'command: \["python3", "/mock/coordinator.py".*\n\s+args:.*', lambda _: words,
                      victim.replace("victim", "intruder"), count=1)
    assert words in intruder
    node.kubectl("create", "-f", "-", body=intruder)

    def answered():
        said = logs(node, "intruder-coordinator")
        return said.count("\n") >= 2, said
    first, second = wait_for(answered, "the intruder's two answers", 60, interval=0.3).splitlines()[:2]
    assert first.startswith("403 ") and second.startswith(("401 ", "403 ")), (first, second)
    assert install.get(node, "nervexjob", "victim")["spec"]["requests"] == before
    node.kubectl("delete", "nervexjob", "victim", "intruder")


def test_a_renewed_certificate_reaches_the_pods_while_jobs_are_submitted(node, variant, figures):
    """Through the Secret that they mount, without a restart; no create is refused meanwhile."""
    before = certificates.served(node)
    (old,) = set(before.values())
    with Submitter(node) as submitter:
        submitter.wait_for(3)
        begin = time.monotonic()
        certificates.renew(node, variant)

        def renewed():
            now = certificates.served(node)
            return len(set(now.values())) == 1 and old not in now.values(), now
        now = wait_for(renewed, "both pods to serve the new certificate", 120, interval=0.5)
        figures[f"renewal of {variant} to its use by both webhook pods, seconds"] = f"{time.monotonic() - begin:.1f}"
        submitter.wait_for(3)
    assert submitter.refused == []
    assert set(now) == set(before), "the same pods"
    assert certificates.restarts(node) == 0


def test_memory_of_the_suite_is_small(node, variant, figures):
    """What the containers of nervex-system hold together: no limit, the figure of the README."""
    found = json.loads(node.kubectl("get", "--raw", f"/api/v1/nodes/{node.settings.name}/proxy/stats/summary").stdout)
    used = {}
    for pod in found["pods"]:
        if pod["podRef"]["namespace"] == SYSTEM:
            for one in pod.get("containers", []):
                used.setdefault(one["name"], []).append(one["memory"].get("workingSetBytes", 0))
    assert {"nervex-controller", "nervex-extender", "nervex-server", "nervex-webhook", "kube-scheduler"} <= set(used)
    total = sum(sum(each) for each in used.values())
    figures[f"memory of {variant}, all pods together, MiB"] = f"{total / 2**20:.0f}"


def test_uninstalling_leaves_nothing(node, variant):
    assert len(install.left_overs(node)) > 40, "before, it is seen"
    install.uninstall(node, variant)
    assert install.get(node, "namespace", SYSTEM) is None
    assert install.left_overs(node) == []
    assert node.kubectl("get", "pods", "-n", "default", "-o", "name").stdout == ""
