"""What a cluster is made of and where its files are."""

import dataclasses
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@dataclasses.dataclass(frozen=True)
class Settings:
    name: str = "nervex"
    gpu_nodes: int = 4
    cpu_nodes: int = 4
    suite: bool = True
    bin: str = os.path.join(ROOT, "build", "dev", "bin")
    audit: bool = False  # the API server records what our accounts ask for
    audit_all: bool = False  # and everybody's writes
    measured: bool = False  # for bench/gang: native gangs, a quiet background, no default scheduler

    @staticmethod
    def from_environment(environment=os.environ):
        from tools.base.console import Failure

        def number(key, default):
            text = environment.get(key) or default
            if not re.fullmatch(r"\d{1,5}", text):
                raise Failure(f"{key} must be a number of nodes, not {text!r}")
            return int(text)

        name = environment.get("CLUSTER") or "nervex"
        if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?", name):
            raise Failure(f"CLUSTER must be lower-case letters, digits and dashes (42 at most), not {name!r}")
        suite = environment.get("SUITE") or "1"
        if suite not in ("0", "1"):
            raise Failure(f"SUITE must be 1 (start our programs) or 0 (do not), not {suite!r}")
        return Settings(name, number("GPU_NODES", "4"), number("CPU_NODES", "4"), suite == "1",
                        os.path.abspath(environment.get("NERVEX_BIN") or Settings.bin), environment.get("AUDIT") in ("1", "all"), environment.get("AUDIT") == "all")

    @property
    def folder(self):
        return os.path.join(ROOT, ".local", self.name)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)
