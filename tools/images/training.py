"""The image of examples/di-engine: Debian's Python and PyTorch, and DI-engine with what it needs. The lists of packages
are beside the example; this file says how they become an image. Kept in the cache.

python -m tools.images.training [ARCHIVE], called by scripts/training-image."""

import hashlib
import os
import shutil
import sys
import tempfile

from tools.base.console import Failure, say, step
from tools.base.tree import ROOT, cache
from tools.images import files, oci, rootfs, suite

LISTS = os.path.join(ROOT, "examples", "di-engine", "image")
DEBIAN = os.path.join(LISTS, "debian.txt")
REQUIREMENTS = os.path.join(LISTS, "requirements.txt")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# What training on CPUs does not use: 300 MB of manuals, translations, tests, headers, drivers of graphics cards.
UNUSED = ("usr/share/man", "usr/share/locale", "usr/lib/libtorch-test",
          "usr/lib/python3/dist-packages/torch/include", f"{LIBRARIES}/dri", f"{LIBRARIES}/libLLVM*",
          f"{LIBRARIES}/libz3.*")
# Links that the packages' scripts would make, as alternatives.
ALTERNATIVES = {f"{LIBRARIES}/libblas.so.3": "blas/libblas.so.3", f"{LIBRARIES}/liblapack.so.3": "lapack/liblapack.so.3"}


def reference():
    return f"di-engine:{rootfs.version_in(REQUIREMENTS, 'DI-engine')}"


def _key():
    found = hashlib.sha256()
    for path in (DEBIAN, REQUIREMENTS, __file__, rootfs.__file__):
        with open(path, "rb") as file:
            found.update(file.read())
    return found.hexdigest()[:12]


def provide():
    """The path of the archive, which is made if it is not in the cache: 300 MB to fetch, some three minutes."""
    path = os.path.join(cache(), "training", _key(), "image.tar")
    if os.path.exists(path):
        return path
    if suite.own_architecture() != "amd64":
        raise Failure("the image of examples/di-engine was made for amd64 only")
    parent = os.path.dirname(os.path.dirname(path))
    os.makedirs(parent, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        system, python = os.path.join(folder, "system"), os.path.join(folder, "python")
        with step("Debian packages, with PyTorch"):
            os.makedirs(system)
            fetched = rootfs.unpack_debian(rootfs.read_list(DEBIAN), system)
            rootfs.remove(system, UNUSED)
            for name, target in ALTERNATIVES.items():
                os.symlink(target, os.path.join(system, name))
            rootfs.compile_python(system)
        say(f"           {fetched / 1e6:.0f} MB fetched")
        with step("Python packages, with DI-engine"):
            os.makedirs(python)
            rootfs.install_python(REQUIREMENTS, python)
            rootfs.compile_python(python)
        with step("layers and archive"):
            layers = []
            for one in (system, python):
                rootfs.write_layer(one, one + ".tar", epoch=0)
                shutil.rmtree(one)
                layers.append(one + ".tar")
            own = [*suite.accounts(), files.Folder("tmp", 0o1777), files.Folder("shared")]
            made = oci.Image(reference(), (*layers, own), ("/usr/bin/python3",), path="/usr/local/bin:/usr/bin:/bin")
            for stale in os.listdir(parent):  # of other lists
                if stale != os.path.basename(folder):
                    shutil.rmtree(os.path.join(parent, stale), ignore_errors=True)
            oci.write([made], path, compress=False)
    return path


def main():
    archive = provide()
    if sys.argv[1:]:
        shutil.copyfile(archive, sys.argv[1])
        archive = sys.argv[1]
    say(f"{reference()}: {os.path.getsize(archive) / 1e6:.0f} MB, in {archive}. Load it with")
    say(f"  ctr --namespace k8s.io images import {archive}    or    podman load --input {archive}")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)
