"""The suite on a real node, as its README tells a user to install it: images, then one command."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import yaml

from tools.base import versions
from tools.base.console import Failure, timeout_factor, wait_for
from tools.base.tree import ROOT
from tools.cluster import manifests
from tools.controlplane import binaries
from tools.images import oci, suite
from tools.realnode import config, images

SYSTEM = "nervex-system"
HERE = os.path.dirname(os.path.abspath(__file__))
AGGREGATOR = manifests.AGGREGATOR_EXAMPLE
JOB = manifests.JOB_EXAMPLE
EXAMPLE = "nervexjob-example-1"  # the job in that file
CALLERS = "Who may call the webhook"  # a section of docs/tasks/secure.md
# variant: what a user types, and what takes it away again
COMMANDS = {
    "self-issued": (("apply", "--server-side", "-k", "manifests/variants/self-issued"),
                    ("delete", "--ignore-not-found", "-k", "manifests/variants/self-issued")),
    "cert-manager": (("create", "-f", "manifests/nervex-manager.yaml"),
                     ("delete", "--ignore-not-found", "-f", "manifests/nervex-manager.yaml")),
    "hardened": (("apply", "--server-side", "-k", "manifests/variants/hardened"),
                 ("delete", "--ignore-not-found", "-k", "manifests/variants/hardened")),
    "hardened-self-issued": (("apply", "--server-side", "-k", "manifests/variants/hardened-self-issued"),
                             ("delete", "--ignore-not-found", "-k", "manifests/variants/hardened-self-issued")),
}
BY_CERT_MANAGER = ("cert-manager", "hardened")  # others issue their certificates themselves
# Their webhook answers only callers with a certificate.
SHOW_CERTIFICATE = ("hardened", "hardened-self-issued")


def load_images(node, folder):
    """Loads images of the programs in `folder`; the manifests name the versions."""
    release = suite.Release(versions.read().version, folder, suite.ARCHITECTURES[suite.own_architecture()])
    for name in suite.NAMES:
        path = node.settings.path("images", f"{name}.tar")
        oci.write([suite.image(release, name)], path, compress=False)
        node.load_images([path])
        os.unlink(path)


def install_cert_manager(node):
    """Installs version 1.11.5 of the cert-manager project, controller and cainjector; a file here has what they need
    from its chart."""
    folder = binaries.folder("--cert-manager")
    node.load_images(images.write(images.of_cert_manager(), node.settings.path("images")))
    node.kubectl("apply", "--server-side", "-f", os.path.join(folder, "crds"))
    node.kubectl("apply", "-f", os.path.join(HERE, "cert-manager.yaml"))
    wait_for_deployments(node, "cert-manager")


def remove_cert_manager(node):
    node.kubectl("delete", "--ignore-not-found", "-f", os.path.join(HERE, "cert-manager.yaml"))
    node.kubectl("delete", "--ignore-not-found", "-f", os.path.join(binaries.folder("--cert-manager"), "crds"))


def get(node, *what):
    """kubectl get ... -o json; None if it does not exist."""
    done = node.kubectl("get", *what, "-o", "json", check=False)
    if done.returncode != 0:
        if "NotFound" in done.stderr or "the server doesn't have a resource type" in done.stderr:
            return None
        raise Failure(f"kubectl get {' '.join(what)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def unready(node, namespace):
    """Deployments whose newest revision lacks available pods."""
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
    """Details for debugging why something did not become ready."""
    words = [node.kubectl("get", "pods", "-n", namespace, "-o", "wide", check=False).stdout,
             node.kubectl("get", "events", "-n", namespace, "--sort-by=.lastTimestamp", check=False).stdout[-4000:]]
    for pod in (get(node, "pods", "-n", namespace) or {"items": []})["items"]:
        if pod["status"].get("phase") not in ("Running", "Succeeded"):
            name = pod["metadata"]["name"]
            words.append(node.kubectl("logs", "-n", namespace, name, "--all-containers", "--tail=20", check=False).stdout)
    return "\n".join(words)


def install(node, variant):
    """Runs what a user types at the top of the checkout. Returns the seconds until every Deployment is ready."""
    begin = time.monotonic()
    node.kubectl(*_from_here(COMMANDS[variant][0]))
    wait_for_deployments(node, SYSTEM)
    return time.monotonic() - begin


def documented(section, kind):
    """The blocks of that kind ("sh", "yaml") in a section of docs/tasks/secure.md, in order."""
    with open(os.path.join(ROOT, "docs", "tasks", "secure.md"), encoding="utf-8") as file:
        found = re.search(rf"^#{{2,4}} {re.escape(section)}\n(.*?)(?=^#{{2,4}} |\Z)", file.read(), re.MULTILINE | re.DOTALL)
    blocks = re.findall(rf"^```{kind}\n(.*?)^```$", found[1] if found else "", re.MULTILINE | re.DOTALL)
    if not blocks:
        raise Failure(f"docs/tasks/secure.md has no {kind} below {section}")
    return blocks


def type_in(node, text, folder="/"):
    """Runs what a user of the cluster types into a shell, in that folder."""
    programs = f"export PATH={binaries.folder()}:$PATH KUBECONFIG={node.kubeconfig}; cd {folder}\n"
    done = subprocess.run(node.enter("bash", "-euo", "pipefail", "-c", programs + text, namespaces=("--net",)),
                          capture_output=True, text=True, timeout=120 * timeout_factor())
    if done.returncode != 0:
        raise Failure(f"{text}: {done.stderr.strip()}")
    return done.stdout


def issue_client_certificate(node, variant, days=365):
    """For the API server, in the words of docs/tasks/secure.md. `days`: for OpenSSL, which takes any number."""
    certificate, *_ = documented(CALLERS, "yaml")
    of_cert_manager, of_openssl = documented(CALLERS, "sh")
    if variant in BY_CERT_MANAGER:
        node.kubectl("apply", "-f", "-", body=certificate)
        wait_for(lambda: (get(node, "secret", "nervex-apiserver-client", "-n", SYSTEM) is not None, "none"),
                 "cert-manager to issue the API server's certificate", 60, 0.3)
    words = of_cert_manager if variant in BY_CERT_MANAGER else of_openssl.replace("-days 365", f"-days {days}")
    with tempfile.TemporaryDirectory() as folder:
        type_in(node, words, folder)
        for name in ("tls.key", "tls.crt"):
            shutil.move(os.path.join(folder, name), node.settings.pki(name.replace("tls", "webhooks")))


def let_api_server_show_certificate(node, shown=True):
    """Configures it as in docs/tasks/secure.md, or restores it, and restarts it."""
    for name, content in (("webhooks.kubeconfig", config.webhooks_kubeconfig(node.settings)),
                          ("admission.yaml", config.admission(node.settings, shows_certificate=shown))):
        with open(node.settings.path("etc", name), "w", encoding="utf-8") as file:
            yaml.safe_dump(content, file)
    node.restart_api_server()


def uninstall(node, variant):
    """As in docs/tasks/upgrade.md: the jobs first."""
    if get(node, "crd", "nervexjobs.nervex.sensetime.com"):
        node.kubectl("delete", "nervexjobs,aggregatorconfigs", "--all", "--all-namespaces")
        node.kubectl("wait", "--for=delete", "pods,services", "--all-namespaces", "--selector",
                     "group-name=nervex.sensetime.com", "--timeout=2m", check=False, timeout=150)
    node.kubectl(*_from_here(COMMANDS[variant][1]), timeout=240)


def left_overs(node):
    """Remaining objects of the suite, in any namespace."""
    said = node.kubectl("get", manifests.kinds(), "--all-namespaces", "-o", "name").stdout
    return [line for line in said.splitlines() if "nervex" in line and not line.endswith("/" + node.settings.name)]


def _from_here(words):
    return [os.path.join(ROOT, word) if word.startswith("manifests/") else word for word in words]


def example_job(seconds, name=None):
    """The example's file, with a coordinator that trains for this long; renamed, if a name is given."""
    with open(os.path.join(ROOT, JOB), encoding="utf-8") as file:
        text = file.read()
    for old, new in (("--seconds=60", f"--seconds={seconds}"), (EXAMPLE, name or EXAMPLE)):
        if old not in text:
            raise Failure(f"{JOB} does not say {old}")
        text = text.replace(old, new)
    return text


