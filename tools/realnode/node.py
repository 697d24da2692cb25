"""A node that runs: its programs, and commands inside of it."""

import contextlib
import json
import os
import signal
import subprocess

import yaml

from tools.base import processes
from tools.base.console import Failure, timeout_factor, wait_for
from tools.controlplane import binaries
from tools.realnode import cgroups, config, machine, namespaces, packages, pki
from tools.realnode import settings as names

HERE = os.path.dirname(os.path.abspath(__file__))
NAMESPACES = ("--net", "--mount", "--pid", "--uts", "--ipc")
# Started in this order; what is not named waits until the API server answers.
FIRST = ("etcd", "containerd", "kube-apiserver")
THEN = ("kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")


class Node:
    """A node that is running or starting."""

    def __init__(self, settings, init=None, programs=None, ready=False):
        self.settings, self.init, self.programs, self.ready = settings, init, programs or {}, ready
        self.root, self.tools = packages.root(), binaries.folder("--node")
        self._lines = config.command_lines(settings, binaries.folder(), self.tools)

    @staticmethod
    def load(settings):
        """The node started under that name, or None."""
        try:
            with open(settings.path("state.json"), encoding="utf-8") as file:
                return Node(settings, **json.load(file))
        except FileNotFoundError:
            return None

    def save(self):
        path = self.settings.path("state.json")
        with open(path + ".partial", "w", encoding="utf-8") as file:
            json.dump({"init": self.init, "programs": self.programs, "ready": self.ready}, file)
        os.replace(path + ".partial", path)

    @property
    def alive(self):
        return self.init is not None and processes.alive(self.init)

    @property
    def kubeconfig(self):
        return self.settings.pki("admin.kubeconfig")

    # -- what runs inside

    def enter(self, *command, namespaces=NAMESPACES):
        """The command line that runs `command` in the node."""
        if not self.alive:
            raise Failure(f"there is no node {self.settings.name}: scripts/real-node up")
        environment = [f"{name}={value}" for name, value in machine.environment(self.root).items()]
        folder = [] if namespaces != NAMESPACES else ["--wd=/"]
        return ["nsenter", f"--target={self.init['pid']}", *namespaces, *folder, "--", "env", "-i", *environment, *command]

    def run(self, *command, body=None, check=True, timeout=120):
        """Runs it in all of the node's namespaces."""
        done = subprocess.run(self.enter(*command), input=body, capture_output=True, text=True,
                              timeout=timeout * timeout_factor())
        if check and done.returncode != 0:
            raise Failure(f"{' '.join(command[:6])}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def kubectl(self, *arguments, body=None, check=True, timeout=120):
        """Runs it in the node's network only: files are the machine's."""
        command = self.enter(binaries.path("kubectl"), "--kubeconfig", self.kubeconfig,
                             *arguments, namespaces=("--net",))
        done = subprocess.run(command, input=body, capture_output=True, text=True, timeout=timeout * timeout_factor())
        if check and done.returncode != 0:
            raise Failure(f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def start(self, program):
        entered = processes.start(self.enter(*self._lines[program]), self.settings.log(program))

        def child():
            """nsenter stays outside of the node's pid namespace; its child is the program."""
            with contextlib.suppress(OSError), open(f"/proc/{entered['pid']}/task/{entered['pid']}/children",
                                                    encoding="ascii") as file:
                found = file.read().split()
                if found:
                    return True, int(found[0])
            if not processes.alive(entered):
                raise Failure(f"{program} did not start", [self.settings.log(program)])
            return False, "nothing"

        pid = wait_for(child, f"{program} to start", 10, interval=0.01)
        self.programs[program] = processes.record(pid, self.settings.log(program))
        self.save()

    def stop(self, program, number=signal.SIGTERM, timeout=30):
        """Stops one program of the node, which is not reported as missing until it is started again."""
        process = self.programs.pop(program)
        processes.send(process, number)
        wait_for(lambda: (not processes.alive(process), "still there"), f"{program} to end", timeout)
        self.save()

    def restart_api_server(self):
        """Restarts at once: a graceful end may wait a minute for watchers."""
        self.stop("kube-apiserver", signal.SIGKILL)
        self.start("kube-apiserver")
        self.wait(self.serving, "the API server to be ready again", 60)

    def lose_power(self):
        """Simulates a power failure of the node's machine: kubelet, container runtime and every container end at
        once, without a signal that they could catch. The control plane is on another machine."""
        for program in ("kubelet", "containerd"):
            self.stop(program, signal.SIGKILL)
        inode = namespaces.pid_namespace(self.init["pid"])
        for process in namespaces.containers(inode, self.settings.cgroup):
            processes.send(process, signal.SIGKILL)
        wait_for(lambda: (not namespaces.containers(inode, self.settings.cgroup), "still there"), "every container to end", 30)

    def boot(self):
        self.start("containerd")
        self.wait(self.containerd_serving, "containerd to answer", 30)
        self.start("kubelet")

    def look_after(self):
        """Reports a program of the node that ended on its own, with the end of its log."""
        for program, process in self.programs.items():
            if not processes.alive(process):
                raise Failure(f"{program} ended by itself", [process["log"]])

    def load_images(self, paths):
        for path in paths:
            self.run("ctr", "--address", config.CONTAINERD, "--namespace", "k8s.io", "images", "import", path)

    def wait(self, predicate, what, timeout):
        def look():
            self.look_after()
            return predicate()
        return wait_for(look, what, timeout, interval=0.1)

    # -- up

    def write_files(self):
        settings = self.settings
        for folder in ("etc", "logs", "etcd", "var-lib", "var-log", "images"):
            os.makedirs(settings.path(folder), exist_ok=True)
        os.chmod(settings.path("etcd"), 0o700)
        pki.make(settings)
        texts = {
            "containerd.toml": config.containerd(self.root), "10-pods.conflist": json.dumps(config.network()),
            "kubelet.yaml": yaml.safe_dump(config.kubelet(settings, cgroups.version())),
            "kube-proxy.yaml": yaml.safe_dump(config.kube_proxy(settings)),
            "admission.yaml": yaml.safe_dump(config.admission(settings, shows_certificate=False)),
            "resolv.conf": f"nameserver {names.DNS}\n",
        }
        for name, text in texts.items():
            with open(settings.path("etc", name), "w", encoding="utf-8") as file:
                file.write(text)

    def make_namespaces(self):
        settings = self.settings
        values = {**machine.environment(self.root), "NODE_NAME": settings.name, "NODE_FOLDER": settings.folder,
                  "NODE_ADDRESS": names.ADDRESS, "NODE_PREFIX": str(names.PREFIX), "NODE_PAUSE": f"{self.tools}/pause"}
        outside = processes.start(
            ["env", "-i", *(f"{name}={value}" for name, value in values.items()),
             "unshare", *NAMESPACES, "--fork", "--kill-child", os.path.join(HERE, "init")], settings.log("init"))

        def inside():
            with contextlib.suppress(OSError), open(f"/proc/{outside['pid']}/task/{outside['pid']}/children",
                                                    encoding="ascii") as file:
                found = file.read().split()
                if found:
                    self.init = processes.record(int(found[0]), settings.log("init"))
                    self.save()
            ready = os.path.exists(settings.path("namespaces-ready"))
            if not ready and not processes.alive(outside):
                raise Failure("the node's namespaces could not be made", [settings.log("init")])
            return ready and self.init is not None, "not yet"

        wait_for(inside, "the node's namespaces", 20, interval=0.02)

    def serving(self):
        done = self.kubectl("get", "--raw", "/readyz", check=False)
        return done.returncode == 0, (done.stderr or done.stdout)[-300:]

    def containerd_serving(self):
        done = self.run("ctr", "--address", config.CONTAINERD, "version", check=False)
        return done.returncode == 0, done.stderr[-300:]

    def node_ready(self):
        done = self.kubectl("get", "node", self.settings.name, "-o",
                            'jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}',
                            check=False)
        return done.stdout.startswith("True"), (done.stdout or done.stderr)[-300:]

    def dns_ready(self):
        done = self.kubectl("-n", "kube-system", "get", "deployment", "coredns", "-o", "jsonpath={.status.readyReplicas}",
                            check=False)
        return done.stdout == "1", done.stdout or done.stderr
