"""A running cluster: its programs, and the files that describe it."""

import json
import os
import shlex
import signal
import threading
import time
import urllib.request

from tools.base import processes
from tools.base.console import Failure, warn
from tools.cluster import suite
from tools.cluster.api import Api
from tools.cluster.settings import Settings
from tools.controlplane import binaries


class Cluster:
    def __init__(self, settings):
        self.settings = settings
        self.control_plane = []  # records of the control plane's processes
        self.programs = {}       # our programs and the second scheduler, by name
        self.ready = False       # whether `up` came to its end
        self.revives = True      # revive() does something
        self.revived = []        # [(program, when it stopped working, when it worked again)], monotonic
        self._reviving = threading.Lock()

    # -- what is kept in .local/<name>/state.json

    def save(self):
        state = {"settings": vars(self.settings), "ready": self.ready,
                 "control_plane": self.control_plane, "programs": self.programs}
        path = self.settings.path("state.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(state, file, indent=1)
        os.replace(path + ".new", path)

    @staticmethod
    def load(name):
        """The cluster of that name, or None."""
        path = Settings(name=name).path("state.json")
        try:
            with open(path, encoding="utf-8") as file:
                state = json.load(file)
        except FileNotFoundError:
            return None
        cluster = Cluster(Settings(**state["settings"]))
        cluster.control_plane = state["control_plane"]
        cluster.programs = state["programs"]
        cluster.ready = state["ready"]
        return cluster

    def api(self):
        return Api(self.settings.path("kubeconfig"))

    def write_env(self):
        """Writes the shell lines that users and tests read; their names are an interface."""
        values = {"KUBECONFIG": self.settings.path("kubeconfig")}
        if self.programs:
            values["NERVEX_SERVER_URL"] = self.programs["server"]["url"]
            values["NERVEX_WEBHOOK_URL"] = self.programs["webhook"]["url"]
            values["NERVEX_WEBHOOK_CA"] = self.settings.path("webhook", "ca.crt")
            values["NERVEX_WEBHOOK_SERVER_NAME"] = suite.WEBHOOK_NAME
            values["NERVEX_EXTENDER_URL"] = self.programs["extender"]["url"]
            for program in suite.PROGRAMS:
                values[f"NERVEX_{program.upper()}_PID"] = self.programs[program]["pid"]
                values[f"NERVEX_{program.upper()}_LOG"] = self.programs[program]["log"]
                values[f"NERVEX_{program.upper()}_METRICS_URL"] = self.programs[program]["metrics_url"]
        lines = [f"# Cluster {self.settings.name}. Use it:   . {self.settings.path('env')}",
                 f"# Logs: {self.settings.path('logs')}   End it: make down CLUSTER={self.settings.name}"]
        lines += [f"export {key}={shlex.quote(str(value))}" for key, value in values.items()]
        # Once, however often it is read, and not in the form NAME=value: a program that only picks those
        # out must not get a PATH with $PATH in it.
        folders = f"{self.settings.bin}:{binaries.folder()}"
        lines += ["# kubectl of the cluster's version, nervexctl and 'kubectl nervex'",
                  f'case ":$PATH:" in *":{folders}:"*) ;; *) PATH="{folders}:$PATH" ;; esac']
        path = self.settings.path("env")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(path + ".new", path)

    # -- programs

    def start_programs(self, api):
        """Starts all at once, except the scheduler, which follows when its extender is ready."""
        for program in suite.PROGRAMS:
            suite.write_kubeconfig(api, self.settings, program)
        suite.issue_certificate(self.settings)
        first = [program for program in suite.PROGRAMS if program != "scheduler"]
        for program in first:
            self.launch(program)
        self.wait_until_ready("extender")
        self.launch("scheduler")
        for program in suite.PROGRAMS:
            self.wait_until_ready(program)
        suite.wait_for_leadership(api, self.settings, self.programs["scheduler"])

    def launch(self, program, port=None, metrics_port=None, name=None):
        taken = [one[key] for one in self.programs.values() for key in ("port", "metrics_port")]
        urls = {key: one["url"] for key, one in self.programs.items()}
        port = port or processes.free_port(taken)
        metrics_port = metrics_port or processes.free_port([*taken, port])
        self.programs[name or program] = suite.launch(
            self.settings, program, port, metrics_port, urls, name)
        self.save()

    def wait_until_ready(self, program):
        """Restarts it if it lost its port or its lease meanwhile; see suite.lost_its_lease()."""
        for attempt in range(5):
            try:
                return suite.wait_until_ready(self.settings, self.programs[program])
            except Failure:
                one = self.programs[program]
                lost_port = suite.lost_its_port(one)
                if attempt == 4 or not (lost_port or suite.lost_its_lease(one)):
                    raise
                # Where others expect it, but not on a port that stays taken.
                ports = () if lost_port and attempt > 0 else (one["port"], one["metrics_port"])
                self.launch(one["program"], *ports, name=program)

    def revive(self):
        """Restarts the programs that ended because they lost their lease, as a kubelet does; see
        suite.lost_its_lease(). From any thread."""
        if not self._reviving.acquire(blocking=False):
            return
        try:
            for name, one in list(self.programs.items()) if self.revives else []:
                if one.get("stopped") or not suite.lost_its_lease(one):
                    continue
                begin = time.monotonic() - suite.RENEW_DEADLINE
                warn(f"{name} lost its lease and ended: started again")
                self.launch(one["program"], one["port"], one["metrics_port"], name=name)
                self.wait_until_ready(name)
                if name == one["program"]:
                    self.write_env()
                self.revived.append((one["program"], begin, time.monotonic()))
        finally:
            self._reviving.release()

    def stop(self, program, patience=10.0):
        """True if it ended after SIGTERM."""
        self.programs[program]["stopped"] = True
        return not processes.stop([self.programs[program]], patience)

    def start(self, program):
        """Restarts it at the same address, so that clients can still reach it."""
        before = self.programs[program]
        self.launch(program, before["port"], before["metrics_port"])
        self.wait_until_ready(program)
        if program == "scheduler":
            suite.wait_for_leadership(self.api(), self.settings, self.programs[program])
        self.write_env()

    def restart(self, program):
        self.stop(program)
        self.start(program)

    def start_second(self, program, change_kubeconfig=None):
        """Starts another instance of the controller or the extender, under a separate name, which is returned:
        stop(), programs[...] and is_leader() accept it. kube-scheduler does not call a second extender's filter.
        `change_kubeconfig` gets the path of its kubeconfig before the start."""
        name = f"{program}-2"
        suite.write_kubeconfig(self.api(), self.settings, program, name)
        if change_kubeconfig:
            change_kubeconfig(self.settings.path("programs", f"{name}.kubeconfig"))
        self.launch(program, name=name)
        self.wait_until_ready(name)
        return name

    def drop_second(self, name):
        """Stops it permanently, even if it is stopped by SIGSTOP."""
        processes.send(self.programs[name], signal.SIGCONT)
        self.stop(name)
        del self.programs[name]
        self.save()

    def metrics(self, name):
        """{'name{labels}': value} of a program's metrics."""
        with urllib.request.urlopen(self.programs[name]["metrics_url"] + "/metrics", timeout=5) as reply:
            lines = reply.read().decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[:1] != "#"}

    def is_leader(self, name):
        lease = f"nervex-{self.programs[name]['program']}"
        return self.metrics(name).get(f'leader_election_master_status{{name="{lease}"}}') == 1

    # -- is it well?

    def problems(self):
        """Problems of a running cluster, one sentence each; empty if none."""
        found = [f"{one['log']}: its process is gone"
                 for one in [*self.control_plane, *self.programs.values()] if not processes.alive(one)]
        if not found:
            try:
                self.api().get("/readyz")
            except Exception as error:
                found.append(f"the API server does not answer: {error}")
        for name, one in self.programs.items():
            if processes.alive(one):
                ready, seen = suite.readiness(self.settings, one["program"], one["url"])
                if not ready:
                    found.append(f"{name} is not ready: {seen}")
        return found
