#!/usr/bin/env python3
"""How do many jobs at once fare, and what do they cost our programs?

Runs against the cluster whose environment file is given (CPU_NODES=25 make up gives capacity for the
default). Creates JOBS jobs of a coordinator, an aggregator (if there is an AggregatorConfig) and
collectors, all at once, and waits until each is Running with all its pods; then deletes them. Prints
the time, CPU time and resident memory of each program, and one JSON line. A second run needs other
names or a fresh cluster: see the end of tools/controlplane/README.md.
"""

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kubernetes import client, config
from environment import read_env
from tools.base import usage
from job_start import GROUP, PLURAL, VERSION, a_job

PROGRAMS = ("WEBHOOK", "EXTENDER", "CONTROLLER", "SERVER", "SCHEDULER")


def main():
    options = parse_options()
    env = read_env(options.env)
    config.load_kube_config(env["KUBECONFIG"])
    jobs = client.CustomObjectsApi()
    cpu = {name: cpu_seconds(env, name) for name in PROGRAMS}
    began = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda i: create(jobs, options, i), range(options.jobs)))
    created = time.monotonic() - began
    running = wait_until_running(jobs, options, began)
    figures = {name.lower(): {"cpu_seconds": round(cpu_seconds(env, name) - cpu[name], 2),
                              "rss_mib": usage.resident_mib(env[f"NERVEX_{name}_PID"])} for name in PROGRAMS}
    jobs.delete_collection_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL)
    report(options, created, running, figures)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, default=Path(".local/nervex/env"))
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--pods", type=int, default=10, help="of each job, with an aggregator")
    parser.add_argument("--timeout", type=int, default=300, help="seconds")
    return parser.parse_args()


def create(jobs, options, number):
    jobs.create_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL,
                                         a_job(f"many-{number:03}", options.pods - 2))


def wait_until_running(jobs, options, began):
    """Seconds until every job runs with all the pods it wants."""
    while time.monotonic() - began < options.timeout:
        seen = [one.get("status", {}) for one in jobs.list_namespaced_custom_object(
            GROUP, VERSION, options.namespace, PLURAL)["items"]]
        if len(seen) == options.jobs and all(is_whole(one) for one in seen):
            return time.monotonic() - began
        time.sleep(0.5)
    raise SystemExit(f"not all jobs ran within {options.timeout} s")


def is_whole(status):
    ready, _, wanted = status.get("ready", "0/0").partition("/")
    return status.get("phase") == "Running" and ready == wanted != "0"


def cpu_seconds(env, name):
    return usage.cpu_seconds(env[f"NERVEX_{name}_PID"])


def report(options, created, running, figures):
    print(f"{options.jobs} jobs of {options.pods} pods: created in {created:.1f} s, all running after {running:.1f} s")
    print(f"{'program':<12}{'CPU s':>8}{'RSS MiB':>10}")
    for name, one in figures.items():
        print(f"{name:<12}{one['cpu_seconds']:>8.2f}{one['rss_mib']:>10.1f}")
    print(json.dumps({"bench": "many_jobs", "jobs": options.jobs, "pods": options.pods,
                      "created": round(created, 2), "running": round(running, 2), "programs": figures}))


if __name__ == "__main__":
    main()
