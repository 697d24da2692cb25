"""What a node could leave behind on the machine, as a value: compared before and after."""

import glob
import os

SYSCTLS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
           "kernel/keys/root_maxbytes", "net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables")


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
    """In every hierarchy, also those that nobody thought of."""
    found = glob.glob(f"/sys/fs/cgroup/{settings.cgroup}") + glob.glob(f"/sys/fs/cgroup/*/{settings.cgroup}")
    return sorted(found)


def of_machine(settings):
    return {"links": links(), "mounts": mounts(settings), "programs": programs(settings),
            "cgroups": cgroups(settings), "files": os.path.exists(settings.folder),
            "sysctls": {name: read(f"/proc/sys/{name}") for name in SYSCTLS}}