def create_examples(node, job=None):
    """The two commands of the README. `job`: YAML instead of the example's file."""
    node.kubectl("create", "-f", os.path.join(ROOT, AGGREGATOR), "-n", SYSTEM)
    if job:
        node.kubectl("create", "-f", "-", body=job)
    else:
        node.kubectl("create", "-f", os.path.join(ROOT, JOB))


def hooks_answer(node):
    """Does the API server reach the webhook through its Service, and trust it? For a wrong job the mutating hook
    names the field that the CRD does not know; a valid one passes the validating hook, which fails closed."""
    wrong = node.kubectl("create", "-f", os.path.join(ROOT, "examples", "wrong-job.yaml"), check=False)
    if wrong.returncode == 0 or "Invalid CleanPodPolicy" not in wrong.stderr or "nvidia.com/gpu" not in wrong.stderr:
        return False, wrong.stderr.strip()[-400:] or "accepted"
    right = of_right_job(node)
    return not right, right or wrong.stderr.strip()[-400:]


def of_right_job(node):
    """Why it cannot be created; empty if it can."""
    done = node.kubectl("create", "--dry-run=server", "-f", os.path.join(ROOT, JOB), check=False)
    return "" if done.returncode == 0 else done.stderr.strip()[-400:]


def wait_for_refusal(node, why, timeout=60):
    """Waits until no job can be created, for that reason."""
    def look():
        said = of_right_job(node)
        return "failed calling webhook" in said and why in said, said or "accepted"
    wait_for(look, f"jobs to be refused with {why!r}", timeout, interval=0.5)


def wait_for_hooks(node, timeout=60):
    """The certificate's CA reaches the webhook configurations a moment after the pods are ready."""
    return wait_for(lambda: hooks_answer(node), "the API server to call the webhook", timeout, interval=0.5)
