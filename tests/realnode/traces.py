"""What a node could leave behind on the machine, as a value: compared before and after. Two things stay on purpose, since
others may use them by then (README.md): kernel modules, and on cgroup v2 the controllers of the root's children."""

import glob
import os

from tools.realnode import cgroups as of_node

SYSCTLS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
           "kernel/keys/root_maxbytes", "net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables")
# Where programs of a node have their files by default: it gives them private ones.
FOLDERS = ("/etc/cni", "/etc/kubernetes", "/opt/cni", "/run/containerd", "/run/netns", "/usr/libexec/kubernetes",
           "/var/lib/cni", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/containers", "/var/log/pods")


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return None


def links():
    return sorted(name for name in os.listdir("/sys/class/net"))


def mounts(settings):
    """Of the node's folder and cgroup: others may mount what they like meanwhile."""
    return [line.split()[4] for line in read("/proc/self/mountinfo").splitlines()
            if settings.folder in line or settings.cgroup in line]


def programs(settings):
    """Processes whose command line names the node's folder, or that are of its cgroup."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        words = (read(f"/proc/{pid}/cmdline") or "").replace("\0", " ")
        if f"{settings.folder}/" in words or f"/{settings.cgroup}" in (read(f"/proc/{pid}/cgroup") or ""):
            found.append(words)
    return found


def cgroups(settings):
    """Searches every hierarchy, including unexpected ones."""
    found = glob.glob(f"/sys/fs/cgroup/{settings.cgroup}") + glob.glob(f"/sys/fs/cgroup/*/{settings.cgroup}")
    return sorted(found)


def files(settings):
    """But not .failed, which is kept for people."""
    return [path for path in (settings.folder, settings.folder + ".lock", *FOLDERS) if os.path.exists(path)]


def controllers():
    """Of version 2, for children of the root: no others than a node needs."""
    return sorted(set((read(f"{of_node.ROOT}/cgroup.subtree_control") or "").split()) - set(of_node.WANTED))


def of_machine(settings):
    return {"links": links(), "mounts": mounts(settings), "programs": programs(settings), "cgroups": cgroups(settings),
            "controllers": controllers(), "files": files(settings),
            "sysctls": {name: read(f"/proc/sys/{name}") for name in SYSCTLS}}


def left(before, settings):
    """{what: (before, now)} of what differs. A setting that came with a kernel module is none that was changed."""
    now = of_machine(settings)
    now["sysctls"] = {name: value for name, value in now["sysctls"].items() if before["sysctls"][name] is not None}
    was = {**before, "sysctls": {name: value for name, value in before["sysctls"].items() if value is not None}}
    return {what: (was[what], now[what]) for what in now if was[what] != now[what]}
