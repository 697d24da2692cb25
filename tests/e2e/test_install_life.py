"""An install from its first certificate to its removal, on a separate cluster: certificates without cert-manager, an
upgrade under a running job, and the removal. The tests build on one another in this order; each can also run alone."""

import os
import re
import subprocess

import kubernetes
import pytest
from tools.base.tree import ROOT
from tools.cluster import manifests
from support import own_cluster
from support.commands import path_of
from support.jobs import job, load
from support.own_cluster import LOCAL
from support.wait import away, wait_for

pytestmark = [pytest.mark.in_order, pytest.mark.long]


@pytest.fixture(scope="module")
def suite(request):
    """The self-issued variant, with certificates created by the renewal account."""
    if os.environ.get("NERVEX_E2E_KUBECONFIG"):
        pytest.skip("installs and removes the whole suite: not on a user's cluster")
    with own_cluster.installed("self-issued", lambda: request.session.testsfailed > 0) as made:
        assert made.bundles() == ["", ""]  # no CA is trusted yet
        with pytest.raises(kubernetes.client.ApiException):
            made.jobs.create(job("too-early"), dry_run=True)
        made.begin_trust()
        yield made


def refusal(suite):
    with pytest.raises(kubernetes.client.ApiException) as caught:
        suite.jobs.create(load("examples/wrong-job.yaml")[0], dry_run=True)
    return caught.value.body


# -- certificates


def test_both_hooks_are_called_with_the_certificates_made(suite):
    assert "mnervexjob.kb.io" in refusal(suite)          # the mutating one may be away: here it spoke
    suite.jobs.create(job("fine"), dry_run=True)         # the validating one must not be away
    authority = suite.secret("nervex-ca")["ca.crt"]
    assert suite.bundles() == [authority, authority]
    assert suite.secret("nervex-webhook-server-cert")["ca.crt"] == authority


def test_a_run_writes_nothing_while_no_certificate_expires_soon(suite):
    before = suite.versions()
    said = suite.certs(*LOCAL)
    assert said.returncode == 0, said.stderr
    assert said.stdout.count("unchanged") == 4
    assert suite.versions() == before


def test_a_dry_run_of_a_renewal_writes_nothing(suite):
    before = suite.versions()
    said = suite.certs(*LOCAL, "--renew-now", "--dry-run")
    assert "nervex-webhook-server-cert: would be issued because --renew-now was given" in said.stdout
    assert suite.versions() == before


def test_no_call_fails_over_a_renewal(suite):
    before = suite.secret("nervex-webhook-server-cert")
    authority = suite.secret("nervex-ca")
    said = suite.certs(*LOCAL, "--renew-now")
    assert said.returncode == 0, said.stderr
    after = suite.secret("nervex-webhook-server-cert")
    assert after["tls.crt"] != before["tls.crt"] and after["tls.key"] != before["tls.key"]
    assert suite.secret("nervex-ca") == authority

    for _ in range(5):  # pods that have not noticed yet still show the old one
        suite.jobs.create(job("old-certificate"), dry_run=True)
    suite.mount_certificate()
    suite.cluster.restart("webhook")
    for _ in range(5):
        suite.jobs.create(job("new-certificate"), dry_run=True)
    assert "mnervexjob.kb.io" in refusal(suite)


def test_a_removed_ca_bundle_is_restored(suite):
    suite.kubectl("patch", "mutatingwebhookconfiguration", "nervex-mutating-webhook-configuration", "--type=json",
                  "-p", '[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]')
    assert suite.bundles()[0] == ""
    said = suite.certs(*LOCAL)
    assert "caBundle of nervex-mutating-webhook-configuration: written" in said.stdout
    assert suite.bundles() == [suite.secret("nervex-ca")["ca.crt"]] * 2


MAY = ["get secrets/nervex-ca", "patch secrets/nervex-ca", "get secrets/nervex-webhook-server-cert",
       "patch mutatingwebhookconfigurations/nervex-mutating-webhook-configuration",
       "patch validatingwebhookconfigurations/nervex-validating-webhook-configuration",
       "create secrets"]  # RBAC knows no names at create
MAY_NOT = ["get secrets/another", "list secrets", "watch secrets", "delete secrets/nervex-ca",
           "patch secrets/another", "get secrets/nervex-ca -n default", "create secrets -n default",
           "patch mutatingwebhookconfigurations/another", "create validatingwebhookconfigurations",
           "delete validatingwebhookconfigurations/nervex-validating-webhook-configuration",
           "get pods", "create pods", "list nervexjobs"]


@pytest.mark.parametrize("asked, answer", [*((one, "yes") for one in MAY), *((one, "no") for one in MAY_NOT)])
def test_the_renewing_account_may_do_what_it_needs_and_no_more(suite, asked, answer):
    words = asked.split()
    said = suite.kubectl("auth", "can-i", "--kubeconfig", suite.account, *words[:2],
                         *(words[2:] or ["-n", "nervex-system"]))
    assert said.stdout.split()[-1] == answer


def test_without_its_roles_the_run_names_the_missing_right(suite):
    suite.kubectl("delete", "rolebinding", "-n", "nervex-system", "nervex-certs")
    try:
        said = suite.certs(*LOCAL)
        assert said.returncode == 1
        assert "install certificates: " in said.stderr and "forbidden" in said.stderr
    finally:
        suite.apply([one for one in manifests.variant("self-issued") if one["metadata"]["name"] == "nervex-certs"
                     and one["kind"] == "RoleBinding"])


