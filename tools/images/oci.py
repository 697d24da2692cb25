"""An image as an OCI archive: a tar of the image layout (opencontainers/image-spec 1.0, image-layout.md). Loaded by
`ctr images import`, `podman load`, `docker load` of version 25 and later, `skopeo copy oci-archive:...`.

The same image gives the same bytes: one time for everything, sorted entries, gzip without a time."""

import dataclasses
import datetime
import gzip
import hashlib
import json
import os

from tools.images import files

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


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


def encode(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def digest(data):
    """Of bytes, or of the file of that path."""
    if isinstance(data, bytes):
        return "sha256:" + hashlib.sha256(data).hexdigest()
    found = hashlib.sha256()
    with open(data, "rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return "sha256:" + found.hexdigest()


def descriptor(media_type, data, **more):
    size = len(data) if isinstance(data, bytes) else os.path.getsize(data)
    return {"mediaType": media_type, "digest": digest(data), "size": size, **more}


def pack(layer, compress):
    """Bytes, or the path of a file. A layer that is a file already is not compressed: it stays on this machine."""
    return gzip.compress(layer, 6, mtime=0) if compress and isinstance(layer, bytes) else layer


def blobs(image, compress=True):
    """({digest: bytes or path}, descriptor of the manifest)"""
    tars = [layer if isinstance(layer, str) else files.tar(layer, image.epoch) for layer in image.layers]
    packed = [pack(one, compress) for one in tars]
    layers = [descriptor(LAYER if one is plain else LAYER + "+gzip", one) for one, plain in zip(packed, tars)]
    contents = [layer["digest"] if one is plain else digest(plain) for layer, one, plain in zip(layers, packed, tars)]
    config = encode({
        "architecture": image.architecture, "os": "linux", "created": image.created,
        "config": {"User": image.user, "Entrypoint": list(image.entrypoint), "Env": [f"PATH={image.path}"],
                   "Labels": image.labels, "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": contents},
        "history": [{"created": image.created, "created_by": "scripts/images"} for _ in tars]})
    manifest = encode({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(CONFIG, config),
        "layers": layers, "annotations": image.labels})
    found = {**{layer["digest"]: one for layer, one in zip(layers, packed)},
             **{digest(one): one for one in (config, manifest)}}
    return found, descriptor(MANIFEST, manifest)


def archive(image, compress=True):
    """(the bytes of the archive, the manifest's digest)"""
    return archive_of((image,), compress)


def archive_of(images, compress=True):
    """One image for several architectures: (the bytes of the archive, the digest to pull)."""
    entries, name = layout(images, compress)
    return files.tar(entries, images[0].epoch), name


def layout(images, compress=True):
    """(the files of the archive, the digest to pull). That is an index of the images' manifests, or the manifest if
    there is only one."""
    found, manifests = {}, []
    for image in images:
        more, manifest = blobs(image, compress)
        found.update(more)
        manifests.append({**manifest, "platform": {"architecture": image.architecture, "os": "linux"}})
    first = images[0]
    top = manifests[0]
    if len(images) > 1:
        index = encode({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})
        top = descriptor(INDEX, index)
        found[digest(index)] = index
    reference = full_reference(first.reference)
    names = encode({"schemaVersion": 2, "mediaType": INDEX, "manifests": [{
        **top,
        # The first is what containerd and Docker read, the second is the layout's own.
        "annotations": {"io.containerd.image.name": reference,
                        "org.opencontainers.image.ref.name": reference.rpartition(":")[2]}}]})
    entries = [files.File("oci-layout", encode({"imageLayoutVersion": "1.0.0"})), files.File("index.json", names)]
    for name, data in found.items():
        kind = files.File if isinstance(data, bytes) else files.Stored
        entries.append(kind("blobs/" + name.replace(":", "/"), data))
    return entries, top["digest"]


def write(image, path, compress=True):
    """Returns the manifest's digest. Writes the whole file or nothing."""
    return write_all((image,), path, compress)


def write_all(images, path, compress=True):
    """The same for one image for several architectures."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    entries, name = layout(images, compress)
    partial = path + ".partial"
    with open(partial, "wb") as file:
        files.write_tar(entries, images[0].epoch, file)
    os.replace(partial, path)
    return name
