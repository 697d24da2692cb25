"""Which processes, containers and mounts are in a node's namespaces?"""

import contextlib
import os

from tools.base import processes


def first_processes(settings):
    """The process that made the node's namespaces, and the first one inside. Searched, not read from a file: the
    starter may have been killed before it wrote one."""
    mark, found = f"NODE_FOLDER={settings.folder}".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as environment:
            if mark in environment.read().split(b"\0"):
                found.append(processes.record(int(pid), ""))
    return found


def pid_namespace(pid):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/pid")
    return None


def members(inode):
    """The processes of a pid namespace."""
    return [name for name in os.listdir("/proc") if name.isdigit() and inode and pid_namespace(name) == inode]


def containers(inode, cgroup):
    """Records of the processes in the node's containers, and of their shims."""
    found = []
    for pid in members(inode):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as comm, \
                open(f"/proc/{pid}/cgroup", encoding="utf-8") as groups:
            if comm.read().startswith("containerd-shim") or f"/{cgroup}/" in groups.read():
                found.append(processes.record(int(pid), ""))
    return [one for one in found if processes.alive(one)]


def mounts_below(folder):
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return [line.split()[4] for line in file if line.split()[4].startswith(folder + "/")]
