"""A cluster for one module of tests that remove or replace the whole suite."""

import base64
import contextlib
import os

import kubernetes
import yaml
from tools.base.tree import ROOT
from tools.cluster import manifests, suite

from support import chart
from support.commands import command
from support.jobs import Jobs, job
from support.target import OwnCluster
from support.wait import away, wait_for

SYSTEM = "/api/v1/namespaces/nervex-system"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
ACCOUNT = "certs"  # suite's helpers put nervex- in front
TOKEN_REVIEW = "nervex-server-token-review"
LOCAL = ("--san", "DNS:localhost", "--san", "IP:127.0.0.1")  # the API server's way to the webhook here


class Installed:
    """A variant applied as by an administrator. Two things differ from a real cluster: our programs are local
    processes (the Deployments' pods are simulated), and the API server reaches the webhook by address instead of
    through its Service."""

    def __init__(self, target, variant):
        self.target, self.cluster, self.api = target, target.cluster, target.cluster.api()
        self.kubectl = command(target, "kubectl")
        client = kubernetes.config.new_client_from_config(config_file=target.kubeconfig)
        self.core = kubernetes.client.CoreV1Api(client)
        self.jobs = Jobs(self.core, kubernetes.client.CustomObjectsApi(client), "default")
        self.install(variant)
        self.account = suite.write_kubeconfig(self.api, self.cluster.settings, ACCOUNT)

    def install(self, variant):
        self.apply(manifests.variant(variant))

    def apply(self, objects):
        for one in objects:
            for hook in one.get("webhooks", []) if one["kind"] in manifests.WEBHOOK_KINDS else []:
                path = hook["clientConfig"]["service"]["path"]
                hook["clientConfig"] = {"url": self.cluster.programs["webhook"]["url"] + path}
        # the manager of scripts/up: what it set before and no longer sends goes, its caBundle above all
        said = self.kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=nervex-install",
                            "-f", "-", body=manifests.dump_all(objects))
        assert said.returncode == 0, said.stderr

    def overlay(self, variant, **images):
        """The objects of a user's kustomization on top of a variant, as in docs/tasks/install.md."""
        folder = self.cluster.settings.path("overlay")
        os.makedirs(folder, exist_ok=True)
        base = os.path.relpath(os.path.join(ROOT, "manifests", "variants", variant), folder)
        with open(os.path.join(folder, "kustomization.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump({"resources": [base],
                            "images": [{"name": name.replace('_', '-'), "newTag": tag}
                                       for name, tag in images.items()]}, file)
        return manifests.kustomize(folder)

    def certs(self, *words):
        """nervexctl certs --install, with the rights of the renewal account."""
        return command(self.target, "nervexctl")("certs", "--install", "--kubeconfig", self.account, *words)

    def begin_trust(self):
        """The webhook's first certificate, from its issue until the API server accepts it."""
        said = self.certs(*LOCAL)
        assert said.returncode == 0, said.stderr
        self.mount_certificate()
        self.cluster.restart("webhook")
        wait_for(lambda: self.jobs.create(job("tried"), dry_run=True), "the webhook to be trusted", not_yet=[away])

    def secret(self, name):
        return {key: base64.b64decode(value).decode()
                for key, value in self.api.get(f"{SYSTEM}/secrets/{name}")["data"].items()}

    def versions(self):
        """resourceVersions of everything that nervexctl certs may write."""
        paths = [f"{SYSTEM}/secrets/nervex-ca", f"{SYSTEM}/secrets/nervex-webhook-server-cert",
                 f"{HOOKS}/mutatingwebhookconfigurations/nervex-mutating-webhook-configuration",
                 f"{HOOKS}/validatingwebhookconfigurations/nervex-validating-webhook-configuration"]
        return [self.api.get(path)["metadata"]["resourceVersion"] for path in paths]

    def bundles(self):
        """caBundle of each hook, decoded."""
        found = []
        for kind in ("mutating", "validating"):
            one = self.api.get(f"{HOOKS}/{kind}webhookconfigurations/nervex-{kind}-webhook-configuration")
            found += [base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode() for hook in one["webhooks"]]
        return found

    def mount_certificate(self):
        """Updates the mounted Secret, as the kubelet does."""
        secret = self.secret("nervex-webhook-server-cert")
        for name in ("tls.key", "tls.crt", "ca.crt"):
            path = self.cluster.settings.path("webhook", name)
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(secret[name])
            os.replace(path + ".new", path)


class InstalledByHelm(Installed):
    """The same by the chart, over the objects that every cluster of ours begins with."""

    def install(self, variant):
        self.variant = variant
        self.chart = chart.copy_with_webhook_at(self.cluster.programs["webhook"]["url"], self.cluster.settings.path("chart"))
        # no administrator has a CA yet; and these roles belong to a hardened variant
        for kind, names in ((",".join(manifests.WEBHOOK_KINDS), "--all"), ("clusterrole,clusterrolebinding", TOKEN_REVIEW)):
            said = self.kubectl("delete", kind, names)
            assert said.returncode == 0, said.stderr
        self.helm("install", "nervex", self.chart, "--take-ownership", "--force-conflicts", values={})

    def helm(self, *arguments, values=None):
        """`values` are added to those of the variant."""
        words = [*arguments, "--namespace", "nervex-system", "--kubeconfig", self.target.kubeconfig]
        if values is not None:
            words += ["--values", os.path.join(self.chart, "ci", f"{self.variant}-values.yaml")]
        said = chart.helm(*words, values=values)
        assert said.returncode == 0, said.stderr
        return said.stdout


@contextlib.contextmanager
def installed(variant, failed, by=Installed):
    """`failed()` decides at the end whether to keep the logs."""
    target = OwnCluster(f"nervex-test-{os.getpid()}-install")
    try:
        yield by(target, variant)
    finally:
        target.close(failed())
