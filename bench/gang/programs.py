"""The programs of a side: started for its round and ended after it, so that no side pays for another's watches, and
what they used in between."""

import dataclasses
import os
import time

import yaml
from tools.base import processes, usage
from tools.base.console import Failure, wait_for
from tools.cluster import control_plane, manifests, suite, training_operator
from tools.controlplane import binaries

NAMESPACE = "bench-gang"
# Components of the control plane that are measured, and how they are called.
WATCHED = {"kube-apiserver": "apiserver", "etcd": "etcd", "kube-controller-manager": "controller-manager"}
SCHEDULER = "default-scheduler"  # the name that pods are for who say nothing
# Requests a second to the API server. As shipped a scheduler binds 50 pods a second, and a controller sends 20 requests.
UNLIMITED = {"qps": 5000, "burst": 10000}
SHIPPED = {}
SCHEDULER_ROLES = ("system:kube-scheduler", "system:volume-scheduler", f"{NAMESPACE}-podgroups")
CONTROLLER_ROLES = ("cluster-admin",)
COSCHEDULING = {"schedulerName": SCHEDULER,
                "plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                            "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]}},
                # Its own manifest's value.
                "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}]}


def install_accounts(settings, accounts):
    """A ServiceAccount for each peer: {name: roles}."""
    objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
               {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": f"{NAMESPACE}-podgroups"},
                "rules": [{"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups", "podgroups/status"],
                           "verbs": ["get", "list", "watch", "patch", "update"]}]}]
    for name, roles in accounts.items():
        objects.append({"apiVersion": "v1", "kind": "ServiceAccount",
                        "metadata": {"name": name, "namespace": NAMESPACE}})
        for role in roles:
            objects.append({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                            "metadata": {"name": f"{NAMESPACE}-{name}-{role.replace(':', '-')}"},
                            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}]})
    manifests.apply(settings, objects)


def kubeconfig_of(cluster, account):
    path = cluster.settings.path("peers", f"{account}.kubeconfig")
    if not os.path.exists(path):
        suite.account_kubeconfig(cluster.api(), NAMESPACE, account, path)
    return path


class Together:
    """Several programs, started in this order."""

    def __init__(self, *parts):
        self._parts = parts

    def start(self):
        for one in self._parts:
            one.start()

    def stop(self):
        for one in self._parts:
            one.stop()

    def running(self):
        return {program: pid for one in self._parts for program, pid in one.running().items()}


class Peer:
    """A separate kube-scheduler, or one built with more plugins."""

    def __init__(self, cluster, name, gates="", binary=None, profile=None, limits=None):
        self._cluster, self._name, self._gates = cluster, name, gates
        self._limits = UNLIMITED if limits is None else limits
        self._binary = binary or binaries.path("kube-scheduler")
        self._profile = profile or {"schedulerName": SCHEDULER}
        self._process = None

    def start(self):
        settings, port = self._cluster.settings, processes.free_port()
        configuration = self._configuration(kubeconfig_of(self._cluster, self._name))
        command = [self._binary, f"--config={configuration}", "--bind-address=127.0.0.1",
                   f"--secure-port={port}", "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics"]
        command += [f"--feature-gates={self._gates}"] if self._gates else []
        process = processes.start(command, settings.path("logs", f"peer-{self._name}.log"))
        self._process = {**process, "program": "scheduler", "url": suite.url_of("scheduler", port)}
        suite.wait_until_ready(settings, self._process)

    def _configuration(self, kubeconfig):
        path = self._cluster.settings.path("peers", f"{self._name}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                            "leaderElection": {"leaderElect": False}, "profiles": [self._profile],
                            "clientConnection": {"kubeconfig": kubeconfig, **self._limits}}, file, sort_keys=False)
        return path

    def stop(self):
        if self._process:
            processes.stop([self._process])
            self._process = None

    def running(self):
        """{program: pid}"""
        return {"scheduler": self._process["pid"]}


class JobController:
    """The controller of batch/v1 Jobs, which the cluster's own controller manager leaves out."""

    ACCOUNT = "jobs"

    def __init__(self, cluster, limits):
        self._cluster, self._limits = cluster, limits
        self._process = None

    def start(self):
        settings, port = self._cluster.settings, processes.free_port()
        self._process = processes.start(
            [binaries.path("kube-controller-manager"), f"--kubeconfig={kubeconfig_of(self._cluster, self.ACCOUNT)}",
             "--controllers=job-controller", "--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={port}",
             "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics", *api_flags(self._limits)],
            settings.path("logs", "peer-jobs.log"))
        wait_for(self._works, "the controller of Jobs to start", 60)

    def _works(self):
        if not processes.alive(self._process):
            raise Failure("the controller of Jobs has ended", [self._process["log"]])
        said = processes.logged(self._process)
        return "Caches are synced" in said.partition("Starting job controller")[2], said[-300:]

    def stop(self):
        if self._process:
            processes.stop([self._process])
            self._process = None

    def running(self):
        return {"controller": self._process["pid"]}


