"""What users feed to kubectl: the examples and the single-file install."""

import os
import subprocess
import sys

import pytest
import yaml
from harness.settings import ROOT
from support.jobs import load

EXAMPLES = ["nervex-mock-agconfig.yaml", "nervex-mock-nervexjob.yaml", "gang-first.yaml", "gang-second.yaml"]
MANIFEST = os.path.join(ROOT, "manifests", "nervex-manager.yaml")


def examples():
    return sorted(name for name in os.listdir(os.path.join(ROOT, "examples")) if name.endswith(".yaml"))


def test_every_example_is_looked_at():
    assert examples() == sorted([*EXAMPLES, "wrong-job.yaml"])


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_accepted(kubectl, namespace, name):
    path = os.path.join(ROOT, "examples", name)
    objects = [{**one, "metadata": {**one["metadata"], "namespace": namespace}} for one in load(path)]
    said = kubectl("create", "--dry-run=server", "-f", "-", body=yaml.safe_dump_all(objects))
    assert said.returncode == 0, said.stderr
    assert "Warning" not in said.stderr


def test_the_wrong_example_is_refused(kubectl, namespace):
    said = kubectl("create", "-n", namespace, "-f", os.path.join(ROOT, "examples", "wrong-job.yaml"))
    assert said.returncode == 1
    assert "spec.cleanPodPolicy" in said.stderr
    assert "Invalid CleanPodPolicy" in said.stderr


def is_cert_manager(one):
    return one["apiVersion"].startswith("cert-manager.io/")


def test_the_manifest_is_accepted(kubectl):
    """As far as the test's cluster knows the kinds: it has no cert-manager."""
    objects = [one for one in load(MANIFEST) if not is_cert_manager(one)]
    for one in objects:  # an address of the local webhook must not be mixed with that of the service
        if one["kind"].endswith("WebhookConfiguration"):
            one["metadata"]["name"] += "-tried"
    said = kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-",
                   body=yaml.safe_dump_all(objects))
    assert said.returncode == 0, said.stderr
    assert len(said.stdout.splitlines()) == len(objects)


def test_the_manifest_names_what_users_rely_on():
    names = {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in load(MANIFEST)}
    system = "nervex-system"
    assert names >= {
        ("Namespace", None, system),
        ("Deployment", system, "nervex-operator"), ("Deployment", system, "nervex-server"),
        ("Deployment", system, "nervex-webhook"), ("Service", system, "nervex-server"),
        ("Service", system, "nervex-webhook-service"),
        ("Issuer", system, "nervex-selfsigned-issuer"), ("Certificate", system, "nervex-serving-cert"),
        ("MutatingWebhookConfiguration", None, "nervex-mutating-webhook-configuration"),
        ("ValidatingWebhookConfiguration", None, "nervex-validating-webhook-configuration"),
    }


def test_the_generated_manifests_are_current():
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "generate-manifests"), "--check"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["nervexjobs", "aggregatorconfigs", "podgroups"])
def test_kubectl_explains_our_kinds(kubectl, kind):
    said = kubectl("explain", f"{kind}.spec")
    assert said.returncode == 0, said.stderr
    assert "FIELDS:" in said.stdout
