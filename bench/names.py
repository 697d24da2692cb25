#!/usr/bin/env python3
"""What do names in DNS cost the control plane when PODS pods start?

Bare pods of the default scheduler on simulated nodes, none of our programs: without names, with one headless
Service for the namespace (--services=shared) and with one for each pod (per-pod). In turn, ROUNDS times. Each
round ends when every pod runs, the Endpoints and EndpointSlices have every address, and nothing is written to
etcd for a while. Prints the medians of the CPU of each process of the control plane and of the writes to etcd
and their bytes, as a table and as one JSON line. Needs a cluster of `make up SUITE=0 CPU_NODES=...`: 110 pods
fit on a node.
"""

import argparse
import json
import os
import re
import statistics
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kubernetes import client, config
from environment import read_env

MODES = ("none", "shared", "per-pod")
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "etcd")
LABELS = {"bench": "names"}
QUIET = 3.0  # seconds without a write


def main():
    options = parse_options()
    config.load_kube_config(read_env(options.env)["KUBECONFIG"])
    control_plane = ControlPlane(options.env.resolve().parent)
    rounds = []
    for number in range(options.rounds):
        for mode in MODES:
            rounds.append({"mode": mode, **one_round(options, control_plane, f"names-{number}-{mode}", mode)})
            print(json.dumps(rounds[-1]), file=sys.stderr)
    report(options, rounds)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, default=Path(".local/nervex/env"))
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=int, default=600, help="seconds per round")
    return parser.parse_args()


class ControlPlane:
    """CPU of its processes and what etcd has written, found by the cluster's folder."""

    def __init__(self, folder):
        self.pids, self.etcd = {}, None
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = Path("/proc", pid, "cmdline").read_text().split("\0")
            except OSError:
                continue
            name = os.path.basename(words[0])
            if str(folder) in " ".join(words) and name in COMPONENTS:
                self.pids[name] = pid
                if name == "etcd":
                    self.etcd = next(re.search(r"http://[^,]+", word)[0] for word in words
                                     if word.startswith("--advertise-client-urls"))
        if set(self.pids) != set(COMPONENTS):
            sys.exit(f"no control plane of {folder} runs here: found {sorted(self.pids)}")

    def cpu(self):
        ticks = os.sysconf("SC_CLK_TCK")
        return {name: sum(map(int, Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[11:13])) / ticks
                for name, pid in self.pids.items()}

    def puts(self):
        """(writes, bytes) since etcd began."""
        with urllib.request.urlopen(self.etcd + "/metrics", timeout=10) as reply:
            values = dict(line.rpartition(" ")[::2] for line in reply.read().decode().splitlines() if line[:1] != "#")
        return float(values["etcd_mvcc_put_total"]), float(values["etcd_debugging_mvcc_total_put_size_in_bytes"])


def pod(name, namespace, mode):
    names = {"hostname": name, "subdomain": namespace} if mode == "shared" else {}
    return {"metadata": {"name": name, "labels": {**LABELS, "pod-name": name}},
            "spec": {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "10m"}}}],
                     "terminationGracePeriodSeconds": 0, **names}}


def service(name, selector):
    return {"metadata": {"name": name, "labels": LABELS},
            "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector}}


def one_round(options, control_plane, namespace, mode):
    core = client.CoreV1Api()
    core.create_namespace({"metadata": {"name": namespace}})
    wait(options, lambda: core.list_namespaced_service_account(namespace).items)
    names = [f"pod-{number:04}" for number in range(options.pods)]
    wait_until_quiet(control_plane, options)
    cpu, puts, began = control_plane.cpu(), control_plane.puts(), time.monotonic()
    if mode == "shared":
        core.create_namespaced_service(namespace, service(namespace, LABELS))

    def create(name):
        if mode == "per-pod":
            core.create_namespaced_service(namespace, service(name, {"pod-name": name}))
        core.create_namespaced_pod(namespace, pod(name, namespace, mode))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(create, names))
    wait(options, lambda: len(core.list_namespaced_pod(
        namespace, field_selector="status.phase=Running", resource_version="0").items) == options.pods, pause=0.5)
    if mode != "none":
        wait(options, lambda: addresses(namespace) == options.pods, pause=1)
    ended = wait_until_quiet(control_plane, options)
    now, written = control_plane.cpu(), control_plane.puts()
    seen = {"seconds": round(ended - began, 1), **{name: round(now[name] - cpu[name], 2) for name in COMPONENTS},
            "etcd writes": int(written[0] - puts[0]), "etcd MB": round((written[1] - puts[1]) / 1e6, 2)}
    core.delete_collection_namespaced_pod(namespace, grace_period_seconds=0)
    core.delete_namespace(namespace)
    wait(options, lambda: namespace not in [one.metadata.name for one in core.list_namespace().items], pause=1)
    return seen


def addresses(namespace):
    # As text: the client refuses slices without endpoints.
    reply = client.DiscoveryV1Api().list_namespaced_endpoint_slice(namespace, resource_version="0",
                                                                   _preload_content=False)
    return sum(len(one.get("endpoints") or []) for one in json.loads(reply.data)["items"])


def wait(options, holds, pause=0.1):
    deadline = time.monotonic() + options.timeout
    while not holds():
        if time.monotonic() > deadline:
            sys.exit(f"gave up after {options.timeout} s")
        time.sleep(pause)


def wait_until_quiet(control_plane, options):
    """When the last write was seen. Leases go on: a few writes a second are nothing."""
    deadline = time.monotonic() + options.timeout
    quiet_since, before = time.monotonic(), control_plane.puts()[0]
    while time.monotonic() - quiet_since < QUIET and time.monotonic() < deadline:
        time.sleep(0.5)
        now = control_plane.puts()[0]
        if now - before > 25:
            quiet_since = time.monotonic()
        before = now
    return quiet_since


def report(options, rounds):
    keys = [key for key in rounds[0] if key != "mode"]
    medians = {mode: {key: round(statistics.median(one[key] for one in rounds if one["mode"] == mode), 2)
                      for key in keys} for mode in MODES}
    print(f"{options.pods} bare pods, medians of {options.rounds} rounds; CPU in seconds\n")
    print("| names | " + " | ".join(keys) + " |")
    print("|---" * (len(keys) + 1) + "|")
    for mode, one in medians.items():
        print(f"| {mode} | " + " | ".join(str(one[key]) for key in keys) + " |")
    print(json.dumps({"benchmark": "names", "pods": options.pods, "rounds": options.rounds, **medians}))


main()