class Operator:
    """Kubeflow's training operator. Its PodGroups are for the scheduler with the coscheduling plugin."""

    ACCOUNT = "kubeflow"

    def __init__(self, cluster, limits):
        self._operator = training_operator.TrainingOperator(
            cluster.api(), NAMESPACE, kubeconfig_of(cluster, self.ACCOUNT), SCHEDULER,
            cluster.settings.path("logs", "peer-training-operator.log"), api_flags(limits))

    def start(self):
        self._operator.start()

    def stop(self):
        self._operator.stop()

    def running(self):
        return {"controller": self._operator.process["pid"]}


def api_flags(limits):
    return [f"--kube-api-{name}={value}" for name, value in limits.items()]


FOLDER = "bin"  # among the flags of the programs: where these lie, if not in the folder of the others


class Ours:
    """The suite and its kube-scheduler. `flags`: {program: additional flags}."""

    def __init__(self, cluster, flags):
        # It logs as little as the peers' do, and as the one that users install.
        self._cluster, self._flags = cluster, {**flags, "scheduler": f"--v=0 {flags.get('scheduler', '')}"}
        self._bin = os.path.abspath(self._flags.pop(FOLDER, cluster.settings.bin))

    def start(self):
        before = {name: os.environ.get(name, "") for name in map(variable, suite.PROGRAMS)}
        for program, more in self._flags.items():
            os.environ[variable(program)] = f"{before[variable(program)]} {more}"
        settings = self._cluster.settings
        self._cluster.settings = dataclasses.replace(settings, bin=self._bin)
        try:
            for program in suite.PROGRAMS:
                known = self._cluster.programs[program]
                if program == "scheduler":  # comes when its extender is ready
                    self._cluster.wait_until_ready("extender")
                self._cluster.launch(program, known["port"], known["metrics_port"])
            for program in suite.PROGRAMS:
                self._cluster.wait_until_ready(program)
        finally:
            os.environ.update(before)
            self._cluster.settings = settings
        for program in suite.LEADERS:
            wait_for(lambda one=program: (self._leads(one), None), f"{program} to lead", 30)

    def _leads(self, program):
        try:
            return self._cluster.is_leader(program)
        except OSError:  # its port is not open yet
            return False

    def stop(self):
        processes.stop([one for one in self._cluster.programs.values() if processes.alive(one)])

    def running(self):
        return {program: one["pid"] for program, one in self._cluster.programs.items()}


def variable(program):
    return f"NERVEX_{program.upper()}_ARGS"


def ended_components(cluster):
    """Components of the control plane that have ended. On a busy machine the controller manager ends if the API
    server is ten seconds late."""
    plane = control_plane.records(cluster.settings)
    return [name for name in (*WATCHED, "kwok-controller") if name not in plane]


class Meter:
    """CPU time and memory of a round: of the API server, etcd and the controller manager, and of a side's programs."""

    def __init__(self, cluster, side):
        plane = control_plane.records(cluster.settings)
        if ended := ended_components(cluster):
            raise Failure(f"not running: {', '.join(ended)}")
        self._pids = {short: plane[name]["pid"] for name, short in WATCHED.items()}
        self._pids.update(side.running())
        for pid in self._pids.values():
            usage.reset_peak(pid)
        self._before, self._own = self._cpu(), time.process_time()

    def _cpu(self):
        return {name: usage.cpu_seconds(pid) for name, pid in self._pids.items()}

    def cpu(self):
        """{program: seconds since construction}, including the load generator's."""
        used = {name: round(seconds - self._before[name], 2) for name, seconds in self._cpu().items()}
        return {**used, "load generator": round(time.process_time() - self._own, 2)}

    def peaks(self):
        return {name: usage.peak_mib(pid) for name, pid in self._pids.items()}

    def wait_until_calm(self, most=0.15, timeout=15.0):
        """Waits until the API server uses less than that share of a core: what a start causes afterwards counts too."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            before = usage.cpu_seconds(self._pids["apiserver"])
            time.sleep(0.5)
            if usage.cpu_seconds(self._pids["apiserver"]) - before < most * 0.5:
                return


class Nobody:
    """The programs of no side."""

    def running(self):
        return {}
