"""Kubeflow's training operator as a process on loopback, for TFJobs.

It requires certificates for its webhook, which gets no calls here: it writes them to a Secret, and this acts as the
kubelet that mounts it. One at a time on a machine: the folder of the certificates is a constant of the operator's."""

import base64
import glob
import os
import shutil
import urllib.request

import yaml

from tools.base import processes
from tools.base.console import Failure, wait_for
from tools.cluster.api import ApiError
from tools.controlplane import binaries

CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
VALIDATOR = "validator.training-operator.kubeflow.org"
SECRET = "training-operator-webhook-cert"
PATIENCE = 90


def folder():
    """The folder of the operator and the CRDs of its version."""
    return binaries.folder("--operator")


def crds(pattern="kubeflow.org_tfjobs.yaml"):
    found = []
    for path in sorted(glob.glob(os.path.join(folder(), "crds", pattern))):
        with open(path, encoding="utf-8") as file:
            found += [one for one in yaml.safe_load_all(file) if one]
    if not found:
        raise Failure(f"no {pattern} in {folder()}: run scripts/control-plane --operator")
    return found


class TrainingOperator:
    """`kubeconfig`: whose rights it has. `scheduler`: the schedulerName of its pods, which start as gangs of
    scheduling.x-k8s.io."""

    def __init__(self, api, namespace, kubeconfig, scheduler, log, flags=()):
        self._api, self._namespace, self._log = api, namespace, log
        self._health = processes.free_port()
        ports = [processes.free_port({self._health}) for _ in range(2)]
        self._command = [os.path.join(folder(), "training-operator"), f"--kubeconfig={kubeconfig}",
                         f"--gang-scheduler-name={scheduler}", "--enable-scheme=tfjob",
                         f"--health-probe-bind-address=127.0.0.1:{self._health}",
                         f"--metrics-bind-address=127.0.0.1:{ports[0]}", f"--webhook-server-port={ports[1]}", *flags]
        self.process = None

    def start(self):
        """Returns when it reconciles."""
        self._create(self._secrets(), {"metadata": {"name": SECRET}})
        self._create(WEBHOOKS, {"metadata": {"name": VALIDATOR}, "webhooks": [{
            "name": VALIDATOR, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
            "clientConfig": {"service": {"name": "none", "namespace": self._namespace}},
            "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["*"], "resources": ["*"],
                       "operations": ["CREATE"]}]}]})
        self.process = processes.start(self._command, self._log, {"MY_POD_NAMESPACE": self._namespace, "TMPDIR": "/tmp"})
        self._mount_certificates(wait_for(self._certificates, "the operator's certificates", PATIENCE))
        wait_for(self._works, "the operator to reconcile", PATIENCE)  # it looks at the mount with back-off

    def _secrets(self):
        return f"/api/v1/namespaces/{self._namespace}/secrets"

    def _create(self, path, one):
        try:
            self._api.post(path, one)
        except ApiError as error:
            if error.status != 409:
                raise

    def _certificates(self):
        self._check_alive()
        data = self._api.get(f"{self._secrets()}/{SECRET}").get("data") or {}
        return "tls.crt" in data, data

    def _mount_certificates(self, data):
        os.makedirs(CERTIFICATES, exist_ok=True)
        for name, text in data.items():
            path = os.path.join(CERTIFICATES, name)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(base64.b64decode(text))

    def _works(self):
        self._check_alive()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._health}/readyz", timeout=1) as reply:
                ready = reply.status == 200
        except OSError as error:
            return False, error
        return ready and "Starting workers" in processes.logged(self.process), "ready, without workers"

    def _check_alive(self):
        if not processes.alive(self.process):
            raise Failure("the operator has ended", [self._log])

    def stop(self):
        if self.process:
            processes.stop([self.process])
            self.process = None
        shutil.rmtree(os.path.dirname(CERTIFICATES), ignore_errors=True)

    def remove(self):
        """Stops it, and removes its webhook configuration."""
        self.stop()
        self._api.call("DELETE", f"{WEBHOOKS}/{VALIDATOR}")
