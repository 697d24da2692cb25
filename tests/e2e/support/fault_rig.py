"""Our programs behind fault proxies, and how to kill them."""

import os
import signal

import yaml
from tools.base import processes
from tools.cluster import suite
from tools.cluster.api import ApiError
from support.fault_proxy import FaultProxy

# The leases that a killed program leaves behind.
LEASES = {"scheduler": ("nervex-scheduler",), "extender": ("nervex-extender",), "controller": ("nervex-controller",)}
# So long that no outage of the tests, on however slow a machine, makes a leader end: what that comes to is
# a question of its own.
PATIENCE = "--leader-elect-lease-duration=120s --leader-elect-renew-deadline=100s"


def args_of(program):
    return f"NERVEX_{program.upper()}_ARGS"


class FaultRig:
    """Each program talks to the API server through a separate proxy: .proxies["controller"]."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.api = cluster.api()
        self.proxies = {}
        self._kept = {}
        self._args = {name: os.environ.get(name, "") for name in map(args_of, suite.LEADERS)}

    def install(self):
        for name, before in self._args.items():
            os.environ[name] = f"{before} {PATIENCE}".strip()
        for program in suite.PROGRAMS:
            path = self._kubeconfig(program)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            config = yaml.safe_load(text)
            token = config["users"][0]["user"]["token"]
            self.proxies[program] = FaultProxy(self.api.server, self.api.certificate_authority, token)
            self._kept[program] = text
            config["clusters"][0]["cluster"] = {"server": self.proxies[program].url}
            self._write(path, yaml.safe_dump(config))
        self._restart_all()
        return self

    def remove(self):
        for program, text in self._kept.items():
            self._write(self._kubeconfig(program), text)
        os.environ.update(self._args)
        self._restart_all()
        for proxy in self.proxies.values():
            proxy.close()

    def calm(self):
        """Ends all faults and starts programs that are not running."""
        for proxy in self.proxies.values():
            proxy.calm()
        for program in suite.PROGRAMS:
            if not processes.alive(self.cluster.programs[program]):
                self.start(program)

    def kill(self, program):
        """kill -9; the process is gone when this returns."""
        one = self.cluster.programs[program]
        if not processes.send(one, signal.SIGKILL):
            raise AssertionError(f"{program} had ended before it was killed: {one['log']}")
        processes.wait_for_end(one)

    def start(self, program):
        """Starts it again after kill(). Releases a lease of the killed process first: waiting until it expires would
        add its 15 s to every test, and says nothing about the job."""
        for lease in LEASES.get(program, ()):
            try:
                self.api.call("DELETE", f"/apis/coordination.k8s.io/v1/namespaces/nervex-system/leases/{lease}")
            except ApiError as error:
                if error.status != 404:
                    raise
        self.cluster.start(program)

    def _restart_all(self):
        for program in suite.PROGRAMS:
            self.cluster.stop(program)
        for program in suite.PROGRAMS:
            self.start(program)

    def _kubeconfig(self, program):
        return self.cluster.settings.path("programs", f"{program}.kubeconfig")

    @staticmethod
    def _write(path, text):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
