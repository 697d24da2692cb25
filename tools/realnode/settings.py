"""What a node is made of, and where its files are."""

import dataclasses
import os
import re

from tools.base.console import Failure
from tools.base.tree import ROOT

ADDRESS = "172.31.250.2"  # of the node, in its own network
PEER = "172.31.250.1"
PREFIX = 30
PODS = "10.244.0.0/24"
SERVICES = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"  # the first of SERVICES: that of the API server
DNS = "10.96.0.10"
DOMAIN = "cluster.local"
# Nodes that kwok plays beside the real one: this annotation makes a node one of them, their pods have such addresses.
SIMULATED = ("kwok.x-k8s.io/node", "fake")
SIMULATED_PODS = "10.245.0.0/16"


@dataclasses.dataclass(frozen=True)
class Settings:
    name: str = "real-node"
    gpu_nodes: int = 0  # simulated ones, beside it
    cpu_nodes: int = 0

    @staticmethod
    def from_environment(environment=os.environ):
        def number(key):
            text = environment.get(key) or "0"
            if not re.fullmatch(r"\d{1,4}", text):
                raise Failure(f"{key} must be a number of nodes, not {text!r}")
            return int(text)

        name = environment.get("NODE") or "real-node"
        if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?", name):
            raise Failure(f"NODE must be lower-case letters, digits and dashes (42 at most), not {name!r}")
        return Settings(name, number("GPU_NODES"), number("CPU_NODES"))

    @property
    def folder(self):
        return os.path.join(ROOT, ".local", self.name)

    @property
    def cgroup(self):
        """Below the root of each hierarchy."""
        return f"nervex-{self.name}"

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def log(self, program):
        return self.path("logs", f"{program}.log")

    def pki(self, name):
        return self.path("pki", name)
