"""Where scripts/control-plane puts the Kubernetes programs that it builds, and which version they are."""

import functools
import os
import subprocess

from tools.base.console import Failure
from tools.base.tree import ROOT

MODULES = os.path.join(ROOT, "tools", "controlplane")


@functools.lru_cache(maxsize=None)
def folder(option=None):
    """The folder of the control plane, or of the set that an option of scripts/control-plane names: "--node",
    "--operator", ..."""
    command = [os.path.join(ROOT, "scripts", "control-plane"), *([option] if option else []), "--print-dir"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def path(name, option=None):
    return os.path.join(folder(option), name)


def kubectl_for_manifests():
    """$KUBECTL, or the pinned one: other versions write the same objects differently."""
    return os.environ.get("KUBECTL") or path("kubectl")


def helm():
    """$HELM, or the pinned one."""
    return os.environ.get("HELM") or path("helm", "--helm")


def kubernetes_version():
    """The pinned one."""
    with open(os.path.join(MODULES, "kubernetes", "go.mod"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[:1] == ["k8s.io/kubernetes"]:
                return words[1]
    raise Failure("tools/controlplane/kubernetes/go.mod names no k8s.io/kubernetes")


@functools.lru_cache(maxsize=None)
def cluster_version():
    """That of the programs which clusters run: another one with NERVEX_CONTROL_PLANE_BIN."""
    said = subprocess.run([path("kube-apiserver"), "--version"], check=True, capture_output=True, text=True).stdout
    return said.split()[-1]


def stages():
    """The files that define the actions of kwok's simulated kubelets."""
    found = os.path.join(MODULES, "stages")
    return [os.path.join(found, name) for name in sorted(os.listdir(found)) if name.endswith(".yaml")]
