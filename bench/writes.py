#!/usr/bin/env python3
"""Who writes how often while jobs start?

Counts, from the API server's audit log, each write between the creation of JOBS jobs (one coordinator, one
aggregator if the cluster has an AggregatorConfig, and WORKERS collectors each) and the time when all run and
nobody has written for a while. Needs a cluster that was started with AUDIT=all (make up AUDIT=all), whose
environment file is given. Prints a table, one row for each writer, verb and resource, with the number per job
(each starts one gang) and per pod, and one JSON line. Leases are left out: they follow the clock.

--after FILE compares with the JSON line of another run: the table has both, for docs/performance.md.
"""

import argparse
import collections
import json
import sys
import time
from pathlib import Path

from kubernetes import client, config
from environment import read_env
from gang.audit import AuditLog, seconds
from job_start import GROUP, PLURAL, VERSION, a_job
from many_jobs import wait_until_running
from concurrent.futures import ThreadPoolExecutor

WRITES = ("create", "update", "patch", "delete", "deletecollection")
QUIET = 3.0  # seconds without a write: longer than any of our programs puts a write off
SHARED = ("endpointslices",)  # of all jobs of the namespace; else objects of jobs that still end do not count
OURS = "system:serviceaccount:nervex-system:"


def main():
    options = parse_options()
    env = read_env(options.env)
    config.load_kube_config(env["KUBECONFIG"])
    log = AuditLog(audit_log_of(options.env))
    jobs = client.CustomObjectsApi()
    began = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda i: jobs.create_namespaced_custom_object(
            GROUP, VERSION, options.namespace, PLURAL, a_job(f"{options.name}-{i:03}", options.workers)),
            range(options.jobs)))
    running = wait_until_running(jobs, options, began)
    events = writes_until_quiet(log, options)
    statuses = [one["status"] for one in jobs.list_namespaced_custom_object(
        GROUP, VERSION, options.namespace, PLURAL)["items"]]
    jobs.delete_collection_namespaced_custom_object(GROUP, VERSION, options.namespace, PLURAL)
    report(options, events, sum(int(status["ready"].partition("/")[2]) for status in statuses), running)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, default=Path(".local/nervex/env"))
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--workers", type=int, default=64, help="collectors of each job")
    parser.add_argument("--name", default="writes", help="what the jobs' names begin with")
    parser.add_argument("--timeout", type=int, default=300, help="seconds")
    parser.add_argument("--after", type=Path, help="JSON line of an earlier run, to compare with")
    return parser.parse_args()


def audit_log_of(env):
    folder = env.resolve().parent
    log = folder / "kwok" / "clusters" / folder.name / "logs" / "audit.log"
    policy = folder / "audit-policy.yaml"
    if not log.exists() or "system:authenticated" not in policy.read_text():
        sys.exit(f"the API server of {folder.name} does not record everybody's writes: start it with AUDIT=all")
    return log


def new_writes(log, options):
    """Writes since the last call in the jobs' namespace about objects of these jobs."""
    for event in log.events():
        at = event.get("objectRef", {})
        is_write = event["verb"] in WRITES and at.get("namespace") == options.namespace \
            and (at.get("resource") in SHARED or at.get("name", options.name).startswith(options.name))
        if not is_write or at.get("resource") in ("leases", PLURAL) and event["verb"] in ("create", "deletecollection"):
            continue
        what = f"{event['verb']} {at['resource']}" + (f"/{at['subresource']}" if at.get("subresource") else "")
        refused = event.get("responseStatus", {}).get("code", 0) >= 400
        yield {"time": seconds(event["stageTimestamp"]), "writer": writer_of(event), "what": what + (" (refused)" if refused else "")}


def writer_of(event):
    """Our programs by their account, other writers by the program's name."""
    user = event["user"]["username"]
    agent = event.get("userAgent", "").split("/")[0].split(" ")[0] or "?"
    return user.removeprefix(OURS) if user.startswith(OURS) and "scheduler" not in agent else agent


def writes_until_quiet(log, options):
    deadline = time.monotonic() + options.timeout
    written, since = [], time.monotonic()
    while time.monotonic() - since < QUIET:
        if time.monotonic() > deadline:
            sys.exit(f"still writing after {options.timeout} s")
        time.sleep(0.2)
        if new := list(new_writes(log, options)):
            written += new
            since = time.monotonic()
    return written


def report(options, events, pods, running):
    counts = collections.Counter((event["writer"], event["what"]) for event in events)
    creations = [event["time"] for event in events if event["what"] == "create pods"]
    first = min(event["time"] for event in events)
    created = max(creations) - first
    before = {}
    if options.after:
        before = {tuple(key.split(" ", 1)): count for key, count in json.loads(
            options.after.read_text().splitlines()[-1])["writes"].items()}
    print(f"{options.jobs} jobs, {pods} pods: {created:.2f} s from the first write to the last pod created, "
          f"all running after {running:.1f} s")
    print(f"{'writer':<22}{'what':<34}" + (f"{'before':>8}" if before else "")
          + f"{'count':>8}{'per job':>10}{'per pod':>10}")
    for writer, what in sorted({*counts, *before}):
        count = counts[writer, what]
        print(f"{writer:<22}{what:<34}" + (f"{before.get((writer, what), 0):>8}" if before else "")
              + f"{count:>8}{count / options.jobs:>10.2f}{count / pods:>10.3f}")
    of_job = sum(count for (writer, what), count in counts.items()
                 if writer in ("nervex-controller", "nervex-server") and "events" not in what)
    services = counts["nervex-controller", "create services"]
    told = sum(count for (_, what), count in counts.items() if what == "create events")
    print(f"controller and server, without Events: {of_job} = pods + services + "
          f"{(of_job - pods - services) / options.jobs:.2f} per job; Events created per job: {told / options.jobs:.2f}")
    print(json.dumps({"bench": "writes", "jobs": options.jobs, "pods": pods, "all_created": round(created, 2),
                      "running": round(running, 2),
                      "writes": {f"{writer} {what}": count for (writer, what), count in sorted(counts.items())}}))


if __name__ == "__main__":
    main()
