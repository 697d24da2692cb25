#!/usr/bin/env python3
"""How long does a job take from `kubectl create` to all pods bound, and what do our programs weigh?

Runs against the cluster whose environment file is given (make up, then .local/<name>/env). Creates
jobs with one coordinator, one aggregator (if the cluster has an AggregatorConfig) and COLLECTORS
collectors, one after another, deletes each, and prints a table and one JSON line. Times are taken on
this side of the API: from just before the create call until a watch has shown the last pod bound.

--compare-hold tells what it costs that a gang's binds are held until all are there: the extender is
restarted before each round, in turn as it is and with --hold-binds-up-to 0. The most that it had of
threads, file descriptors and memory in a round is shown, too.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import threading
import time
import uuid
from pathlib import Path

from kubernetes import client, config, watch
from environment import read_env
from tools.base.usage import resident_mib
from tools.cluster.cluster import Cluster

GROUP, VERSION, PLURAL = "nervex.sensetime.com", "v1alpha1", "nervexjobs"


def main():
    options = parse_options()
    env = read_env(options.env)
    config.load_kube_config(env["KUBECONFIG"])
    if options.compare_hold:
        return compare_hold(options)
    rounds = [one_round(options, i) for i in range(options.rounds + 1)][1:]  # the first warms up
    memory = {name: resident_mib(env[f"NERVEX_{name}_PID"])
              for name in ("WEBHOOK", "EXTENDER", "CONTROLLER", "SERVER", "SCHEDULER")}
    report(options, rounds, memory)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, default=Path(".local/nervex/env"))
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--collectors", type=int, default=8, help="pods of the gang beside two")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=int, default=60, help="seconds per round")
    parser.add_argument("--compare-hold", action="store_true", help="with binds held, and not, in turn")
    return parser.parse_args()


def compare_hold(options):
    """A table of pods a second for either way, and one JSON line."""
    cluster = Cluster.load(options.env.resolve().parent.name)
    ways = {"held": "", "not held": "--hold-binds-up-to=0"}
    rates = {way: [] for way in ways}
    peaks = {way: Peaks() for way in ways}
    before = os.environ.get("NERVEX_EXTENDER_ARGS", "")
    try:
        for number in range(options.rounds + 1):
            for way, flags in ways.items():
                os.environ["NERVEX_EXTENDER_ARGS"] = f"{before} {flags}"
                cluster.restart("extender")
                wait_for_lease(cluster, options)
                with peaks[way].measure(cluster.programs["extender"]["pid"]):
                    seen = one_round(options, number)
                if number > 0:  # the first warms up
                    rates[way].append(seen["pods"] / seen["all_bound"])
    finally:
        os.environ["NERVEX_EXTENDER_ARGS"] = before
        cluster.restart("extender")
    print(f"job of {seen['pods']} pods, {options.rounds} rounds, pods a second from create to all bound: "
          "median (least to most)")
    for way, values in rates.items():
        print(f"  {way:10} {statistics.median(values):7.1f} ({min(values):.1f} to {max(values):.1f})")
    print("the most that the extender had")
    for way, peak in peaks.items():
        print(f"  {way:10} {peak.threads} threads, {peak.files} file descriptors, {peak.mib:.1f} MiB resident")
    print(json.dumps({"bench": "job_start_hold", "pods": seen["pods"],
                      **{way: round(statistics.median(values), 1) for way, values in rates.items()},
                      "peaks": {way: {"threads": peak.threads, "files": peak.files, "rss_mib": peak.mib}
                                for way, peak in peaks.items()}}))


class Peaks:
    """Peak memory of a process, sampled every 20 ms."""

    def __init__(self):
        self.threads, self.files, self.mib = 0, 0, 0.0

    @contextlib.contextmanager
    def measure(self, pid):
        ended = threading.Event()
        looker = threading.Thread(target=self._look, args=(pid, ended))
        looker.start()
        try:
            yield
        finally:
            ended.set()
            looker.join()

    def _look(self, pid, ended):
        proc = Path(f"/proc/{pid}")
        while not ended.wait(0.02):
            self.threads = max(self.threads, len(list((proc / "task").iterdir())))
            self.files = max(self.files, len(list((proc / "fd").iterdir())))
            self.mib = max(self.mib, resident_mib(pid))


def wait_for_lease(cluster, options):
    """The planner begins when its replica leads, some time after it is ready."""
    deadline = time.monotonic() + options.timeout
    while not cluster.is_leader("extender"):
        if time.monotonic() > deadline:
            sys.exit(f"the extender did not lead within {options.timeout} s")
        time.sleep(0.05)


def a_job(name, collectors):
    container = {"name": "nervex-container", "image": "nervex-mock:0.3.0",
                 "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    template = {"template": {"spec": {"containers": [container]}}}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "NerveXJob", "metadata": {"name": name},
            "spec": {"coordinator": template, "collector": {**template, "replicas": collectors}}}


def one_round(options, number):
    """Seconds from create to: the first pod made, all bound."""
    name = f"bench-{number}-{uuid.uuid4().hex[:4]}"  # the name of a job that is being removed would have to wait
    jobs, core = client.CustomObjectsApi(), client.CoreV1Api()
    begin_version = core.list_namespaced_pod(options.namespace, limit=1).metadata.resource_version
    began = time.monotonic()
    jobs.create_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL,
                                         a_job(name, options.collectors))
    first, bound = None, set()
    for pod in changes(core, options, name, begin_version, began + options.timeout):
        first = first or time.monotonic()
        if pod.spec.node_name:
            bound.add(pod.metadata.name)
        # The coordinator is made last, so once it is bound the number of pods is final.
        if f"{name}-coordinator" in bound and len(bound) >= options.collectors + 1:
            made = core.list_namespaced_pod(options.namespace,
                                            label_selector=f"nervexjob-name={name}").items
            if len(bound) == len(made):
                break
    else:
        sys.exit(f"job {name} was not bound within {options.timeout} s")
    ended = time.monotonic()
    jobs.delete_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL, name)
    remove_children(core, options, name)
    return {"first_pod": first - began, "all_bound": ended - began, "pods": len(bound)}


def changes(core, options, name, version, deadline):
    """The job's pods at each change. The API server ends the watch of a slow client, which continues from there."""
    while (left := deadline - time.monotonic()) > 0:
        for event in watch.Watch().stream(core.list_namespaced_pod, options.namespace,
                                          label_selector=f"nervexjob-name={name}", resource_version=version,
                                          timeout_seconds=max(1, int(left))):
            version = event["object"].metadata.resource_version
            yield event["object"]


