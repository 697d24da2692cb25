"""The suite on a real node, as its README tells a user to install it: images, then one command."""

import base64
import json
import os
import time

import yaml

from harness import manifests
from harness.console import Failure, wait_for
from harness.images import oci, suite
from harness.realnode import config, images, pki
from harness.settings import ROOT

SYSTEM = "nervex-system"
HERE = os.path.join(ROOT, "tests", "realnode")
AGGREGATOR = manifests.AGGREGATOR_EXAMPLE
JOB = manifests.JOB_EXAMPLE
# variant: what a user types, and what takes it away again
COMMANDS = {
    "self-issued": (("apply", "--server-side", "-k", "manifests/variants/self-issued"),
                    ("delete", "--ignore-not-found", "-k", "manifests/variants/self-issued")),
    "cert-manager": (("create", "-f", "manifests/nervex-manager.yaml"),
                     ("delete", "--ignore-not-found", "-f", "manifests/nervex-manager.yaml")),
    "hardened-self-issued": (("apply", "--server-side", "-k", "manifests/variants/hardened-self-issued"),
                             ("delete", "--ignore-not-found", "-k", "manifests/variants/hardened-self-issued")),
}
# Their webhook answers only callers with a certificate.
SHOW_CERTIFICATE = ("hardened-self-issued",)


def load_images(node, folder):
    """Of the programs in `folder`; the versions are those that the manifests name."""
    release = suite.Release(suite.version_of_tree(), folder, suite.ARCHITECTURES[suite.own_architecture()])
    for name in suite.NAMES:
        path = node.settings.path("images", f"{name}.tar")
        oci.write(suite.image(release, name), path, compress=False)
        node.load_images([path])
        os.unlink(path)


def install_cert_manager(node):
    """Version 1.11.5 of its own project, controller and cainjector; what they need from its chart is in a file here."""
    folder = images.folder_of("--cert-manager")
    node.load_images(images.write(images.of_cert_manager(), node.settings.path("images")))
    node.kubectl("apply", "--server-side", "-f", os.path.join(folder, "crds"))
    node.kubectl("apply", "-f", os.path.join(HERE, "cert-manager.yaml"))
    wait_for_deployments(node, "cert-manager")


def remove_cert_manager(node):
    node.kubectl("delete", "--ignore-not-found", "-f", os.path.join(HERE, "cert-manager.yaml"))
    node.kubectl("delete", "--ignore-not-found", "-f", os.path.join(images.folder_of("--cert-manager"), "crds"))


def get(node, *what):
    """kubectl get ... -o json; None if it is not there."""
    done = node.kubectl("get", *what, "-o", "json", check=False)
    if done.returncode != 0:
        if "NotFound" in done.stderr or "the server doesn't have a resource type" in done.stderr:
            return None
        raise Failure(f"kubectl get {' '.join(what)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def unready(node, namespace):
    """Deployments of which not every wanted pod of the newest revision is available."""
    found = get(node, "deployments", "-n", namespace)["items"]
    lacking = []
    for one in found:
        status, wanted = one.get("status", {}), one["spec"]["replicas"]
        have = (status.get("observedGeneration"), status.get("updatedReplicas"), status.get("availableReplicas"))
        if have != (one["metadata"]["generation"], wanted, wanted) or status.get("replicas") != wanted:
            lacking.append(f"{one['metadata']['name']} {status.get('availableReplicas', 0)}/{wanted}")
    return lacking if found else ["no deployment is there"]


def wait_for_deployments(node, namespace, timeout=180):
    def look():
        lacking = unready(node, namespace)
        return not lacking, ", ".join(lacking)
    try:
        node.wait(look, f"every Deployment in {namespace} to be ready", timeout)
    except Failure as failure:
        raise Failure(f"{failure}\n{describe(node, namespace)}") from failure


def describe(node, namespace):
    """For those who read why something did not become ready."""
    words = [node.kubectl("get", "pods", "-n", namespace, "-o", "wide", check=False).stdout,
             node.kubectl("get", "events", "-n", namespace, "--sort-by=.lastTimestamp", check=False).stdout[-4000:]]
    for pod in (get(node, "pods", "-n", namespace) or {"items": []})["items"]:
        if pod["status"].get("phase") not in ("Running", "Succeeded"):
            name = pod["metadata"]["name"]
            words.append(node.kubectl("logs", "-n", namespace, name, "--all-containers", "--tail=20", check=False).stdout)
    return "\n".join(words)


def install(node, variant):
    """What a user types, from the top of the checkout. Returns the seconds until every Deployment is ready."""
    begin = time.monotonic()
    node.kubectl(*_from_here(COMMANDS[variant][0]))
    wait_for_deployments(node, SYSTEM)
    seconds = time.monotonic() - begin
    if variant in SHOW_CERTIFICATE:
        let_api_server_show_certificate(node)
    return seconds


def let_api_server_show_certificate(node):
    """What docs/install.md asks of those whose webhook wants to know who calls it: the API server shows a certificate
    of the CA that issued the webhook's own."""
    secret = get(node, "secret", "nervex-ca", "-n", SYSTEM)
    certificate, key = (base64.b64decode(secret["data"][name]).decode() for name in ("tls.crt", "tls.key"))
    pki.sign_client(node.settings, "webhooks", "/CN=kube-apiserver", certificate, key)
    for name, content in (("webhooks.kubeconfig", config.webhooks_kubeconfig(node.settings)),
                          ("admission.yaml", config.admission(node.settings, shows_certificate=True))):
        with open(node.settings.path("etc", name), "w", encoding="utf-8") as file:
            yaml.safe_dump(content, file)
    node.restart_api_server()
    wait_for_deployments(node, SYSTEM)


def uninstall(node, variant):
    """As docs/install.md has it: the jobs first."""
    if get(node, "crd", "nervexjobs.nervex.sensetime.com"):
        node.kubectl("delete", "nervexjobs,aggregatorconfigs", "--all", "--all-namespaces")
        node.kubectl("wait", "--for=delete", "pods,services", "--all-namespaces", "--selector",
                     "group-name=nervex.sensetime.com", "--timeout=2m", check=False, timeout=150)
    node.kubectl(*_from_here(COMMANDS[variant][1]), timeout=240)


def _from_here(words):
    return [os.path.join(ROOT, word) if word.startswith("manifests/") else word for word in words]


def create_examples(node, job=None):
    """The two commands of the README. `job`: YAML instead of the example's file."""
    node.kubectl("create", "-f", os.path.join(ROOT, AGGREGATOR), "-n", SYSTEM)
    if job:
        node.kubectl("create", "-f", "-", body=job)
    else:
        node.kubectl("create", "-f", os.path.join(ROOT, JOB))


def hooks_answer(node):
    """Does the API server reach the webhook through its Service, and trust it? A wrong job is refused by name only then."""
    done = node.kubectl("create", "-f", os.path.join(ROOT, "examples", "wrong-job.yaml"), check=False)
    return done.returncode != 0 and "Invalid CleanPodPolicy" in done.stderr, done.stderr.strip()[-400:] or "accepted"


def wait_for_hooks(node, timeout=60):
    """The certificate's CA reaches the webhook configurations a moment after the pods are ready."""
    return wait_for(lambda: hooks_answer(node), "the API server to call the webhook", timeout, interval=0.5)
