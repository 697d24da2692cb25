"""Starts a cluster, checks whether a running one is usable, and stops it."""

import contextlib
import fcntl
import os
import shutil
import time

from tools.base import processes
from tools.base.console import Failure, record_time, say, step, warn
from tools.base.tree import ROOT
from tools.cluster import control_plane, manifests, nodes, suite
from tools.cluster.cluster import Cluster
from tools.cluster.settings import Settings
from tools.controlplane import binaries


def lock_path(settings):
    return os.path.join(ROOT, ".local", f".{settings.name}.lock")


@contextlib.contextmanager
def locked(settings):
    """One `up` or `down` of a name at a time. `down` removes the file: a process that waited for it holds a lock on
    a deleted file and tries again."""
    path = lock_path(settings)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    told = False
    while True:
        with open(path, "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not told:
                    say(f"another run is at work on cluster {settings.name}: waiting for it")
                told = True
                fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                if os.stat(path).st_ino != os.fstat(lock.fileno()).st_ino:
                    continue
            except FileNotFoundError:
                continue
            yield
            return


def up(settings):
    begin = time.monotonic()
    with locked(settings):
        present = Cluster.load(settings.name)
        if present and not present.ready:  # we hold the lock: no other process works on it
            say(f"an earlier start of cluster {settings.name} was cut off: removing what it left")
            remove(present)
            present = None
        if present:
            return already_there(present, settings)
        if os.path.isdir(settings.folder):
            shutil.rmtree(settings.folder)  # left by a run that was killed before it wrote anything
        if settings.suite:
            suite.check_binaries(settings)
        cluster = Cluster(settings)
        os.makedirs(settings.path("logs"))
        say(f"cluster {settings.name}: {settings.gpu_nodes} nodes with 8 GPUs, {settings.cpu_nodes} without")
        try:
            build(cluster)
        except BaseException:
            keep = os.path.join(ROOT, ".local", f"{settings.name}.failed")
            say(f"cleaning up; the logs are kept in {keep}")
            shutil.rmtree(keep, ignore_errors=True)
            keep_logs(settings, keep)
            remove(cluster)
            os.unlink(lock_path(settings))
            raise
    seconds = time.monotonic() - begin
    record_time(f"  of it: start of cluster {settings.name}", seconds)
    say(f"cluster {settings.name} is ready after {seconds:.1f} s")
    say(f"  use it:  . {settings.path('env')}")
    say(f"  end it:  make down CLUSTER={settings.name}")
    return cluster


def build(cluster):
    settings = cluster.settings
    cluster.save()
    with step(f"control plane ({binaries.cluster_version()})"):
        cluster.control_plane = list(control_plane.create(settings).values())
        cluster.save()
    api = cluster.api()
    with step("simulated nodes, CRDs, roles"):
        nodes.add_nodes(api, settings)
        manifests.install_objects(api, settings)
    if settings.suite:
        with step("our programs and the second scheduler, each under its own ServiceAccount"):
            cluster.start_programs(api)
    with step("example AggregatorConfig"):
        manifests.install_aggregator(settings)
    if settings.suite:
        with step("webhook configurations, policies"):
            manifests.install_policies(api, settings)
            manifests.install_webhooks(
                api, settings, cluster.programs["webhook"]["url"], settings.path("webhook", "ca.crt"))
    with step("simulated nodes ready"):
        nodes.wait_for_nodes(api, settings.gpu_nodes + settings.cpu_nodes)
    cluster.write_env()
    cluster.ready = True
    cluster.save()


def already_there(present, settings):
    name = settings.name
    differences = [f"{key} is {old!r}, asked for {new!r}" for (key, old), new
                   in zip(vars(present.settings).items(), vars(settings).values()) if old != new]
    if differences:
        raise Failure(f"cluster {name} is there with other settings ({'; '.join(differences)}).\n"
                      f"Run 'make down CLUSTER={name}' first, or choose another name with CLUSTER=.")
    problems = present.problems()
    if problems:
        raise Failure(f"cluster {name} is there but not well:\n  " + "\n  ".join(problems)
                      + f"\nRun: make down CLUSTER={name} && make up CLUSTER={name}")
    say(f"cluster {name} is up already and well:  . {present.settings.path('env')}")
    for program in present.programs:
        path = suite.binary(present.settings, program)
        started = os.path.getmtime(f"/proc/{present.programs[program]['pid']}")
        if os.path.getmtime(path) > started:
            warn(f"{program} was built again since it was started: scripts/restart {program}")
    return present


def down(name, keep_failed=False):
    settings = Settings(name=name)
    with locked(settings):
        if not keep_failed:
            shutil.rmtree(settings.folder + ".failed", ignore_errors=True)
        cluster = Cluster.load(name)
        if not cluster and not os.path.isdir(settings.folder):
            say(f"there is no cluster {name}")
        else:
            remove(cluster or Cluster(settings))
            say(f"cluster {name} is gone")
        os.unlink(lock_path(settings))


def remove(cluster):
    settings = cluster.settings
    killed = processes.stop(list(cluster.programs.values()))
    for one in killed:
        warn(f"{one['program']} did not end within 10 s of SIGTERM and was killed")
    # a start that was cut off may not have recorded what kwokctl had started by then
    known = cluster.control_plane or list(control_plane.records(settings).values())
    control_plane.remove(settings, known)
    shutil.rmtree(settings.folder, ignore_errors=True)


def keep_logs(settings, folder):
    os.makedirs(folder, exist_ok=True)
    for path in [*control_plane.component_logs(settings),
                 *(entry.path for entry in os.scandir(settings.path("logs")))]:
        with contextlib.suppress(OSError):
            shutil.copy(path, folder)
