"""containerd, runc, CNI plugins, nft and ip: Debian's packages, unpacked into the cache. They are not installed, so
no service of theirs is started, and a Docker that is there stays as it is."""

import hashlib
import os
import shutil
import tempfile

from tools.base import apt
from tools.base.console import Failure, step
from tools.base.tree import cache

# With the libraries that they need, as far as not every Debian machine has them.
NAMES = (
    "containerd", "runc", "libseccomp2", "containernetworking-plugins",
    "nftables", "libnftables1", "libnftnl11", "libmnl0", "libxtables12", "libjansson4", "libedit2", "libgmp10",
    "libbsd0", "libmd0", "libtinfo6",
    "iproute2", "libbpf1", "libelf1", "libcap2", "zlib1g",
)
PROGRAMS = ("usr/bin/containerd", "usr/bin/containerd-shim-runc-v2", "usr/bin/ctr", "usr/sbin/runc", "usr/sbin/nft",
            "usr/lib/cni/bridge", "usr/lib/cni/host-local", "usr/lib/cni/loopback")


def root():
    """The folder they are (or would be) unpacked in."""
    key = hashlib.sha256(" ".join(NAMES).encode()).hexdigest()[:12]
    return os.path.join(cache(), "node", f"packages-{key}")


def missing():
    return [one for one in PROGRAMS if not os.access(os.path.join(root(), one), os.X_OK)]


def provide():
    if not missing():
        return
    parent = os.path.dirname(root())
    os.makedirs(parent, exist_ok=True)
    with step(f"unpack {len(NAMES)} Debian packages (containerd, runc, CNI plugins, nft) into the cache"), \
            tempfile.TemporaryDirectory(dir=parent) as folder:
        apt.get(folder, "download", *NAMES)
        tree = os.path.join(folder, "root")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".deb"):
                apt.run(folder, "dpkg-deb", "--extract", name, tree)
        shutil.rmtree(root(), ignore_errors=True)
        os.rename(tree, root())
    if missing():
        raise Failure(f"not in the packages: {', '.join(missing())}")


def libraries(folder):
    """For LD_LIBRARY_PATH: the library folders of the unpacked packages."""
    triplet = f"{os.uname().machine}-linux-gnu"
    return f"{folder}/usr/lib/{triplet}:{folder}/lib/{triplet}"
