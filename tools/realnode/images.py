"""Images of what runs as pods beside our own programs: the pause process, CoreDNS, kube-scheduler, cert-manager. One
static program each, made by tools.images like ours."""

import os
import re

from tools.base.console import Failure
from tools.base.tree import ROOT
from tools.controlplane import binaries
from tools.images import files, oci
from tools.realnode import config

COREDNS = "localhost/nervex-coredns:1"
CERT_MANAGER = "localhost/cert-manager-{part}:1"


def kube_scheduler():
    """Named as in the manifests, so that they can be applied unchanged."""
    with open(os.path.join(ROOT, "manifests", "images", "kustomization.yaml"), encoding="utf-8") as file:
        found = re.search(r"^- name: kube-scheduler\n  newName: (\S+)\n  newTag: (\S+)", file.read(), re.MULTILINE)
    if not found:
        raise Failure("manifests/images/kustomization.yaml names no kube-scheduler")
    return f"{found[1]}:{found[2]}"


def of_program(reference, path, name=None, user="65532:65532"):
    name = name or os.path.basename(path)
    content = files.copy(path, f"usr/bin/{name}", 0o755)
    accounts = files.File("etc/passwd", b"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")
    return oci.Image(reference, ((accounts, files.Folder("tmp", 0o1777), content),), (f"/usr/bin/{name}",), user=user,
                     architecture="arm64" if os.uname().machine == "aarch64" else "amd64")


def of_the_node():
    """The images of every node."""
    tools, programs = binaries.folder("--node"), binaries.folder()
    return (of_program(config.PAUSE, f"{tools}/pause"), of_program(COREDNS, f"{tools}/coredns"),
            of_program(kube_scheduler(), f"{programs}/kube-scheduler"))


def of_cert_manager():
    folder = binaries.folder("--cert-manager")
    return tuple(of_program(CERT_MANAGER.format(part=part), f"{folder}/cert-manager-{part}")
                 for part in ("controller", "cainjector"))


def write(images, folder):
    """Writes archives of them, uncompressed, since they stay on this machine. Returns their paths."""
    paths = []
    for image in images:
        path = os.path.join(folder, re.sub(r"[^a-z0-9.-]", "_", image.reference) + ".tar")
        if not os.path.exists(path):
            oci.write([image], path, compress=False)
        paths.append(path)
    return paths
