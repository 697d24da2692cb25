"""The account of `make demo-node`: what a user of a real cluster types and sees, from the install to a job that has
run in containers. Each claim is checked while it is told."""

import os
import re
import time

from tools.base.console import Failure, say, step, wait_for
from tools.controlplane import binaries
from tools.demo.account import Account
from tools.realnode import install, lifecycle

JOB = "nervexjob-example-1"
ROLES = ("aggregator", "collector", "coordinator", "learner")


class NodeDemo(Account):
    def __init__(self, node, folder):
        path = os.pathsep.join([folder, binaries.folder(), os.environ.get("PATH", os.defpath)])
        super().__init__({**os.environ, "KUBECONFIG": node.kubeconfig, "PATH": path},
                         ("nsenter", f"--target={node.init['pid']}", "--net", "--"))
        self.node = node

    def install(self):
        self.chapter("Installed with one command: images that `make images` made, no registry, no cert-manager")
        begin = time.monotonic()
        self.run("kubectl", "apply", "--server-side", "-k", "manifests/variants/self-issued")
        install.wait_for_deployments(self.node, install.SYSTEM)
        seconds = time.monotonic() - begin
        self.run("kubectl", "get", "deployments,pods", "-n", install.SYSTEM)
        self.check(not install.unready(self.node, install.SYSTEM), "every Deployment is ready, two pods each")
        say(f"   from the command to all Deployments ready: {seconds:.1f} s")

    def refusal(self):
        self.chapter("A wrong job is refused: the API server calls the webhook through its Service")
        install.wait_for_hooks(self.node)
        said = self.run("kubectl", "create", "-f", "examples/wrong-job.yaml", expect_failure=True)
        self.check("Invalid CleanPodPolicy" in said and "nvidia.com/gpu" in said, "both wrong fields are named")

    def statuses(self):
        said = self.node.kubectl("get", "pods", "--no-headers", check=False).stdout
        return {re.sub(rf"^{JOB}-(\w+).*", r"\1", line.split()[0]): line.split()[2] for line in said.splitlines()}

    def log(self, pod):
        return self.node.kubectl("logs", pod, check=False).stdout

    def job(self):
        self.chapter("The two commands of the README: a job whose coordinator asks for its workers")
        begin = time.monotonic()
        self.run("kubectl", "create", "-f", install.AGGREGATOR, "-n", install.SYSTEM)
        self.run("kubectl", "create", "-f", install.JOB)
        wait_for(lambda: (self.statuses() == dict.fromkeys(ROLES, "Running"), self.statuses()), "the four pods", 60)
        self.run("kubectl", "get", "pods")
        self.check(True, "coordinator, aggregator, collector and learner run, in containers")
        wait_for(lambda: ("connected to learner" in self.log(f"{JOB}-coordinator"), self.log(f"{JOB}-coordinator")),
                 "the coordinator to reach its workers", 60)
        say(f"   from 'kubectl create' to connected workers: {time.monotonic() - begin:.1f} s")
        learner = next(one["metadata"]["name"] for one in install.get(self.node, "pods", "-l", "replica-type=learner")["items"])
        wait_for(lambda: ("task " in self.log(learner), self.log(learner)), "the first task", 60)
        say(f"   to the first task exchanged: {time.monotonic() - begin:.1f} s")
        wait_for(lambda: (self.log(learner).count("task ") >= 3, self.log(learner)), "tasks in the learner's log", 60)
        self.run("kubectl", "logs", f"{JOB}-coordinator")
        self.run("kubectl", "logs", learner)
        self.check("connected by " in self.log(learner), "they found each other by name: <pod>.<namespace>:<port>")

    def shrink(self):
        self.chapter("The coordinator gives its collector back while it runs")
        wait_for(lambda: ("let go of" in self.log(f"{JOB}-coordinator"), self.statuses()), "the collector to go", 90)
        wait_for(lambda: ("collector" not in self.statuses(), self.statuses()), "the collector's pod to be deleted", 60)
        self.run("kubectl", "get", "pods")
        self.check(True, "the collector's pod is gone, the others run on")

    def end(self):
        self.chapter("It ends: what still ran is deleted, the coordinator and its log stay")
        wait_for(lambda: (self.statuses() == {"coordinator": "Completed"}, self.statuses()), "the job's end", 120)
        self.run("kubectl", "get", "nvxjob,pods")
        said = self.run("kubectl", "logs", "--tail=4", f"{JOB}-coordinator")
        self.check("tasks are done" in said and "coordinator: done" in said, "the coordinator's log tells of its tasks")


def run_on_node(settings, keep, target, tell):
    """Starts the node and calls `tell(node)`, which tells the account and returns it. The node is removed however
    that ends, unless `keep`. `target`: of make, which the user has called."""
    begin = time.monotonic()
    node = lifecycle.up(settings)
    try:
        told = tell(node)
    except BaseException as error:
        if not keep:
            lifecycle.down(settings, keep=isinstance(error, Failure))
        raise
    say(f"\nDemo: {told.checks} of {told.checks} claims held, in {time.monotonic() - begin:.0f} s with the start of the node.")
    if keep:
        say(f"The node stays: NODE={settings.name} scripts/real-node run kubectl get pods -A")
        say(f"and at the end: NODE={settings.name} scripts/real-node down")
    else:
        lifecycle.down(settings)
        say(f"KEEP=1 make {target} would have left it up for you to look at.")


def run(settings, folder, keep):
    """`folder`: of our programs."""
    def tell(node):
        with step("images of the programs, loaded"):
            install.load_images(node, folder)
        demo = NodeDemo(node, folder)
        demo.install()
        demo.refusal()
        demo.job()
        demo.shrink()
        demo.end()
        return demo

    run_on_node(settings, keep, "demo-node", tell)
