"""A real control plane with simulated nodes, by kwokctl: etcd, kube-apiserver, controller manager,
the default scheduler and kwok as local processes that listen on 127.0.0.1 only."""

import contextlib
import fcntl
import glob
import os
import subprocess
import tempfile

import yaml

from tools.base import processes
from tools.base.console import Failure
from tools.controlplane import binaries

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller")

# Feature gates of Kubernetes' own gangs, also those with a topology.
NATIVE_GANGS = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"

# What a control plane that is measured (bench/gang) has besides, and each of its schedulers is started by the
# benchmark.
MEASURED = {
    # Native gangs are an alpha API, off by default. Their PodGroups are kept from deletion by a finalizer, which
    # the controller manager takes away. Nodes are made Ready, 5,000 of them: they need no taint until they are, which
    # the controller manager would take from each.
    "kube-apiserver": {"feature-gates": NATIVE_GANGS,
                       "disable-admission-plugins": "TaintNodesByCondition", "delete-collection-workers": "8",
                       "runtime-config": "scheduling.k8s.io/v1alpha2=true"},
    # Its limit of 20 requests a second would delay the endpoints of a shared Service until after the round. One of the
    # controllers left out annotates each node again when their number passes 100, 500, 1,000 and 2,000; the benchmark
    # starts that of Jobs itself.
    "kube-controller-manager": {"controllers": "*,-ttl-controller,-job-controller",
                                "feature-gates": "GenericWorkload=true", "kube-api-qps": "5000",
                                "kube-api-burst": "10000", "node-monitor-grace-period": "24h"},
    # No leases: 5,000 nodes that renew theirs each 10 s are 500 writes a second beside those that are measured.
    "kwok-controller": {"node-lease-duration-seconds": "0"},
}


def kwokctl_environment(settings):
    """The environment with our kubectl first on the PATH: kwokctl uses the first one to wait for the cluster, and
    tries to download one if there is none."""
    path = os.pathsep.join([binaries.folder(), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "KWOK_WORKDIR": settings.path("kwok"), "KWOK_KUBE_VERSION": binaries.cluster_version()}


def kwokctl(settings, *arguments):
    log = settings.path("logs", "kwokctl.log")
    with open(log, "ab") as output:
        return subprocess.run(
            [binaries.path("kwokctl"), "--name", settings.name, *arguments],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=kwokctl_environment(settings),
            cwd=settings.folder).returncode


@contextlib.contextmanager
def ports_lock():
    """kwokctl looks for free ports in a fixed order: two runs at once would choose the same, or those of a component
    that is restarting."""
    with open(os.path.join(tempfile.gettempdir(), f"nervex-ports-{os.getuid()}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kwokctl_configuration(settings):
    # There is one of each. It is not restarted if it ends because a busy machine made it miss a renewal.
    alone = {"leader-elect": "false"}
    arguments = {
        "kube-controller-manager": dict(alone), "kube-scheduler": dict(alone),
        # Else it looks for the machine's address, and ends on one without a network. No test needs the endpoints
        # of the service "kubernetes".
        "kube-apiserver": {"advertise-address": "127.0.0.1", "endpoint-reconciler-type": "none"}}
    options = {"bindAddress": "127.0.0.1"}
    if settings.measured:
        for component, more in MEASURED.items():
            arguments.setdefault(component, {}).update(more)
        options["disableKubeScheduler"] = True
    return {"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokctlConfiguration", "options": options,
            "componentsPatches": [
                {"name": name, "extraArgs": [{"key": key, "value": value} for key, value in more.items()]}
                for name, more in arguments.items()]}


def simulated_logs(settings):
    """The log of every container on a simulated node, in the format of the container runtime interface: what a person
    who looks for a log needs to know."""
    path = settings.path("logs", "simulated-container.log")
    with open(path, "w", encoding="utf-8") as file:
        file.write("2026-01-01T00:00:00.000000000Z stdout F this node is simulated: no container runs, and no program logs\n")
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterLogs", "metadata": {"name": "simulated"},
            "spec": {"logs": [{"logsFile": path, "follow": True}]}}


def create(settings):
    """Returns the records of the control plane's processes."""
    config = settings.path("kwokctl.yaml")
    with open(config, "w", encoding="utf-8") as file:
        yaml.safe_dump_all([kwokctl_configuration(settings), simulated_logs(settings)], file)
    arguments = ["create", "cluster", "--runtime", "binary", "--wait", "60s",
                 "--kubeconfig", settings.path("kubeconfig"), "--config", ",".join([config, *binaries.stages()])]
    if settings.audit:
        arguments += ["--kube-audit-policy", audit_policy(settings)]
    for component in COMPONENTS:
        binary = "kwok" if component == "kwok-controller" else component
        arguments += [f"--{component}-binary", binaries.path(binary)]

    for attempt in range(3):
        if attempt:
            remove(settings, list(records(settings).values()))
        with ports_lock():
            if kwokctl(settings, *arguments) == 0:
                os.chmod(settings.path("kubeconfig"), 0o600)
                return records(settings)
    logs = [settings.path("logs", "kwokctl.log")]
    raise Failure("kwokctl could not create the cluster in three attempts", logs + component_logs(settings))


# Each write of each program. The simulated nodes' first one of a pod says when it started.
MEASURED_AUDIT = [
    {"level": "None", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]},
                                    {"group": "", "resources": ["nodes", "nodes/status"]}]},
    {"level": "Metadata", "verbs": ["create", "update", "patch", "delete"]},
    {"level": "None"},
]


def audit_policy(settings):
    """The file that makes the API server record every request of our ServiceAccounts, and with AUDIT=all each write
    of all clients, without bodies."""
    everybody = {"level": "Metadata", "userGroups": ["system:authenticated"],
                 "verbs": ["create", "update", "patch", "delete", "deletecollection"]}
    rules = MEASURED_AUDIT if settings.measured else [
        {"level": "Metadata", "userGroups": ["system:serviceaccounts:nervex-system"]},
        *([everybody] if settings.audit_all else []), {"level": "None"}]
    path = settings.path("audit-policy.yaml")
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
                        "rules": rules}, file, sort_keys=False)
    return path


def audit_log(settings):
    """One JSON object per line; only for a cluster started with `audit`."""
    return settings.path("kwok", "clusters", settings.name, "logs", "audit.log")


def component_logs(settings):
    return sorted(glob.glob(settings.path("kwok", "clusters", "*", "logs", "*.log")))


def is_ours(pid, settings):
    """An interrupted start may leave only pid files, whose numbers other processes may have by now: our programs
    have their cluster's folder on their command line."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsencode(settings.path("kwok")) in file.read()
    except OSError:
        return False


def records(settings):
    found = {}
    for path in glob.glob(settings.path("kwok", "clusters", "*", "pids", "*.pid")):
        component = os.path.basename(path)[:-len(".pid")]
        with open(path, encoding="utf-8") as file:
            text = file.read().strip()
        if text.isdigit() and is_ours(text, settings):
            found[component] = processes.record(
                int(text), os.path.join(os.path.dirname(os.path.dirname(path)), "logs", component + ".log"))
    return found


def remove(settings, known):
    """Ends what we know by pid and start time, then lets kwokctl clean up. Removes its pid files first: it would
    signal processes that have these numbers now."""
    processes.stop(known, patience=0.5)  # nothing of it is kept, so nothing needs a long goodbye
    for path in glob.glob(settings.path("kwok", "clusters", "*", "pids", "*.pid")):
        os.unlink(path)
    if os.path.isdir(settings.path("kwok")):
        kwokctl(settings, "delete", "cluster", "--kubeconfig", settings.path("kubeconfig"))
