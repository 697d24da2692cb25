#!/usr/bin/env python3
"""How long does a running job wait for the workers that it asks for?

Runs against the cluster whose environment file is given (make up, then .local/<name>/env). In each
round a job's coordinator runs; then one POST asks nervex-server for WORKERS collectors. Times are
taken on this side, from just before the POST until the last pod was seen: created, bound.
Prints a table and one JSON line.
"""

import argparse
import http.client
import json
import statistics
import time
from pathlib import Path
from urllib.parse import urlsplit

from kubernetes import client, config
from environment import read_env
from job_start import GROUP, PLURAL, VERSION, a_job, remove_children
from pods import wait_for_pods


def main():
    options = parse_options()
    env = read_env(options.env)
    config.load_kube_config(env["KUBECONFIG"])
    rounds = [one_round(options, env, i) for i in range(options.rounds + 1)][1:]  # the first warms up
    report(options, rounds)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, default=Path(".local/nervex/env"))
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=int, default=60, help="seconds per step")
    return parser.parse_args()


def one_round(options, env, number):
    name = f"bench-{number}"
    jobs, core = client.CustomObjectsApi(), client.CoreV1Api()
    jobs.create_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL, a_job(name, 0))
    selector = f"nervexjob-name={name}"
    wait_for_pods(core, options, f"{selector},replica-type=coordinator", lambda pods: any(
        pod["status"].get("phase") == "Running" for pod in pods))
    began = time.monotonic()
    asked = post(env["NERVEX_SERVER_URL"], options, name)
    answered = time.monotonic()
    workers = f"{selector},replica-type=collector"
    created = wait_for_pods(core, options, workers, lambda pods: len(pods) == len(asked))
    bound = wait_for_pods(core, options, workers, lambda pods: len(pods) == len(asked) and all(
        "nodeName" in pod["spec"] for pod in pods))
    jobs.delete_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL, name)
    remove_children(core, options, name)
    return {"answer": answered - began, "all_created": created - began, "all_bound": bound - began}


def post(url, options, name):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=options.timeout)
    connection.request("POST", "/v1alpha1/replicas", json.dumps({
        "namespace": options.namespace, "coordinator": f"{name}-coordinator",
        "collectors": {"replicas": options.workers}}))
    reply = json.load(connection.getresponse())
    connection.close()
    if not reply["success"]:
        raise SystemExit(f"nervex-server refused: {reply['message']}")
    return reply["data"]["collectors"]


def report(options, rounds):
    print(f"{options.workers} workers, {len(rounds)} rounds, seconds from the POST: median (least to most)")
    summary = {}
    for what in rounds[0]:
        values = [entry[what] for entry in rounds]
        summary[what] = round(statistics.median(values), 3)
        print(f"  {what:12} {summary[what]:7.3f} ({min(values):.3f} to {max(values):.3f})")
    print(json.dumps({"bench": "growth", "workers": options.workers, **summary}))


if __name__ == "__main__":
    main()
