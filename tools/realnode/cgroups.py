"""Where the node's pods are counted: one folder in each hierarchy (cgroup v1), or one in the single one (v2). The
kubelet makes those of the pods below it."""

import contextlib
import os
import time

from tools.base.console import Failure

ROOT = "/sys/fs/cgroup"
NEEDED = ("cpu", "cpuset", "memory", "pids")
# Of v2: what the kubelet wants below its root if the machine's root has it, and what containerd counts.
WANTED = (*NEEDED, "hugetlb", "io")
# Of v1: what runc and the kubelet put pods into, as far as the machine has it. "systemd" is a hierarchy by name only,
# "unified" a v2 one beside those of v1, without controllers.
V1 = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "hugetlb", "perf_event", "net_cls",
      "net_prio", "systemd", "unified")


def version():
    """2 if there is the single hierarchy, 1 if there are several, 0 if there is none."""
    if os.path.exists(os.path.join(ROOT, "cgroup.controllers")):
        return 2
    return 1 if os.path.isdir(os.path.join(ROOT, "memory")) else 0


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def problems():
    """Reasons why pods cannot be counted here; empty if they can."""
    if version() == 2:
        have = read(os.path.join(ROOT, "cgroup.controllers")).split()
        lacking = [one for one in NEEDED if one not in have]
        if lacking:
            return [f"cgroup v2 without the controllers {', '.join(lacking)}"]
        try:
            _enable(ROOT)
        except OSError as error:
            return [f"cgroup v2: {ROOT}/cgroup.subtree_control cannot be written ({error.strerror}): in a container, "
                    "start it with the cgroup namespace of its host"]
        return []
    if version() == 1:
        lacking = [one for one in (*NEEDED, "devices", "freezer") if not os.path.isdir(os.path.join(ROOT, one))]
        return [f"cgroup v1 without {', '.join(lacking)}"] if lacking else []
    return [f"no cgroups are mounted on {ROOT}"]


def _enable(folder):
    """Enables the controllers for children of the folder. Those of the root are often enabled already."""
    have = read(os.path.join(folder, "cgroup.controllers")).split()
    enabled = read(os.path.join(folder, "cgroup.subtree_control")).split()
    wanted = [one for one in WANTED if one in have and one not in enabled]
    if wanted:
        write(os.path.join(folder, "cgroup.subtree_control"), " ".join("+" + one for one in wanted))


def folders(name):
    if version() == 2:
        return [os.path.join(ROOT, name)]
    return [os.path.join(ROOT, one, name) for one in V1 if os.path.isdir(os.path.join(ROOT, one))]


def make(name):
    for folder in folders(name):
        os.makedirs(folder, exist_ok=True)
        parent = os.path.dirname(folder)
        if version() == 2:
            _enable(parent)
            _enable(folder)
        elif os.path.basename(parent) == "cpuset":  # a new one is empty, and then nothing can be put into it
            for file in ("cpuset.cpus", "cpuset.mems"):
                write(os.path.join(folder, file), read(os.path.join(parent, file)))


def left(name):
    return [folder for folder in folders(name) if os.path.isdir(folder)]


def remove(name, timeout=20.0):
    """Call after every process in them has ended; the kernel may take a moment to notice that."""
    deadline = time.monotonic() + timeout
    while True:
        for folder in left(name):
            for where, _folders, _files in os.walk(folder, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(where)
        if not left(name):
            return
        if time.monotonic() > deadline:
            raise Failure(f"these cgroups could not be removed: {', '.join(left(name))}")
        time.sleep(0.05)
