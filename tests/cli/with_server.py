"""nervexctl as a user runs it, on the API server in memory of tests/sdk."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "sdk"))

from support.fake_api import JOBS, NAMESPACE, PODS, FakeApi  # noqa: E402

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
POD = {"spec": {"containers": [{"name": "nervex-container", "image": "trainer:1"}]}}
JOB = {"apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob", "metadata": {"name": "dqn"},
       "spec": {"coordinator": {"template": POD}, "collector": {"template": POD}}}


def status(phase, *conditions, observed=1, **more):
    return {"phase": phase, "attempt": 1, "observedGeneration": observed, "conditions": [
        {"type": one, "status": "True", "reason": "Because", "message": "", "lastTransitionTime": "2026-11-21T14:00:00Z",
         "observedGeneration": observed} for one in conditions], **more}


class WithServer(unittest.TestCase):
    nervexctl = ""  # path of the program

    def setUp(self):
        self.api = FakeApi()
        self.addCleanup(self.api.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.env = {"HOME": self.folder, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        self.connect()

    def write(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def connect(self, user=None, **cluster):
        """A kubeconfig for the server in memory."""
        host = self.api.client().configuration.host
        self.env["KUBECONFIG"] = self.write("kubeconfig", json.dumps({
            "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x", "namespace": NAMESPACE}}],
            "clusters": [{"name": "x", "cluster": {"server": host, **cluster}}], "users": [{"name": "x", "user": user or {}}]}))

    def start(self, *words):
        process = subprocess.Popen([WithServer.nervexctl, *words], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace")
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def run_verb(self, *words):
        process = self.start(*words)
        out, errors = process.communicate(timeout=60)
        return process.returncode, out, errors

    def put_job(self, name="dqn", generation=1, **fields):
        return self.api.put(JOBS, name, **{**JOB, "metadata": {"name": name, "generation": generation}, **fields})

    def put_pod(self, name, job):
        self.api.put(PODS, name, kind="Pod", metadata={
            "labels": {"group-name": "nervex.sensetime.com", "nervexjob-name": job["metadata"]["name"],
                       "replica-type": name.rpartition("-")[2]},
            "ownerReferences": [{"apiVersion": JOB["apiVersion"], "kind": "NerveXJob", "name": job["metadata"]["name"],
                                 "uid": job["metadata"]["uid"], "controller": True}]}, status={"phase": "Running"}, **POD)
