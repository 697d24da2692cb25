"""Starts a node, and ends it with all that it left."""

import contextlib
import fcntl
import os
import shutil
import signal
import time

from tools.base import processes
from tools.base.console import Failure, say, step, wait_for
from tools.realnode import cgroups, images, machine, namespaces, simulated
from tools.realnode.node import FIRST, HERE, THEN, Node


def up(settings):
    """Starts it and returns when its node is ready and names resolve."""
    lacking = machine.lacks()
    if lacking:
        raise Failure(machine.cannot(lacking))
    os.makedirs(os.path.dirname(settings.folder), exist_ok=True)
    with locked(settings):
        present = Node.load(settings)
        if present and present.alive and present.ready:
            say(f"node {settings.name} is up already")
            simulated.add(present, settings.gpu_nodes, settings.cpu_nodes)
            return present
        if present or os.path.isdir(settings.folder) or cgroups.left(settings.cgroup):
            remove(settings)
        shutil.rmtree(settings.folder + ".failed", ignore_errors=True)
        try:
            return _up(settings)
        except BaseException:
            keep_logs(settings)
            remove(settings)
            raise


def _up(settings):
    begin = time.monotonic()
    node = Node(settings)
    with step("certificates and settings"):
        os.makedirs(settings.folder)
        node.write_files()
    archives = images.write(images.of_the_node(), settings.path("images"))
    with step("namespaces without a way out, cgroups"):
        cgroups.make(settings.cgroup)
        node.make_namespaces()
    with step("etcd, API server, containerd"):
        for program in FIRST:
            node.start(program)
        node.wait(node.containerd_serving, "containerd to answer", 30)
        node.load_images(archives)
        node.wait(node.serving, "the API server to be ready", 60)
    with step("kubelet, kube-proxy, controller manager, scheduler: node ready"):
        for program in THEN:
            node.start(program)
        node.kubectl("apply", "-f", os.path.join(HERE, "coredns.yaml"))
        node.wait(node.node_ready, f"node {settings.name} to be ready", 60)
    with step("CoreDNS, as a pod of it"):
        node.wait(node.dns_ready, "CoreDNS to be ready", 90)
    simulated.add(node, settings.gpu_nodes, settings.cpu_nodes)
    node.ready = True
    node.save()
    say(f"node {settings.name} is up after {time.monotonic() - begin:.1f} s")
    return node


@contextlib.contextmanager
def locked(settings):
    """One at a time per node. The file is deleted with the node, so a process that waited may hold a deleted one,
    and then locks the new one."""
    while True:
        with open(lock_file(settings), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_file(lock, lock_file(settings)):
                yield
                return


def lock_file(settings):
    return settings.folder + ".lock"


def _is_file(opened, path):
    try:
        return os.path.samestat(os.fstat(opened.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def down(settings, keep=False):
    """`keep`: keeps its logs, in .local/<name>.failed/."""
    os.makedirs(os.path.dirname(settings.folder), exist_ok=True)
    with locked(settings):
        shutil.rmtree(settings.folder + ".failed", ignore_errors=True)
        if keep:
            keep_logs(settings)
        there = os.path.isdir(settings.folder) or cgroups.left(settings.cgroup)
        remove(settings)
        say(f"node {settings.name} is gone" if there else f"there is no node {settings.name}")
        os.unlink(lock_file(settings))


def keep_logs(settings):
    folder = settings.folder + ".failed"
    os.makedirs(folder, exist_ok=True)
    with contextlib.suppress(OSError):
        for entry in os.scandir(settings.path("logs")):
            shutil.copy(entry.path, folder)


def remove(settings):
    """SIGKILL to the first process of its pid namespace kills every other; then what remains outside is removed."""
    first = namespaces.first_processes(settings)
    inside = {namespaces.pid_namespace(one["pid"]) for one in first} - {namespaces.pid_namespace("self")}
    for process in first:
        processes.send(process, signal.SIGKILL)
        processes.wait_for_end(process)

    def left():
        found = [pid for inode in inside for pid in namespaces.members(inode)]
        return not found, found
    wait_for(left, "every process of the node to end", 20)
    cgroups.remove(settings.cgroup)
    mounts = namespaces.mounts_below(settings.folder)
    if mounts:
        raise Failure(f"still mounted below {settings.folder}: {', '.join(mounts)}")
    shutil.rmtree(settings.folder, ignore_errors=True)
    if os.path.isdir(settings.folder):
        raise Failure(f"{settings.folder} could not be removed")
