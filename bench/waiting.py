#!/usr/bin/env python3
"""What does a waiting gang cost while other people's pods come and go, and jobs before it start?

Runs against the cluster whose environment file is given (make up, then .local/<name>/env). GANGS jobs wait;
beside them foreign pods are created and deleted, RATE changes a second for SECONDS. Counts the versions that
PodGroups and jobs which still wait at the end go through meanwhile, and the events about them: these are the
writes of our programs. Prints a table and one JSON line, with the CPU time that the programs took.

No node has capacity for the jobs, unless --turnover is given: then they wait in one Queue for the GPUs of
the cluster, and every TURNOVER seconds a running job is deleted, so that the next one starts and all others
advance.
"""

import argparse
import contextlib
import json
import time
from pathlib import Path

from kubernetes import client, config, watch
from environment import read_env
from job_start import GROUP, PLURAL, VERSION, a_job
from many_jobs import cpu_seconds

QUEUE, QUEUE_LABEL = "waiting", "nervex.sensetime.com/queue"
PROGRAMS = ("EXTENDER", "CONTROLLER", "SCHEDULER")


def main():
    options = parse_options()
    env = read_env(options.env)
    config.load_kube_config(env["KUBECONFIG"])
    jobs, core = client.CustomObjectsApi(), client.CoreV1Api()
    names = [f"waiting-{i:04}" for i in range(options.gangs)]
    with queue(jobs, core, options) if options.turnover else contextlib.nullcontext():
        for name in names:
            jobs.create_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL,
                                                 a_waiting_job(name, 8 if options.turnover else 1000))
        time.sleep(options.settle)  # the first explanation, and the jobs' repeating it
        before = versions(jobs, core, options)
        cpu = {name: cpu_seconds(env, name) for name in PROGRAMS}
        changes, ended = come_and_go(jobs, core, options)
        spent = {name.lower(): round(cpu_seconds(env, name) - cpu[name], 2) for name in PROGRAMS}
        waiting = {one["metadata"]["name"] for one in jobs.list_namespaced_custom_object(
            GROUP, VERSION, options.namespace, PLURAL)["items"] if is_waiting(one)}
        writes = count_writes(jobs, core, options, before, waiting)
        for name in set(names) - set(ended):
            jobs.delete_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL, name)
    report(options, changes, len(ended), writes, spent)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, default=Path(".local/nervex/env"))
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--gangs", type=int, default=10)
    parser.add_argument("--rate", type=float, default=20, help="changes a second")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--turnover", type=float, default=0, help="seconds from one end of a running job to the next")
    parser.add_argument("--settle", type=float, default=3, help="seconds before the counting begins")
    return parser.parse_args()


def a_waiting_job(name, gpus):
    """Its only pod with a request is the collector."""
    job = a_job(name, 1)
    container = job["spec"]["collector"]["template"]["spec"]["containers"][0]
    job["spec"]["collector"]["template"] = {"spec": {"containers": [
        {**container, "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}}
    return job


@contextlib.contextmanager
def queue(jobs, core, options):
    """The namespace's jobs are in a Queue of their own."""
    jobs.create_cluster_custom_object(GROUP, VERSION, "queues", {
        "apiVersion": f"{GROUP}/{VERSION}", "kind": "Queue", "metadata": {"name": QUEUE},
        "spec": {}})
    core.patch_namespace(options.namespace, {"metadata": {"labels": {QUEUE_LABEL: QUEUE}}})
    try:
        yield
    finally:
        core.patch_namespace(options.namespace, {"metadata": {"labels": {QUEUE_LABEL: None}}})
        jobs.delete_cluster_custom_object(GROUP, VERSION, "queues", QUEUE)


def is_waiting(job):
    return any(one["type"] == "Scheduled" and one["status"] == "False"
               for one in job.get("status", {}).get("conditions", []))


def versions(jobs, core, options):
    """{plural: the list's resourceVersion}: where the counting begins."""
    found = {plural: jobs.list_namespaced_custom_object(GROUP, VERSION, options.namespace, plural)[
        "metadata"]["resourceVersion"] for plural in (PLURAL, "podgroups")}
    found["events"] = core.list_namespaced_event(options.namespace).metadata.resource_version
    return found


def come_and_go(jobs, core, options):
    """Keeps a dozen foreign pods, and replaces the oldest one, until the time is up. How many changes, and the
    names of the jobs that were ended."""
    living, number, ended = [], 0, []
    began = time.monotonic()
    while (passed := time.monotonic() - began) < options.seconds:
        while number < int(passed * options.rate):
            if len(living) < 12:
                living.append(f"foreign-{number}")
                core.create_namespaced_pod(options.namespace, a_pod(living[-1]))
            else:
                core.delete_namespaced_pod(living.pop(0), options.namespace, grace_period_seconds=0)
            number += 1
        if options.turnover and len(ended) < int(passed / options.turnover):
            ended.append(f"waiting-{len(ended):04}")  # the queue's order is that of creation
            jobs.delete_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL, ended[-1])
        time.sleep(0.01)
    for name in living:
        core.delete_namespaced_pod(name, options.namespace, grace_period_seconds=0)
    return number, ended


def a_pod(name):
    return {"metadata": {"name": name}, "spec": {"containers": [{
        "name": "main", "image": "foreign:1", "resources": {"requests": {"cpu": "100m"}}}]}}


def count_writes(jobs, core, options, before, waiting):
    """{plural: changes since then to the jobs that wait, to their PodGroups, and events about them}"""
    counts, names = {}, waiting | {f"{name}-1" for name in waiting}  # the PodGroup of the first attempt
    for plural, version in before.items():
        call = ((core.list_namespaced_event, options.namespace) if plural == "events" else
                (jobs.list_namespaced_custom_object, GROUP, VERSION, options.namespace, plural))
        counts[plural] = 0
        for event in watch.Watch().stream(*call, resource_version=version, timeout_seconds=3):
            raw = event["raw_object"] if plural == "events" else event["object"]
            name = raw["involvedObject"]["name"] if plural == "events" else raw["metadata"]["name"]
            is_write = plural == "events" or event["type"] == "MODIFIED"
            counts[plural] += is_write and name in names
    return counts


def report(options, changes, ends, writes, spent):
    minutes = options.seconds / 60
    print(f"{options.gangs} gangs wait while {changes} changes of foreign pods and {ends} ends of jobs happen "
          f"in {options.seconds:g} s")
    for plural, count in writes.items():
        print(f"  {plural:12} {count / minutes:8.1f} writes a minute, {count / options.gangs:6.2f} each")
    for name, seconds in spent.items():
        print(f"  {name:12} {seconds:8.2f} CPU s")
    print(json.dumps({"bench": "waiting", "gangs": options.gangs, "changes": changes, "ends": ends,
                      "writes": writes, "seconds": options.seconds, "cpu_seconds": spent}))


if __name__ == "__main__":
    main()
