"""The account of `make demo`: what a user sees of a job's life on a cluster with simulated nodes."""

import collections
import json
import os
import subprocess
import threading
import time

from tools.base.console import Failure, say, wait_for
from tools.cluster import kubelet, lifecycle, pod_groups
from tools.cluster.api import ApiError
from tools.controlplane import binaries
from tools.demo.account import Account

JOBS = "/apis/nervex.sensetime.com/v1alpha1/namespaces/default/nervexjobs"
GROUPS = "/apis/nervex.sensetime.com/v1alpha1/namespaces/default/podgroups"
EXAMPLES = "examples"
FIRST, SECOND, RESIZED = "gang-first", "gang-second", "nervexjob-example-1"


class Demo(Account):
    def __init__(self, cluster):
        folders = [cluster.settings.bin, binaries.folder(), os.environ.get("PATH", "")]
        super().__init__({**os.environ, "KUBECONFIG": cluster.settings.path("kubeconfig"),
                          "PATH": os.pathsep.join(folders)})
        self.cluster = cluster
        self.api = cluster.api()
        self.server_url = cluster.programs["server"]["url"]

    # -- looking

    def pods(self, job):
        found = self.api.get(f"/api/v1/namespaces/default/pods?labelSelector=nervexjob-name%3D{job}")["items"]
        return sorted(found, key=lambda pod: pod["metadata"]["name"])

    def job(self, name):
        return self.api.get(f"{JOBS}/{name}")

    def wait_running(self, job, count, timeout=30):
        """Until the job has exactly `count` pods, all Running; returns them."""
        def look():
            pods = self.pods(job)
            states = [f"{p['metadata']['name']} {p['status'].get('phase')}" for p in pods]
            good = len(pods) == count and all(p["status"].get("phase") == "Running" for p in pods)
            return good, pods if good else self.explain_state(job, states)
        return wait_for(look, f"the {count} pods of {job} to run", timeout)

    def explain_state(self, job, states):
        try:
            status = self.job(job).get("status", {})
        except ApiError as error:
            status = str(error)
        return f"pods {states}, status {json.dumps(status)}"

    def wait_phase(self, job, phase, timeout=30):
        def look():
            status = self.job(job).get("status", {})
            return status.get("phase") == phase, status
        return wait_for(look, f"{job} to be {phase}", timeout)

    def planned(self, job):
        """(role, node) of every placement in the job's PodGroups."""
        places = []
        for group in self.api.get(GROUPS)["items"]:
            if any(o["name"] == job for o in group["metadata"].get("ownerReferences", [])):
                places += [(p["role"], p["node"]) for p in pod_groups.placements(group)]
        return collections.Counter(places)

    def scheduled_by(self, pod):
        events = self.api.get("/api/v1/namespaces/default/events?fieldSelector="
                              f"involvedObject.name%3D{pod['metadata']['name']},reason%3DScheduled")["items"]
        return {e.get("reportingComponent") or e.get("source", {}).get("component") for e in events}

    def check_placement(self, job, pods):
        where = collections.Counter(
            (p["metadata"]["labels"]["replica-type"], p["spec"].get("nodeName")) for p in pods)
        self.check(where == self.planned(job), f"all {len(pods)} pods are on the nodes that were planned for them",
                   f"pods {dict(where)}, plan {dict(self.planned(job))}")
        wait_for(lambda: (all(self.scheduled_by(p) for p in pods), "a pod without the event Scheduled"),
                 "the Scheduled events", 10)
        by = set().union(*(self.scheduled_by(p) for p in pods))
        self.check(by == {"nervex-scheduler"}, "each was bound by nervex-scheduler", by)

    # -- acting as the kubelet that simulated nodes do not have

    def coordinator(self, job, *extra):
        """Runs the coordinator pod's program here, shows its output, and reports how it ended."""
        pod = f"{job}-coordinator"
        say(f"   (the program of pod {pod} runs here, with the pod's environment)")
        process = kubelet.start_coordinator(self.api, "default", pod, self.server_url, extra)
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        for line in process.stdout:
            say(f"  | {line.rstrip()}")
        status = process.wait()
        watchdog.cancel()
        if status != 0:
            raise Failure(f"the coordinator of {job} ended with status {status}")
        return pod

    # -- the account

    def wrong_job(self):
        self.chapter("A wrong job is refused at once, with the fields' names")
        answer = self.run("kubectl", "create", "-f", f"{EXAMPLES}/wrong-job.yaml", expect_failure=True)
        self.check("spec.cleanPodPolicy" in answer and "Invalid CleanPodPolicy" in answer,
                   "the answer names spec.cleanPodPolicy and the allowed values")
        self.check("spec.learner.template" in answer and "nvidia.com/gpu" in answer,
                   "and, in the same answer, the learner's GPU request")

    def first_gang(self):
        self.chapter("A gang starts completely: coordinator, aggregator, 2 collectors, 3 learners with 8 GPUs each")
        begin = time.monotonic()
        self.run("kubectl", "create", "-f", f"{EXAMPLES}/{FIRST}.yaml")
        pods = self.wait_running(FIRST, 7)
        seconds = time.monotonic() - begin
        self.run("kubectl", "get", "pods", "-l", f"nervexjob-name={FIRST}", "-o", "wide")
        self.check_placement(FIRST, pods)
        say(f"   from 'kubectl create' to all 7 pods running: {seconds:.2f} s")

    def second_gang_waits(self):
        self.chapter("A second gang does not fit: it waits as a whole, without pods, and says why")
        self.run("kubectl", "create", "-f", f"{EXAMPLES}/{SECOND}.yaml")

        def reason():
            for condition in self.job(SECOND).get("status", {}).get("conditions", []):
                if "learner" in condition.get("message", "") and "nvidia.com/gpu" in condition["message"]:
                    return True, condition["message"]
            return False, self.job(SECOND).get("status")

        message = wait_for(reason, f"an explanation on {SECOND}", 15)
        self.run("kubectl", "nervex", "explain", SECOND)
        self.check(any(letter.isdigit() for letter in message),
                   f"the job itself names role, resource and numbers: {message}")
        self.check(self.pods(SECOND) == [], f"{SECOND} has no pods")
        self.run("kubectl", "get", "nvxjob")

    def resize(self):
        self.chapter("A job grows while it runs: its coordinator asks nervex-server over HTTP")
        self.run("kubectl", "create", "-f", f"{EXAMPLES}/nervex-mock-nervexjob.yaml")
        self.wait_running(RESIZED, 2)
        self.wait_phase(RESIZED, "Running")
        pod = self.coordinator(RESIZED)
        pods = self.wait_running(RESIZED, 4)
        self.run("kubectl", "get", "pods", "-l", f"nervexjob-name={RESIZED}")
        roles = sorted(p["metadata"]["labels"]["replica-type"] for p in pods)
        self.check(roles == ["aggregator", "collector", "coordinator", "learner"],
                   "one collector and one learner came to coordinator and aggregator", roles)
        self.check_placement(RESIZED, pods)
        return pod

    def clean_up(self, pod):
        self.chapter("It ends: its coordinator exits 0, what still runs is cleaned up, its logs stay")
        kubelet.finish(self.api, "default", pod)
        self.wait_phase(RESIZED, "Succeeded")

        def cleaned():
            names = [p["metadata"]["name"] for p in self.pods(RESIZED)]
            services = self.services(RESIZED)
            return names == [pod] and not services, f"pods {names}, services {services}"

        wait_for(cleaned, f"{RESIZED} to be cleaned up", 15)
        self.run("kubectl", "get", "pods,services", "-l", f"nervexjob-name={RESIZED}")
        self.run("kubectl", "get", "nvxjob", RESIZED)
        self.check(True, "only the completed coordinator is left (cleanPodPolicy Running), and no service")
        counts = self.job(RESIZED)["status"].get("replicaStatus", {})
        self.check(all(one.get("succeeded") == 1 and not one.get("active") for one in counts.values()) and len(counts) == 4,
                   "the job counts every role as succeeded", counts)

    def services(self, job):
        found = self.api.get(f"/api/v1/namespaces/default/services?labelSelector=nervexjob-name%3D{job}")["items"]
        return [one["metadata"]["name"] for one in found]

    def second_gang_starts(self):
        self.chapter("The first gang ends, and the one that waited starts by itself")
        pod = self.coordinator(FIRST, "--seconds=0.2")
        begin = time.monotonic()
        kubelet.finish(self.api, "default", pod)
        self.wait_phase(FIRST, "Succeeded")
        pods = self.wait_running(SECOND, 6)
        seconds = time.monotonic() - begin
        self.run("kubectl", "get", "pods", "-l", f"nervexjob-name={SECOND}", "-o", "wide")
        self.check_placement(SECOND, pods)
        self.run("kubectl", "get", "nvxjob")
        say(f"   from the end of {FIRST} to all 6 pods of {SECOND} running: {seconds:.2f} s")


