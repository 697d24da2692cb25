"""Can this machine run a real node? Tried, not guessed: the namespaces are made, a link, a bridge, rules and an overlay
in them, and everything goes with them."""

import os
import shutil
import subprocess

from tools.base.console import say
from tools.realnode import cgroups, packages

# The status of `scripts/real-node check` on a machine that cannot; scripts/test knows it, too.
CANNOT = 3
# Each line: what a person is told, and the commands that must work. Run in new namespaces.
TRIALS = (
    ("a proc file system in a pid namespace", "mount -t proc proc /proc"),
    ("a tmpfs", "mount -t tmpfs tmpfs /run"),
    ("overlayfs, on which containers have their files",
     "mkdir -p /run/lower /run/upper /run/work /run/all && "
     "mount -t overlay overlay -o lowerdir=/run/lower,upperdir=/run/upper,workdir=/run/work /run/all"),
    ("a veth pair", "ip link set lo up && ip link add try0 type veth peer name try1"),
    ("a network bridge", "ip link add try2 type bridge"),
    ("the module br_netfilter", "echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables"),
    ("writable settings of the network (net.ipv4.ip_forward)", "echo 1 >/proc/sys/net/ipv4/ip_forward"),
    ("nftables with address translation, for Services",
     "nft 'add table ip try; add map ip try m { type ipv4_addr . inet_proto . inet_service : verdict ; }; "
     "add chain ip try c { type nat hook prerouting priority -100 ; }; "
     "add chain ip try d { type nat hook postrouting priority 100 ; }; "
     "add rule ip try c ip daddr . meta l4proto . th dport vmap @m; "
     "add rule ip try c meta l4proto tcp dnat to 10.0.0.1:80; add rule ip try d masquerade fully-random'"),
)


def script():
    lines = [f"({commands}) >/dev/null 2>&1 || echo '{what}'" for what, commands in TRIALS]
    return "mount --make-rprivate /\n" + "\n".join(lines)


def basics():
    """Missing requirements for any further check."""
    if os.geteuid() != 0:
        return ["root rights"]
    needed = ["unshare", "nsenter", "mount", "openssl", *(("apt-get", "dpkg-deb") if packages.missing() else ())]
    return [f"the program {one}" for one in needed if not shutil.which(one)]


def problems():
    """Missing requirements of the machine, in words for users; empty if none. Needs packages.provide()."""
    lacking = basics()
    if lacking:
        return lacking
    _load_module("br_netfilter")
    _load_module("overlay")
    root = packages.root()
    done = subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "bash", "-c", script()],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment(root))
    if done.returncode != 0 and not done.stdout.strip():
        return [f"namespaces of its own ({done.stderr.strip()})"]
    return [*done.stdout.splitlines(), *cgroups.problems()]


def lacks():
    """The same without preparations. A Failure means unknown, for example because a package could not be fetched."""
    lacking = basics()
    if lacking:
        return lacking
    packages.provide()
    return problems()


def cannot(lacking):
    return "this machine cannot run a real node; it lacks:\n  " + "\n  ".join(lacking)


def check():
    """Prints whether it can; returns the status."""
    lacking = lacks()
    say(cannot(lacking) if lacking else "this machine can run a real node")
    return CANNOT if lacking else 0


def _load_module(name):
    """Loads modules that the kernel has as files; built-in ones need no loading."""
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", "--quiet", name], capture_output=True)


def environment(root):
    """The environment of everything in the node: nothing from the caller, above all no proxy."""
    path = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
    return {"PATH": ":".join([f"{root}{one}" for one in path] + ["/usr/local/sbin", "/usr/local/bin", *path]),
            "LD_LIBRARY_PATH": packages.libraries(root), "HOME": "/root", "LC_ALL": "C.UTF-8"}
