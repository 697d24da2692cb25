"""What does a review cost nervex-webhook, beside webhooks as others write them in Go?

All sides get the same reviews over TLS connections that stay open, in turn, round by round. CPU time is that of the
process, user and system; latencies are the caller's. Prints a table with the budgets, and one JSON line. With --page the
results become a chapter of a page.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from admission import programs, report, reviews

HOOKS = {"mutate": "/mutate-nervex-sensetime-com-v1alpha1-nervexjob",
         "validate": "/validate-nervex-sensetime-com-v1alpha1-nervexjob"}
SIZES = {"4 kB": 4_200, "250 kB": 250_000}
RATE = 1_000
CALM = 10  # seconds after the last review, in which memory may be given back


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        setup = programs.Setup(folder, options.ours, options.peers)
        for name, size in SIZES.items():
            reviews.write(setup.folder / file_of(name), size)
        cluster = stack.enter_context(programs.cluster(setup))
        setup.point_to(cluster)
        sides = [stack.enter_context(one) for one in all_sides(setup, options)]
        rounds = [one_round(options, setup, sides, number) for number in range(options.rounds)]
        time.sleep(CALM)
        memory = {side.name: side.memory_mib() for side in sides}
        dry_runs = first_sight(options, setup, cluster) if "dry run" in options.side else None
    results = {"rounds": rounds, "memory": memory, "dry_runs": dry_runs, "about": about(options)}
    print(report.text(results))
    print(report.json_line(results))
    if options.page:
        report.write_into(options.page, results)


def parse_options():
    parser = argparse.ArgumentParser(prog="scripts/bench --admission", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, help="folder with nervex-webhook and admission_load")
    parser.add_argument("--peers", required=True, help="folder with typed, openapi and cluster")
    parser.add_argument("--side", nargs="+", default=list(report.SIDES), choices=report.SIDES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=2_000, help="a round, of 4 kB; of 250 kB a twentieth")
    parser.add_argument("--callers", type=int, default=8, help="connections without a pause, for CPU time (8)")
    parser.add_argument("--seconds", type=float, default=3, help=f"a round, at {RATE} reviews a second")
    parser.add_argument("--page", help="write the results as a chapter of it, docs/benchmarks.md for example")
    return parser.parse_args()


def all_sides(setup, options):
    known = [programs.nervex(setup, "asking", []), programs.nervex(setup, "nervex", programs.ALONE),
             programs.typed(setup), programs.openapi(setup)]
    return [one for one in known if one.name in options.side]


def file_of(size):
    return f"reviews-{size.replace(' ', '-')}"


def one_round(options, setup, sides, number):
    """{side: {what: figures}}; who begins changes."""
    measured = {side.name: {} for side in sides}
    first = number % len(sides)
    for size in SIZES:
        calls = options.calls if size == "4 kB" else max(10, options.calls // 20)
        for hook in HOOKS:
            for side in sides[first:] + sides[:first]:
                before = side.cpu_seconds()
                load(options, setup, side, hook, size, calls)
                cpu = (side.cpu_seconds() - before) * 1e6 / calls
                measured[side.name][f"{hook}, {size}"] = {"cpu_us": cpu}
    for hook in HOOKS:
        for side in sides[first:] + sides[:first]:
            seen = load(options, setup, side, hook, "4 kB", int(RATE * options.seconds), RATE)
            measured[side.name][f"{hook} at {RATE}/s"] = {"p50_us": seen["p50_us"], "p99_us": seen["p99_us"]}
    print(f"round {number + 1} of {options.rounds}: " + ", ".join(
        f"{name} {found['validate, 4 kB']['cpu_us']:.0f}" for name, found in measured.items())
        + " us CPU for validate, 4 kB", file=sys.stderr)
    return measured


def load(options, setup, side, hook, size, calls, rate=0, reviews_file=None):
    connections = 8 if rate else options.callers
    command = [Path(options.ours) / "admission_load", f"127.0.0.1:{side.port}", setup.ca, HOOKS[hook],
               reviews_file or setup.folder / file_of(size), connections, calls, rate]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{side.name}: {done.stderr}")
    return json.loads(done.stdout)


def first_sight(options, setup, cluster):
    """The dry run of templates: its cost without and with a cached verdict."""
    flags = [*programs.DRY_RUNS, "--pod-access", "off", "--capacity", "off"]
    found = []
    for number in range(options.rounds):
        new = setup.folder / f"new-{number}"
        reviews.write(new, SIZES["4 kB"], unique=True)
        with programs.nervex(setup, "dry-runs", flags) as side:
            seen = {"asked": counts(cluster)}
            for what in ("new", "known"):
                before = side.cpu_seconds()
                latency = load(options, setup, side, "validate", "4 kB", reviews.COUNT, reviews_file=new)
                seen[what] = {"cpu_us": (side.cpu_seconds() - before) * 1e6 / reviews.COUNT,
                              "p50_us": latency["p50_us"]}
            seen["asked"] = counts(cluster) - seen["asked"]
        found.append(seen)
    return found


def counts(cluster):
    reply = cluster.exchange(b"GET /counts HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
    return json.loads(reply.partition(b"\r\n\r\n")[2])["dry_runs"]


def about(options):
    cpu = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), "?")
    modules = (programs.ROOT / "bench/admission/peers/go.mod").read_text(encoding="utf-8")
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False,
                            cwd=programs.ROOT).stdout.strip()
    return {"machine": f"{cpu}, {os.cpu_count()} cores, Linux {os.uname().release}", "nervex": commit,
            "controller_runtime": re.search(r"controller-runtime (v\S+)", modules).group(1),
            "kubernetes": re.search(r"k8s.io/api (v\S+)", modules).group(1),
            "rounds": options.rounds, "calls": options.calls, "callers": options.callers, "nodes": programs.NODES}


if __name__ == "__main__":
    main()
