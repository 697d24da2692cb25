"""An image as an OCI archive: a tar of the image layout (opencontainers/image-spec 1.0, image-layout.md). Loaded by
`ctr images import`, `podman load`, `docker load` of version 25 and later, `skopeo copy oci-archive:...`.

Our part is the files of the layers, tools/images/files.py. go-containerregistry makes the image of them
(tools/controlplane/oci-archive). The same image gives the same bytes: one time for everything, sorted entries."""

import dataclasses
import datetime
import functools
import json
import os
import subprocess
import tempfile

from tools.base.console import Failure
from tools.base.tree import ROOT
from tools.controlplane import binaries
from tools.images import files


@dataclasses.dataclass(frozen=True)
class Image:
    reference: str  # as pods name it, for example nervex-webhook:0.1.0
    # Of lists of entries (tools.images.files), or of paths of tar files; what changes least comes first.
    layers: tuple
    entrypoint: tuple
    architecture: str = "amd64"
    user: str = "65532:65532"
    path: str = "/usr/bin"  # $PATH
    labels: dict = dataclasses.field(default_factory=dict)
    epoch: int = 0  # seconds since 1970: the time of everything in it

    @property
    def created(self):
        return timestamp(self.epoch)

    @property
    def entries(self):
        return [entry for layer in self.layers for entry in layer]


def timestamp(epoch):
    return datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def full_reference(reference):
    """With the registry that a runtime adds to a name without one."""
    first, _, rest = reference.partition("/")
    if rest and ("." in first or ":" in first or first == "localhost"):
        return reference
    return f"docker.io/{reference}" if rest else f"docker.io/library/{reference}"


@dataclasses.dataclass(frozen=True)
class Digests:
    archive: str  # the one to pull: of the manifest, or of the index of several
    manifests: tuple  # one for each image


@functools.lru_cache(maxsize=None)
def _program():
    """The path of oci-archive, built first if it is not in the cache: some seconds."""
    done = subprocess.run([os.path.join(ROOT, "scripts", "control-plane"), "--oci-archive"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(done.stderr.strip().removeprefix("error: ") or done.stdout.strip())
    return binaries.path("oci-archive", "--oci-archive")


def _layer_file(layer, epoch, path):
    """A layer that is a file already is used as it is."""
    if isinstance(layer, str):
        return layer
    with open(path, "wb") as file:
        files.write_tar(layer, epoch, file)
    return path


def _recipe(images, folder, compress):
    """What oci-archive reads. The tar files of the layers are written below `folder`."""
    reference = full_reference(images[0].reference)
    made = []
    for number, image in enumerate(images):
        # Layers that are files stay on this machine: they are not compressed.
        layers = [{"path": _layer_file(layer, image.epoch, os.path.join(folder, f"{number}-{place}.tar")),
                   "compress": compress and not isinstance(layer, str)} for place, layer in enumerate(image.layers)]
        made.append({"layers": layers, "config": {
            "architecture": image.architecture, "os": "linux", "created": image.created,
            "config": {"User": image.user, "Entrypoint": image.entrypoint, "Env": [f"PATH={image.path}"],
                       "Labels": image.labels, "WorkingDir": "/"}}})
    # The first is what containerd and Docker read, the second is the layout's own.
    names = {"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference.rpartition(":")[2]}
    return {"folder": os.path.join(folder, "layout"), "annotations": names, "images": made}


def write(images, path, compress=True):
    """One image for each architecture. Writes the whole file or nothing, and returns the Digests."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        recipe = _recipe(images, folder, compress)
        done = subprocess.run([_program()], input=json.dumps(recipe), capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{images[0].reference}: {done.stderr.strip()}")
        partial = os.path.join(folder, "archive.tar")
        with open(partial, "wb") as file:
            files.write_tar(files.stored(recipe["folder"]), images[0].epoch, file)
        os.replace(partial, path)
    digests = json.loads(done.stdout)
    return Digests(digests["archive"], tuple(digests["manifests"]))