def remove_children(core, options, name):
    """The garbage collector alone takes minutes for 1,000 pods and their Services, in parallel with the next round."""
    deadline = time.monotonic() + options.timeout
    label = f"nervexjob-name={name}"
    while left := core.list_namespaced_pod(options.namespace, label_selector=label).items:
        if time.monotonic() > deadline:
            sys.exit(f"{len(left)} pods of {name} did not go away within {options.timeout} s")
        for pod in left:
            with contextlib.suppress(client.ApiException):  # it has gone
                core.delete_namespaced_pod(pod.metadata.name, options.namespace, grace_period_seconds=0)
    core.delete_collection_namespaced_service(options.namespace, label_selector=label)


def report(options, rounds, memory):
    print(f"job of {rounds[0]['pods']} pods, {len(rounds)} rounds, seconds: median (least to most)")
    summary = {}
    for what in ("first_pod", "all_bound"):
        values = [entry[what] for entry in rounds]
        summary[what] = round(statistics.median(values), 3)
        print(f"  {what:10} {summary[what]:7.3f} ({min(values):.3f} to {max(values):.3f})")
    print("resident memory, MiB")
    for name, mib in memory.items():
        print(f"  {name.lower():10} {mib:7.1f}")
    print(json.dumps({"bench": "job_start", "pods": rounds[0]["pods"], **summary, "rss_mib": memory}))


if __name__ == "__main__":
    main()
