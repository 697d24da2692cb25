"""What does a full cluster cost the extender: thousands of nodes, each with its pods?

On a control plane of its own the nodes are filled with pods of others, which have their node from the start. Then: how
long from the start of nervex-extender to the first plan; how soon gangs are bound; and what it costs that pods of others
come and go while no gang waits. Simulated kubelets stand still meanwhile: a pod counts from when it has its node. Prints
a table and one JSON line.
"""

import argparse
import contextlib
import json
import os
import signal
import time

from tools.base import processes, usage
from tools.base.console import say, wait_for
from tools.cluster import control_plane
from tables import table

from gang import cluster, scenarios, sides
from gang.parallel import create, delete
from gang.rounds import Bench

FOREIGN = "foreign"
GANGS = (10, 200)
CHURN = 1000  # pods that are there at once, while they come and go


def main():
    options = parse_options()
    side = sides.ours()
    with cluster.running(options.cluster) as up:
        bench = Bench(up, options.workers, timeout=120, idle=60, window=10, holds=False)
        bench.prepare([side])
        bench.set_nodes(options.nodes)
        with standing_still(control_plane.records(up.settings)["kwok-controller"]["pid"]):
            fill(bench, options)
            measured = measure(bench, side, options)
    report(options, measured)


def parse_options():
    parser = argparse.ArgumentParser(prog="scripts/bench --full", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000, help="(5000)")
    parser.add_argument("--pods", type=int, default=30, help="of others on each node (30)")
    parser.add_argument("--changes", type=int, default=20_000, help="of pods that come and go (20000)")
    parser.add_argument("--rounds", type=int, default=3, help="of restart and of each gang (3)")
    parser.add_argument("--cluster", default="bench-full", help="its name (bench-full)")
    parser.add_argument("--workers", type=int, default=16, help="requests at once (16)")
    return parser.parse_args()


@contextlib.contextmanager
def standing_still(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


# -- pods of others

def foreign(number, node):
    pod = {"metadata": {"name": f"foreign-{number:06}"},
           "spec": {"nodeName": f"node-{node:05}", "restartPolicy": "Never", "automountServiceAccountToken": False,
                    "containers": [{"name": "main", "image": "foreign:1",
                                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]}}
    return create(f"/api/v1/namespaces/{FOREIGN}/pods", pod)


def fill(bench, options):
    bench.requests.send_all([create("/api/v1/namespaces", {"metadata": {"name": FOREIGN}})])
    account = f"/api/v1/namespaces/{FOREIGN}/serviceaccounts?fieldSelector=metadata.name%3Ddefault"
    wait_for(lambda: (bench.api.get(account)["items"], None), "the ServiceAccount of the namespace", 30)
    total, began = options.nodes * options.pods, time.monotonic()
    for first in range(0, total, 10_000):
        numbers = range(first, min(first + 10_000, total))
        bench.requests.send_all([foreign(number, number % options.nodes) for number in numbers])
        rate = (numbers.stop) / (time.monotonic() - began)
        say(f"{numbers.stop:,} of {total:,} pods, {rate:.0f} a second")


def come_and_go(bench, options, first):
    """Changes per second. Each pod is deleted after a thousand others have come."""
    requests = []
    for number in range(options.changes // 2 + CHURN):
        if number < options.changes // 2:
            requests.append(foreign(first + number, number % options.nodes))
        if number >= CHURN:
            name = f"foreign-{first + number - CHURN:06}"
            requests.append(delete(f"/api/v1/namespaces/{FOREIGN}/pods/{name}", {"gracePeriodSeconds": 0}))
    began = time.monotonic()
    bench.requests.send_all(requests)
    return len(requests) / (time.monotonic() - began)


# -- what is measured

def measure(bench, side, options):
    programs = side.programs(bench.cluster)
    programs.start()
    try:
        bench.set_aggregators(scenarios.named(f"1x10@{options.nodes}"))
        measured = {"restart to first plan, s": [restart(bench, side, number) for number in range(options.rounds)]}
        for pods in GANGS:
            scenario = scenarios.named(f"1x{pods}@{options.nodes}")
            measured[f"gang of {pods}: create request of the job to last bind, s"] = [
                start(bench, side, scenario, programs, number) for number in range(options.rounds)]
        extender = programs.running()["extender"]
        before, began = usage.cpu_seconds(extender), time.monotonic()
        rate = come_and_go(bench, options, options.nodes * options.pods)
        share = (usage.cpu_seconds(extender) - before) / (time.monotonic() - began)
        measured["foreign pods come and go: changes a second"] = [round(rate)]
        measured["meanwhile, nervex-extender: % of a core"] = [round(100 * share, 1)]
        measured["nervex-extender: MiB resident"] = [usage.resident_mib(extender)]
        return measured
    finally:
        programs.stop()


def restart(bench, side, number):
    """Seconds from the start of the process to a plan for a gang that existed before it."""
    extender = bench.cluster.programs["extender"]
    processes.stop([extender])
    scenario = scenarios.named("1x10@0")
    (name,) = scenario.gang_names(f"restart-{number}")
    _, jobs = side.requests(side, scenario, [name])
    bench.requests.send_all(jobs)
    groups = sides.path(sides.NERVEX, side.namespace, "podgroups")
    wait_for(lambda: (bench.api.get(groups)["items"], None), f"the PodGroup of {name}", 30, 0.05)
    began = time.monotonic()
    bench.cluster.launch("extender", extender["port"], extender["metrics_port"])
    wait_for(lambda: (all(map(is_planned, bench.api.get(groups)["items"])), None), f"a plan for {name}", 120, 0.02)
    took = time.monotonic() - began
    bench.cluster.wait_until_ready("extender")
    bench.clear(side)
    return round(took, 2)


def is_planned(group):
    return any(gang.get("planned") for gang in group.get("status", {}).get("gangs", []))


def start(bench, side, scenario, programs, number):
    figures = bench.measure(side, scenario, scenario.gang_names(f"{side.name}-{number}"), programs)
    bench.clear(side)
    return figures["seconds"] if figures["complete"] else None


def report(options, measured):
    rows = [(what, ", ".join(str(one) for one in values)) for what, values in measured.items()]
    say(f"{options.nodes:,} nodes, {options.nodes * options.pods:,} pods of others")
    say(table([("what", "each round"), *rows]))
    say(json.dumps({"bench": "full", "nodes": options.nodes, "pods": options.nodes * options.pods, **measured}))


if __name__ == "__main__":
    main()
