"""docs/benchmarks.md, from the rounds."""

import collections
import os
import re
import shlex

from gang import report
from tables import markdown

INTRODUCTION = """# Benchmarks: how fast gangs start

Written by `make bench-gang`; do not edit. Each figure is the median of the rounds, with the minimum and the maximum in
brackets. Where the time of a start goes: [performance](performance.md).

## What is compared

All sides run on one control plane with simulated nodes, in turn, round by round. Only the programs of the current side
run. All pods have the same requests. The first sides are what users install to run jobs: an object of the user's
becomes pods. Of the others the benchmark makes the pods itself, which shows what scheduling alone costs. Bare pods are
the floor: they have none of what a job needs.

| side | what starts a gang | DNS names of pods | whole gangs | status of the job |
|---|---|---|---|---|
{sides}

- "As shipped": a controller sends 20 requests a second to the API server, a scheduler 50. "Without client limits":
  both are set to 5,000, as for the schedulers of all other peers. Ours is as installed: its kube-scheduler sends 200 a
  second, and our programs have no limit.
- "whole gangs": all pods of a gang are bound, or none. With coscheduling a gang's pods exist while it waits, and are
  bound one by one once all have found a node.
- Kubeflow's operator makes a headless Service for each pod. Its validating webhook is not called. Ours is, and judges
  each job.
- Times are the API server's own: its audit log has each request to the microsecond, and all sides pay for it. "pods/s"
  counts from the first create request to the answer of the last bind. A gang has started when its last pod is bound.
  The p99 is of the time from a pod's create request to its bind; Indexed Jobs have none, since the audit log lacks
  names that the API server generates. "all run" is when the simulated nodes have started the last pod.
- With direct placement a worker counts as bound when its create request, which names its node, is answered. The
  coordinator is bound when all workers run, which no other side waits for; "pods/s" includes that.
- Everything that a side writes is included: PodGroups, status, Services, events.
- CPU time counts from the first request until the API server is idle again. Memory is the maximum that was resident.
  "scheduler" is kube-scheduler, ours with the extender; "controllers" are our webhook, controller and server, the
  training operator, or the controller of Jobs. The benchmark sends {workers} requests at a time; pods that it creates
  cost less than those of a controller.
- Contention: there is capacity for half of the gangs, and pods are created in turn, one of each gang. The cost of the
  waiting gangs afterwards is measured above the idle cost of the control plane.
- The feature gates of native gangs are on in the API server and the controller manager for all sides, and in no
  scheduler but that one. Nodes have no leases: 5,000 of them would make 500 writes a second.
"""


# Of bench/admission, which writes it into the same page.
OTHER_CHAPTER = re.compile(r"\n<!-- admission: .*<!-- end of admission -->\n", re.DOTALL)


def write(path, about, rounds, scenarios, sides, command):
    other = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            found = OTHER_CHAPTER.search(file.read())
            other = found.group(0) if found else ""
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(about, rounds, scenarios, sides, command) + other)


def page(about, rounds, scenarios, sides, command):
    measured = [one for one in scenarios if any(row["scenario"] == one.name for row in rounds)]
    there = [side for side in sides if any(row["side"] == side.name for row in rounds)]
    parts = [INTRODUCTION.format(sides="\n".join(map(described, there)), workers=about["workers"]),
             machine(about, rounds, measured, command), "## Budgets\n",
             "Ratios are ratios of medians; the range is that of single rounds of one number.\n",
             markdown(report.verdict_rows(rounds)) + "\n"]
    for scenario in measured:
        parts += [f"## {scenario.title}\n", markdown(report.rows(rounds, scenario, sides)) + "\n"]
    return "\n".join(parts)


def described(side):
    names = "each pod" if side.names else "each pod, by a Service that the user makes" if side.service else "no"
    status = "yes" if side.has_status else "no job"
    return f"| {side.title} | {MEANING.get(side.name, 'as nervex')} | {names} | {'yes' if side.is_gang else 'no'} | {status} |"


MEANING = {
    "ours": "NerveXJobs of a coordinator, an aggregator and collectors",
    "kubeflow": "TFJobs of workers, and a PodGroup for the scheduler that is built with that plugin",
    "kubeflowfast": "the same",
    "indexed": "batch/v1 Jobs with completionMode Indexed, under the default scheduler",
    "indexedfast": "the same",
    "bare": "pods alone",
    "names": "pods with hostname and subdomain, and one headless Service",
    "cosched": "pods with a PodGroup of the scheduler that is built with that plugin",
    "native": "pods with a PodGroup of `scheduling.k8s.io/v1alpha2`, under a kube-scheduler with the gates on",
}


def count_of(rounds, scenario):
    """The number of rounds of each side: "5", or "2 to 5" if some have fewer."""
    counts = collections.Counter(row["side"] for row in rounds if row["scenario"] == scenario).values()
    return " to ".join(str(count) for count in sorted({min(counts), max(counts)}))


def machine(about, rounds, measured, command):
    host, versions = about["machine"], about["versions"]
    known = {row["scenario"] for row in rounds}
    counts = ", ".join(f"{count_of(rounds, one.name)} of {one.name}"
                       for one in measured if one.name in known)
    lines = [("machine", f"{host['cpu']}, {host['cores']} cores, {host['memory_gib']} GiB, Linux {host['kernel']}"),
             ("nervex", f"{versions['nervex']}, programs of {versions['build']}"),
             ("Kubernetes", versions["kubernetes"]), ("scheduler-plugins", versions["scheduler-plugins"]),
             ("training operator", versions["training-operator"]),
             ("rounds", counts)]
    lines += [(f"variant {name}", f"`{flags}`") for name, flags in about["variants"].items()]
    table = markdown([["what", "which"], *map(list, lines)])
    return f"## Where\n\n{table}\n\n```sh\n{folded(command)}\n```\n"


def folded(command, width=100):
    """The command in lines of about that width, ready to be typed."""
    lines = [[]]
    for word in map(shlex.quote, shlex.split(command)):
        if len(" ".join([*lines[-1], word])) > width:
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(map(" ".join, lines))
