#!/usr/bin/env python3
"""What does a waiting gang cost while other people's pods come and go?

Runs against the cluster whose environment file is given (make up, then .local/<name>/env). GANGS jobs
that no node has capacity for wait; beside them foreign pods are created and deleted, RATE changes a second
for SECONDS. Counts the versions that PodGroups and jobs go through meanwhile, which are the writes of
our programs, and the CPU time those took. Prints a table and one JSON line.
"""

import argparse
import json
import time
from pathlib import Path

from kubernetes import client, config, watch
from environment import read_env
from job_start import GROUP, PLURAL, VERSION, a_job
from many_jobs import cpu_seconds

PROGRAMS = ("EXTENDER", "CONTROLLER", "SCHEDULER")


def main():
    options = parse_options()
    env = read_env(options.env)
    config.load_kube_config(env["KUBECONFIG"])
    jobs, core = client.CustomObjectsApi(), client.CoreV1Api()
    names = [f"waiting-{i}" for i in range(options.gangs)]
    for name in names:
        jobs.create_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL, too_large(name))
    time.sleep(options.settle)  # the first explanation, and the jobs' repeating it
    before = versions(jobs, options)
    cpu = {name: cpu_seconds(env, name) for name in PROGRAMS}
    changes = come_and_go(core, options)
    spent = {name.lower(): round(cpu_seconds(env, name) - cpu[name], 2) for name in PROGRAMS}
    writes = count_writes(jobs, options, before)
    for name in names:
        jobs.delete_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL, name)
    report(options, changes, writes, spent)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, default=Path(".local/nervex/env"))
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--gangs", type=int, default=10)
    parser.add_argument("--rate", type=float, default=20, help="changes a second")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--settle", type=float, default=3, help="seconds before the counting begins")
    return parser.parse_args()


def too_large(name):
    job = a_job(name, 3)
    container = job["spec"]["collector"]["template"]["spec"]["containers"][0]
    job["spec"]["collector"]["template"] = {"spec": {"containers": [
        {**container, "resources": {"limits": {"nvidia.com/gpu": "1000"}}}]}}
    return job


def versions(jobs, options):
    """{plural: the list's resourceVersion}: where the counting begins."""
    return {plural: jobs.list_namespaced_custom_object(GROUP, VERSION, options.namespace, plural)[
        "metadata"]["resourceVersion"] for plural in (PLURAL, "podgroups")}


def come_and_go(core, options):
    """Keeps a dozen foreign pods, and replaces the oldest one, until the time is up."""
    living, number = [], 0
    began = time.monotonic()
    while time.monotonic() - began < options.seconds:
        due = int((time.monotonic() - began) * options.rate)
        while number < due:
            if len(living) < 12:
                living.append(f"foreign-{number}")
                core.create_namespaced_pod(options.namespace, a_pod(living[-1]))
            else:
                core.delete_namespaced_pod(living.pop(0), options.namespace, grace_period_seconds=0)
            number += 1
        time.sleep(0.01)
    for name in living:
        core.delete_namespaced_pod(name, options.namespace, grace_period_seconds=0)
    return number


def a_pod(name):
    return {"metadata": {"name": name}, "spec": {"containers": [{
        "name": "main", "image": "foreign:1", "resources": {"requests": {"cpu": "100m"}}}]}}


def count_writes(jobs, options, before):
    """{plural: changes since then}"""
    counts = {}
    for plural, version in before.items():
        events = watch.Watch().stream(jobs.list_namespaced_custom_object, GROUP, VERSION, options.namespace, plural,
                                      resource_version=version, timeout_seconds=3)
        counts[plural] = sum(1 for event in events if event["type"] == "MODIFIED")
    return counts


def report(options, changes, writes, spent):
    each = {plural: round(count / options.gangs, 2) for plural, count in writes.items()}
    print(f"{options.gangs} gangs wait while {changes} changes of foreign pods happen in {options.seconds:g} s")
    for plural, count in each.items():
        print(f"  writes per {plural[:-1]:12} {count:6.2f}")
    for name, seconds in spent.items():
        print(f"  CPU s of {name:14} {seconds:6.2f}")
    print(json.dumps({"bench": "waiting", "gangs": options.gangs, "changes": changes,
                      "writes_per_gang": each, "cpu_seconds": spent}))


if __name__ == "__main__":
    main()