# -- what the Deployments become


@pytest.mark.parametrize("name", ["nervex-operator", "nervex-server", "nervex-webhook", "nervex-scheduler"])
def test_two_pods_of_each_program_come_up_on_two_nodes(suite, name):
    said = suite.kubectl("-n", "nervex-system", "rollout", "status", f"deployment/{name}", "--timeout=50s")
    assert said.returncode == 0, said.stderr + said.stdout
    pods = suite.core.list_namespaced_pod("nervex-system", label_selector=f"app.kubernetes.io/name={name}").items
    assert len({pod.spec.node_name for pod in pods}) == 2


def test_the_documented_commands_give_kube_scheduler_the_version_of_the_cluster(suite):
    def image():
        spec = suite.kubectl("-n", "nervex-system", "get", "deployment", "nervex-scheduler", "-o",
                             "jsonpath={.spec.template.spec.containers[?(@.name=='kube-scheduler')].image}")
        return spec.stdout
    shipped = image()
    suite.kubectl("-n", "nervex-system", "set", "image", "deployment/nervex-scheduler", "kube-scheduler=registry.k8s.io/kube-scheduler:v1.31.0")
    assert image() != shipped
    run(suite, "\n".join(commands("install", "The version of your cluster")))
    version = suite.kubectl("get", "--raw", "/version").stdout
    assert image() == shipped and f'"gitVersion": "{shipped.rpartition(":")[2]}"' in version, version


# -- upgrade


def pods_as_they_are(suite, name):
    return {pod.metadata.name: (pod.metadata.uid, pod.spec.node_name, pod.status.phase, pod.metadata.deletion_timestamp)
            for pod in suite.jobs.pods(name)}


def test_an_upgrade_leaves_running_jobs_alone(suite):
    suite.jobs.create(job("runs", collector={"replicas": 2, "template": job("x")["spec"]["collector"]["template"]}))
    suite.jobs.wait_phase("runs", "Running")
    suite.jobs.wait_pods("runs", 4, "Running")
    before, status = pods_as_they_are(suite, "runs"), suite.jobs.get("runs")["status"]
    trusted = suite.bundles()

    for line in commands("upgrade", "Upgrade"):
        if " job " in line:
            run(suite, line)
    suite.apply(suite.overlay("hardened-self-issued", nervex_controller="0.2.0", nervex_server="0.2.0",
                              nervex_webhook="0.2.0", nervex_extender="0.2.0", nervexctl="0.2.0"))
    for program in ("webhook", "extender", "scheduler", "controller", "server"):
        suite.cluster.restart(program)
    assert suite.bundles() == trusted
    wait_for(lambda: suite.jobs.create(job("next"), dry_run=True), "the webhook to be asked again", not_yet=[away])

    suite.jobs.create(job("after"))  # the new programs are at work
    suite.jobs.wait_phase("after", "Running")
    assert pods_as_they_are(suite, "runs") == before
    now = suite.jobs.get("runs")["status"]
    assert (now["phase"], now["attempt"], now["startTime"]) == (status["phase"], status["attempt"], status["startTime"])


# -- uninstall, in the words of the documentation


def commands(page, section):
    """The lines of the first shell block of a section of docs/tasks/<page>.md."""
    with open(os.path.join(ROOT, "docs", "tasks", f"{page}.md"), encoding="utf-8") as file:
        text = file.read()
    match = re.search(rf"^#{{2,4}} {section}\n.*?^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert match, f"docs/tasks/{page}.md has no commands below {section}"
    return [line.split("  #")[0] for line in match[1].splitlines() if line and not line.startswith("#")]


def run(suite, line):
    env = {**os.environ, "KUBECONFIG": suite.target.kubeconfig, "PATH": path_of(suite.target)}
    done = subprocess.run(["bash", "-ec", line], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{line}: {done.stderr}"


def left_overs(suite):
    said = suite.kubectl("get", manifests.kinds(), "--all-namespaces", "-o", "name", "--ignore-not-found")
    assert said.returncode == 0, said.stderr
    return [line for line in said.stdout.splitlines() if "nervex" in line or "/runs-" in line or "/after-" in line]


@pytest.mark.extended  # tests/realnode uninstalls in each run
def test_uninstalling_as_documented_leaves_nothing(suite):
    if not suite.jobs.pods("runs"):  # run alone
        suite.jobs.create(job("runs"))
        suite.jobs.wait_phase("runs", "Running")
    there = "\n".join(left_overs(suite))
    for one in ("validatingadmissionpolicy.admissionregistration.k8s.io/nervex-requests", "flowschema.flowcontrol.apiserver.k8s.io/nervex-webhook",
                "prioritylevelconfiguration.flowcontrol.apiserver.k8s.io/nervex-webhook",
                "validatingadmissionpolicybinding.admissionregistration.k8s.io/nervex-requests",
                "rolebinding.rbac.authorization.k8s.io/nervex-scheduler-authentication-reader"):  # that is in kube-system
        assert one in there
    for line in commands("upgrade", "Uninstall"):
        run(suite, line.replace("variants/cert-manager", "variants/hardened-self-issued"))
    wait_for(lambda: (not left_overs(suite), left_overs(suite)), "everything to be gone")
