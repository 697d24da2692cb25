"""Failures of the control plane itself: its components are local processes that can be killed and restarted with the
command lines from kwokctl."""

import base64
import contextlib
import http.client
import json
import os
import signal
import threading

from tools.base import processes
from tools.base.console import wait_for
from tools.cluster import control_plane
from tools.cluster.api import ApiError


class Components:
    """The components of one local cluster by name: etcd, kube-apiserver, kube-controller-manager ...

    Controller manager and scheduler end by themselves when they cannot renew their leases for 10 s. As a
    kubelet would, this starts a component that ended again, unless kill() ended it, until close()."""

    def __init__(self, cluster):
        self.cluster = cluster
        self._commands = {self._name(one): self._command(one) for one in cluster.control_plane}
        self._killed = set()
        self._ports = contextlib.ExitStack()
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="keeper of components", daemon=True)
        self._keeper.start()

    def close(self):
        """Returns when every component runs and the API server answers."""
        for name in sorted(self._killed):  # etcd first
            self.start(name)
        self.wait_until_ready()
        self._closing.set()
        self._keeper.join()
        self._revive()

    def kill(self, name):
        """kill -9; the process is gone when this returns. Its ports stay reserved until it is ready again."""
        if not self._killed:
            self._ports.enter_context(control_plane.ports_lock())
        with self._lock:
            one = self._record(name)
            self._killed.add(name)
        processes.send(one, signal.SIGKILL)
        processes.wait_for_end(one)

    def start(self, name):
        """Starts it again after kill(), on the same data and the same port."""
        with self._lock:
            old = self._record(name)
            new = processes.start(self._commands[name], old["log"])
            records = self.cluster.control_plane
            records[records.index(old)] = {key: new[key] for key in ("pid", "start", "log")}
            self.cluster.save()
            with open(self._pid_file(old), "w", encoding="utf-8") as file:  # kwokctl reads it in the end
                file.write(str(new["pid"]))
            self._killed.discard(name)

    def _keep(self):
        while not self._closing.wait(0.2):
            self._revive()

    def _revive(self):
        with self._lock:
            for one in list(self.cluster.control_plane):
                name = self._name(one)
                if name not in self._killed and not processes.alive(one):
                    self._let_go_of_lease(name)
                    self.start(name)

    def _let_go_of_lease(self, name):
        """Releases the lease of a component that has ended: its successor would wait until it expires."""
        try:
            self.cluster.api().call("DELETE", f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}")
        except (OSError, http.client.HTTPException, ApiError):
            pass  # there is none, or none answers: then it takes a little longer

    def wait_until_ready(self, timeout=60):
        def look():
            try:
                return self.cluster.api().get("/readyz") == "ok", "not ready"
            except (OSError, http.client.HTTPException, ApiError) as error:  # refused, or 500 while it starts
                return False, str(error)

        wait_for(look, "the API server to be ready again", timeout, interval=0.05)
        self._ports.close()

    def compact(self):
        """Makes etcd discard all but the newest revision, at once; returns that revision."""
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
        return next(one for one in self.cluster.control_plane if self._name(one) == name)

    def _etcd(self, verb, body):
        """etcd's API as JSON, through its gateway on the client port."""
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
