"""The cluster of a test run: a new one, a running one, or a user's."""

import os
import re
import shutil

from tools.base.console import Failure
from tools.base.tree import ROOT
from tools.cluster import lifecycle
from tools.cluster.cluster import Cluster
from tools.cluster.settings import Settings


def read_env(path):
    """The `export NAME=value` lines of .local/<name>/env."""
    values = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = re.fullmatch(r"export (\w+)=(.*)\n?", line)
            if match:
                values[match[1]] = match[2].strip("'\"")
    return values


class OwnCluster:
    """Started for this run by the code behind scripts/up, and stopped at its end."""

    def __init__(self, name):
        remove_left_overs()
        self.cluster = lifecycle.up(Settings.from_environment({**os.environ, "CLUSTER": name, "SUITE": "1", "AUDIT": "1"}))
        self.kubeconfig = self.cluster.settings.path("kubeconfig")

    @property
    def env(self):
        return read_env(self.cluster.settings.path("env"))

    def logs(self):
        """{program: path} of our programs and the second scheduler."""
        return {name: one["log"] for name, one in self.cluster.programs.items()}

    def close(self, failed):
        name = self.cluster.settings.name
        if failed:
            kept = os.path.join(ROOT, ".local", "e2e-logs")
            shutil.rmtree(kept, ignore_errors=True)
            lifecycle.keep_logs(self.cluster.settings, kept)
            print(f"\nthe programs' logs are kept in {kept}")
        if os.environ.get("KEEP") == "1":
            print(f"\nKEEP=1: cluster {name} stays up: make down CLUSTER={name}")
        else:
            lifecycle.down(name)


class RunningCluster(OwnCluster):
    """One that `make up` started (NERVEX_E2E_CLUSTER=<name>): used and not stopped."""

    def __init__(self, name):
        self.cluster = Cluster.load(name)
        if not self.cluster:
            raise Failure(f"NERVEX_E2E_CLUSTER={name}: there is no such cluster (make up CLUSTER={name})")
        self.kubeconfig = self.cluster.settings.path("kubeconfig")

    def close(self, failed):
        pass


class UsersCluster:
    """A user's cluster where the suite is installed (NERVEX_E2E_KUBECONFIG=<file>). Addresses come from variables of
    the same names as in .local/<name>/env, for example after kubectl port-forward."""

    cluster = None

    def __init__(self, kubeconfig):
        self.kubeconfig = kubeconfig

    @property
    def env(self):
        return {"KUBECONFIG": self.kubeconfig,
                **{key: value for key, value in os.environ.items() if key.startswith("NERVEX_")}}

    def logs(self):
        return {}

    def close(self, failed):
        pass


def remove_left_overs():
    """Removes clusters of killed test runs: their name holds the pid of a process that no longer exists."""
    folder = os.path.join(ROOT, ".local")
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        match = re.fullmatch(r"nervex-test-(\d+)(-\w+)?", name)
        if match and not os.path.exists(f"/proc/{match[1]}"):
            lifecycle.down(name)


def choose(worker):
    if os.environ.get("NERVEX_E2E_KUBECONFIG"):
        return UsersCluster(os.environ["NERVEX_E2E_KUBECONFIG"])
    if os.environ.get("NERVEX_E2E_CLUSTER"):
        return RunningCluster(os.environ["NERVEX_E2E_CLUSTER"])
    return OwnCluster(f"nervex-test-{os.getpid()}" + (f"-{worker}" if worker else ""))