def tell(settings):
    begin = time.monotonic()
    cluster = lifecycle.up(settings)
    demo = Demo(cluster)
    if demo.api.get(JOBS)["items"]:
        raise Failure(f"cluster {settings.name} has jobs from an earlier run: make down CLUSTER={settings.name}")
    try:
        demo.wrong_job()
        demo.first_gang()
        demo.second_gang_waits()
        pod = demo.resize()
        demo.clean_up(pod)
        demo.second_gang_starts()
    except (Failure, ApiError, subprocess.TimeoutExpired) as error:
        logs = [one["log"] for one in cluster.programs.values()]
        raise Failure(f"demo: {error}", logs) from error
    seconds = time.monotonic() - begin
    say(f"\nDemo: {demo.checks} of {demo.checks} claims held, in {seconds:.0f} s with the start of the cluster.")


def run(settings, keep):
    """The cluster is stopped with the demo, however that ends, unless `keep`."""
    try:
        tell(settings)
    except BaseException as error:
        if os.path.isdir(settings.folder) and not keep:
            if isinstance(error, Failure):
                lifecycle.keep_logs(settings, settings.folder + ".failed")
            lifecycle.down(settings.name, keep_failed=True)
        raise
    if not keep:
        lifecycle.down(settings.name)
        say("KEEP=1 make demo would have left it up for you to look at.")
        return
    say(f"The cluster stays. In this shell:   . {settings.path('env')}")
    say("  kubectl get nvxjob,pods -o wide;  kubectl nervex explain gang-second")
    say(f"and at the end:   make down CLUSTER={settings.name}")
