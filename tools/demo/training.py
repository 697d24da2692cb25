"""The account of `make demo-training`: a real framework, DI-engine, trains in containers as a NerveXJob, while collectors
are added, deleted and removed. Then two such jobs compete for the node. Each claim is checked while it is told."""

import datetime
import json
import os
import re
import time

import yaml

from tools.base.console import Failure, say, step, wait_for
from tools.base.tree import ROOT
from tools.demo.node import NodeDemo, run_on_node
from tools.images import training as image
from tools.realnode import install

EXAMPLE = "examples/di-engine"
JOB, FIRST, SECOND = "cartpole", "cartpole-first", "cartpole-second"
WORKERS = ("collector", "collector", "learner")
STOP_VALUE = 195  # of cartpole.py
STARTED, TRAINED = 180, 600  # seconds at most


class TrainingDemo(NodeDemo):
    def __init__(self, node, folder, results):
        super().__init__(node, folder)
        self.volume, self.results = node.settings.path("volume"), results
        self.marks = []  # what happened when, for the picture
        self.memory = {}  # MB of each training pod

    # -- looking

    def pods(self, job, role=None):
        """{name: role} of those that run and are not being deleted."""
        selector = f"nervexjob-name={job}" + (f",replica-type={role}" if role else "")
        return {one["metadata"]["name"]: one["metadata"]["labels"]["replica-type"]
                for one in install.get(self.node, "pods", "-l", selector)["items"]
                if one["status"].get("phase") == "Running" and not one["metadata"].get("deletionTimestamp")}

    def phase(self, job):
        return install.get(self.node, "nervexjob", job).get("status", {}).get("phase")

    def training_log(self, job, *path):
        """A log that DI-engine writes into the job's folder of the shared volume."""
        try:
            with open(os.path.join(logs(self.volume, job), *path), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def evaluations(self, job):
        """[(iteration of the learner, mean reward)] so far."""
        log = self.training_log(job, "commander", "commander_evaluator_logger.txt")
        found = re.findall(r"^train_iter: (\d+)$.*?^reward_mean: (\S+)$", log, re.MULTILINE | re.DOTALL)
        return [(int(iteration), float(reward)) for iteration, reward in found]

    def iterations(self, job):
        """Those of the learner, as collectors saw its newest policy."""
        log = self.training_log(job, "commander", "commander_collector_logger.txt")
        return max(map(int, re.findall(r"^train_iter: (\d+)$", log, re.MULTILINE)), default=0)

    def statuses(self):
        return self.node.kubectl("get", "pods", "--no-headers", check=False).stdout

    def state(self, job):
        connections = self.training_log(job, "coordinator_logger.txt")[-1500:]
        return f"{self.statuses()}{connections}\n{self.log(f'{job}-coordinator')[-1500:]}"

    def wait(self, job, done, what, timeout=STARTED):
        def look():
            if self.phase(job) == "Failed":
                raise Failure(f"{job} has failed, while the demo waited for {what}")
            return done(), "see below"
        try:
            wait_for(look, what, timeout, interval=0.3)
        except Failure as failure:
            raise Failure(f"{failure}\n{self.state(job)}") from failure

    def wait_for_workers(self, job, workers=WORKERS):
        wanted = sorted((*workers, "coordinator"))
        self.wait(job, lambda: sorted(self.pods(job).values()) == wanted, f"the {len(wanted)} pods of {job}")

    def wait_for_connection(self, job, pod):
        said = f"Succeed to connect to collector({pod}."
        self.wait(job, lambda: said in self.training_log(job, "coordinator_logger.txt"), f"a connection to {pod}")

    def wait_for_task(self, job, pod):
        self.wait(job, lambda: "CFG INFO" in self.log(pod), f"a task of {pod}")

    def follow(self, job):
        """Says how each evaluation ended, until the job has succeeded. Checks that the last one reached the stop value."""
        told = 0

        def done():
            nonlocal told
            self.measure_memory()
            ended = self.phase(job) == "Succeeded"
            found = self.evaluations(job)
            for iteration, reward in found[told:]:
                say(f"   evaluation at iteration {iteration}: mean reward {reward:g}")
            told = len(found)
            return ended

        self.wait(job, done, f"{job} to succeed", TRAINED)
        self.check(self.evaluations(job)[-1][1] >= STOP_VALUE, f"{job} has succeeded: the last evaluation reached {STOP_VALUE}")

    def measure_memory(self):
        """Keeps the most that each training pod has used, as the kubelet says."""
        path = f"/api/v1/nodes/{self.node.settings.name}/proxy/stats/summary"
        for one in json.loads(self.node.kubectl("get", "--raw", path).stdout)["pods"]:
            name, used = one["podRef"]["name"], one.get("memory", {}).get("workingSetBytes", 0) / 1e6
            if one["podRef"]["namespace"] == "default":
                self.memory[name] = max(used, self.memory.get(name, 0))

    def mark(self, label):
        self.marks.append(f"{datetime.datetime.now(datetime.timezone.utc):%H:%M:%S}={label}")

    # -- the account

    def prepare(self):
        self.chapter("What the job needs: a shared volume, and the scripts as a ConfigMap")
        os.makedirs(self.volume)
        self.node.kubectl("create", "-f", "-", body=json.dumps(volume(self.node.settings.name, self.volume)))
        self.run("kubectl", "apply", "-k", EXAMPLE)

    def start(self):
        self.chapter("DI-engine as a NerveXJob: its coordinator requests two collectors and a learner")
        begin = time.monotonic()
        self.run("kubectl", "create", "-f", f"{EXAMPLE}/job.yaml")
        self.wait_for_workers(JOB)
        say(f"   from 'kubectl create' to four running pods: {time.monotonic() - begin:.1f} s")
        for pod in self.pods(JOB, "collector"):
            self.wait_for_connection(JOB, pod)
        self.run("kubectl", "get", "pods", "-o", "wide")
        self.check(True, "the coordinator is connected to both collectors")
        say(f"   to connected collectors: {time.monotonic() - begin:.1f} s")
        return begin

    def grow(self):
        self.chapter("A third collector, added while it trains")
        before = set(self.pods(JOB, "collector"))
        self.run("kubectl", "nervex", "replicas", "add", JOB, "--collectors", "1")
        self.wait_for_workers(JOB, ("collector", *WORKERS))
        added, = set(self.pods(JOB, "collector")) - before
        self.wait_for_connection(JOB, added)
        self.mark("a collector added")
        self.wait_for_task(JOB, added)
        self.check(True, f"DI-engine uses it: {added} got a task")
        return added

    def lose(self):
        self.chapter("A collector is deleted by hand: it is replaced, and training goes on")
        before = set(self.pods(JOB, "collector"))
        lost = min(before)
        self.mark("a collector deleted by hand")
        self.run("kubectl", "delete", "pod", lost, "--wait=false")
        self.wait(JOB, lambda: len(set(self.pods(JOB, "collector")) - {lost}) == len(before), "a replacement")
        replacement, = set(self.pods(JOB, "collector")) - before
        self.wait_for_connection(JOB, replacement)
        self.mark("its replacement works")
        self.wait_for_task(JOB, replacement)
        self.check(True, f"{replacement} took over from {lost}, and got a task")

    def shrink(self):
        self.chapter("A collector is removed")
        self.mark("a collector removed")
        self.run("kubectl", "nervex", "replicas", "remove", JOB, "--collectors", "1")
        self.wait(JOB, lambda: len(self.pods(JOB, "collector")) == 2, "two collectors")
        begin = self.iterations(JOB)
        self.wait(JOB, lambda: self.iterations(JOB) > begin or self.phase(JOB) == "Succeeded", "more iterations")
        self.run("kubectl", "nervex", "list")
        self.check(True, "two collectors are left, and the learner's iterations go on")

    def finish(self, begin):
        self.chapter("The reward rises to the stop value, and the job succeeds")
        for learner in self.pods(JOB, "learner"):  # none, if training has ended by now
            self.run("kubectl", "logs", "--tail=12", learner)
        self.follow(JOB)
        say(f"   from 'kubectl create' to Succeeded: {time.monotonic() - begin:.1f} s")
        self.wait(JOB, lambda: len(self.statuses().splitlines()) == 1, "the workers to be deleted")
        self.run("kubectl", "get", "nvxjob,pods")
        self.run("kubectl", "logs", "--tail=3", f"{JOB}-coordinator")
        left = self.statuses().split()
        self.check(left[0] == f"{JOB}-coordinator" and left[2] == "Completed", "only the coordinator is left, with its log")
        say(f"   memory: {', '.join(f'{name} {used:.0f} MB' for name, used in sorted(self.memory.items()) if used)}")
        self.draw()
        self.run("kubectl", "delete", "nvxjob", JOB)

    def draw(self):
        os.makedirs(self.results, exist_ok=True)
        picture = os.path.relpath(os.path.join(self.results, "curve.svg"), ROOT)
        read = os.path.relpath(os.path.join(logs(self.volume, JOB), "commander"), ROOT)
        self.run("python3", f"{EXAMPLE}/curve.py", read, picture, *(f"--mark={one}" for one in self.marks))

    def compete(self):
        self.chapter("Two of these jobs, with capacity for one: the second waits and says why, then it trains")
        learner = self.learner_milli()
        for name in (FIRST, SECOND):
            path = self.node.settings.path(f"{name}.yaml")
            with open(path, "w", encoding="utf-8") as file:
                yaml.safe_dump(job(name, learner), file, sort_keys=False)
            self.run("kubectl", "create", "-f", os.path.relpath(path, ROOT))
        begin = time.monotonic()
        self.wait_for_workers(FIRST)
        said = self.run("kubectl", "nervex", "explain", SECOND)
        self.check("cpu" in said and self.phase(SECOND) == "Created" and not self.pods(SECOND),
                   f"{SECOND} has no pods, and says what it lacks")
        self.follow(FIRST)
        say(f"   {FIRST} has trained after {time.monotonic() - begin:.1f} s")
        self.wait_for_workers(SECOND)
        self.run("kubectl", "nervex", "list")
        self.check(True, f"{SECOND} started by itself")
        self.follow(SECOND)
        say(f"   {SECOND} has trained after {time.monotonic() - begin:.1f} s")
        self.run("kubectl", "get", "nvxjob,pods")

    def learner_milli(self):
        """CPU of a learner with which a job takes more than half of what is free on the node."""
        allocatable = milli(install.get(self.node, "node", self.node.settings.name)["status"]["allocatable"]["cpu"])
        used = sum(milli(one["resources"].get("requests", {}).get("cpu", "0"))
                   for pod in install.get(self.node, "pods", "--all-namespaces")["items"]
                   if pod["status"].get("phase") in ("Running", "Pending") for one in pod["spec"]["containers"])
        others = sum(milli(container(job(JOB), role)["resources"]["requests"]["cpu"])
                     for role in ("coordinator", "collector", "collector"))
        return max(100, int((allocatable - used) * 0.6) - others)


def logs(volume, job):
    """Where DI-engine writes the logs of a job of that name."""
    return os.path.join(volume, "default", f"{job}-coordinator", "cartpole", "log")


def milli(text):
    return int(text[:-1]) if text.endswith("m") else int(float(text) * 1000)


def container(one, role):
    return one["spec"][role]["template"]["spec"]["containers"][0]


def job(name, learner_milli=None):
    """The example's job, renamed, with another request of its learner."""
    with open(os.path.join(ROOT, EXAMPLE, "job.yaml"), encoding="utf-8") as file:
        found = yaml.safe_load(file)
    found["metadata"]["name"] = name
    if learner_milli:
        container(found, "learner")["resources"]["requests"]["cpu"] = f"{learner_milli}m"
    return found


def volume(node, folder):
    """A folder of that node as a volume, which the example's claim gets."""
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "di-engine"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "local": {"path": folder},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}}}


def run(settings, folder, keep, results=os.path.join(ROOT, "build", "training")):
    """`folder`: of our programs. `results`: folder for the picture."""
    begin = time.monotonic()
    archive = image.provide()
    say(f"   image {image.reference()}: {os.path.getsize(archive) / 1e6:.0f} MB, {time.monotonic() - begin:.0f} s")

    def tell(node):
        with step("images, loaded"):
            install.load_images(node, folder)
            node.load_images([archive])
        demo = TrainingDemo(node, folder, results)
        demo.install()
        install.wait_for_hooks(node)
        demo.prepare()
        started = demo.start()
        demo.grow()
        demo.lose()
        demo.shrink()
        demo.finish(started)
        demo.compete()
        return demo

    run_on_node(settings, keep, "demo-training", tell)
