"""Failures of the control plane itself: its components are local processes that can be killed and started
again with the command lines that kwokctl gave them."""

import base64
import http.client
import json
import os
import signal
import time

from harness import processes
from harness.console import wait_for


class Components:
    """The components of one local cluster by name: etcd, kube-apiserver, kube-controller-manager ..."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._commands = {self._name(one): self._command(one) for one in cluster.control_plane}

    def kill(self, name):
        """kill -9; nothing of it is left when this returns."""
        one = self._record(name)
        processes.send(one, signal.SIGKILL)
        while processes.alive(one):
            time.sleep(0.005)

    def start(self, name):
        """Again, after kill(), on the same data and the same port."""
        old = self._record(name)
        new = processes.start(self._commands[name], old["log"])
        records = self._cluster.control_plane
        records[records.index(old)] = {key: new[key] for key in ("pid", "start", "log")}
        self._cluster.save()
        with open(self._pid_file(old), "w", encoding="utf-8") as file:  # kwokctl reads it when the cluster ends
            file.write(str(new["pid"]))

    def revive(self):
        """What ended by itself: controller manager and scheduler do when they cannot renew their leases.
        Where a kubelet looks after them they come back."""
        for one in list(self._cluster.control_plane):
            if not processes.alive(one):
                self.start(self._name(one))
        self.wait_until_ready()

    def wait_until_ready(self, timeout=60):
        def look():
            return self._cluster.api().get("/readyz") == "ok", "not ready"
        def quietly():
            try:
                return look()
            except Exception as error:  # refused, or 500 while it starts
                return False, str(error)
        wait_for(quietly, "the API server to be ready again", timeout, interval=0.05)

    def compact(self):
        """Has etcd forget all but the newest revision, at once; returns that revision."""
        revision = int(self._etcd("range", {"key": base64.b64encode(b"/").decode()})["header"]["revision"])
        self._etcd("compaction", {"revision": str(revision), "physical": True})
        return revision

    # -- how a component is known

    @staticmethod
    def _name(record):
        return os.path.basename(record["log"]).removesuffix(".log")

    @staticmethod
    def _command(record):
        with open(f"/proc/{record['pid']}/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]

    @staticmethod
    def _pid_file(record):
        folder, log = os.path.split(record["log"])
        return os.path.join(os.path.dirname(folder), "pids", log.removesuffix(".log") + ".pid")

    def _record(self, name):
        return next(one for one in self._cluster.control_plane if self._name(one) == name)

    def _etcd(self, verb, body):
        """etcd's API as JSON, by its own gateway on the port for clients."""
        url = next(word for word in self._commands["etcd"] if word.startswith("--listen-client-urls="))
        connection = http.client.HTTPConnection(url.partition("//")[2], timeout=10)
        try:
            connection.request("POST", f"/v3/kv/{verb}", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read().decode("utf-8", "replace")
        finally:
            connection.close()
        if response.status != 200:
            raise RuntimeError(f"etcd answered {verb} with {response.status} {answer}")
        return json.loads(answer)
