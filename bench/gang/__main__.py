"""How fast do gangs start, beside those of others, and what does it cost?

On one control plane with simulated nodes: the gangs of each scenario are created by each side in turn, round by round,
and only the programs of the side whose turn it is run. Times come from the API server's audit log: from the first
create request to the last pod bound, everything that a side writes included. CPU time counts until the API server is
calm again. Prints a table with the budgets, and one JSON line.

A round is kept as soon as it was measured: a run that was cut off goes on where it was, with the same command.
"""

import argparse
import datetime
import http.client
import itertools
import os
import shlex
import subprocess
import sys
import time

from tools.base.console import Failure, say, show_logs, warn
from tools.base.tree import ROOT
from tools.cluster import suite
from tools.cluster.api import ApiError
from tools.controlplane import binaries

from gang import cluster, page, programs, report, results, scenarios, sides, stages, steps
from gang.rounds import Bench

FAILURES = (Failure, ApiError, OSError, http.client.HTTPException)  # of a control plane that is busy
GUESS = 20.0  # seconds of a round, before one like it was measured


def main():
    options = parse_options()
    default = scenarios.SWEEP if options.sweep else scenarios.SCENARIOS
    chosen = [scenarios.named(name) for name in options.scenario or default]
    compared = choose_sides(options)
    if options.report_only:
        return show(options, *results.load(options.results), chosen, compared)
    kept = open_results(options)
    try:
        with cluster.running(options.cluster, options.keep) as up:
            bench = Bench(up, options.workers, options.timeout, options.idle, options.window, options.sweep)
            bench.prepare(compared)
            measure(options, bench, kept, chosen, compared)
    except Failure as failure:
        raise SystemExit(show_logs(failure.logs) + f"\nerror: {failure}") from failure
    return show(options, kept.about, kept.rounds, chosen, compared)


def parse_options():
    parser = argparse.ArgumentParser(prog="scripts/bench --gang", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ", ".join(scenarios.SCENARIOS)
    parser.add_argument("--rounds", type=int, default=5, help="of each scenario and side (5)")
    parser.add_argument("--contention-rounds", type=int, default=3, help="of contention, whose rounds are long (3)")
    parser.add_argument("--scenario", action="append", metavar="NAME",
                        help=f"may be repeated: {names}; small, a check that all works; near, pods in one block of nodes; or GANGSxPODS@NODES (all)")
    parser.add_argument("--side", action="append", metavar="NAME",
                        help=f"may be repeated: ours, {', '.join(one.name for one in sides.PEERS)}, variants (all); or, to see "
                             f"what a job's pods cost any scheduler, {' and '.join(one.name for one in steps.SIDES)}")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME:PROGRAM=FLAGS", type=variant,
                        help="a further side: ours with more flags for a program, for example "
                             "direct:controller=--some-flag, or, as before:bin=FOLDER, the programs of another build; "
                             "may be repeated")
    parser.add_argument("--sweep", action="store_true",
                        help="ours alone, with 100 to 15,000 nodes, 1 to 1,000 gangs, 10 to 5,000 pods: stages and cost")
    parser.add_argument("--results", help="file of the rounds (build/bench/gang.jsonl, sweep.jsonl)")
    parser.add_argument("--fresh", action="store_true", help="put the rounds of an earlier run aside")
    parser.add_argument("--report-only", action="store_true", help="measure nothing: show what the file has")
    parser.add_argument("--page", metavar="FILE",
                        help="write the results as a page, docs/benchmarks.md for example; with --sweep into a chapter "
                             "of it, docs/performance.md for example")
    parser.add_argument("--cluster", default="bench-gang", help="its name (bench-gang)")
    parser.add_argument("--keep", action="store_true", help="leave the cluster up at the end")
    parser.add_argument("--workers", type=int, default=16, help="requests at once of the creator of objects (16)")
    parser.add_argument("--timeout", type=float, default=90, help="seconds for the gangs of a round to be bound (90)")
    parser.add_argument("--idle", type=float, default=15, help="seconds without a bind after which no more comes (15)")
    parser.add_argument("--window", type=float, default=10, help="seconds for which waiting gangs are measured (10)")
    options = parser.parse_args()
    kind = "sweep" if options.sweep else "gang"
    options.results = options.results or os.path.join(ROOT, "build", "bench", f"{kind}.jsonl")
    return options


def variant(text):
    name, _, rest = text.partition(":")
    program, _, flags = rest.partition("=")
    if not name.isalnum() or not name.islower() or program not in (*suite.PROGRAMS, programs.FOLDER) or not flags:
        raise argparse.ArgumentTypeError(f"not NAME:PROGRAM=FLAGS, with a name in lower case: {text!r}")
    return name, program, flags


def choose_sides(options):
    flags = {}
    for name, program, more in options.variant:
        flags.setdefault(name, {})[program] = more
    compared = [sides.ours(), *(sides.ours(name, more) for name, more in flags.items()), *sides.PEERS]
    known = [*compared, *steps.SIDES]
    unknown = set(options.side or ()) - {one.name for one in known}
    if unknown:
        sys.exit(f"no such side: {', '.join(sorted(unknown))}; there are {', '.join(one.name for one in known)}")
    wanted = options.side or (["ours"] if options.sweep else [one.name for one in known])
    return [one for one in known if one.name in wanted]


# -- what was measured before

def open_results(options):
    if options.fresh and os.path.exists(options.results):
        os.replace(options.results, options.results + ".before")
    about = {"machine": results.machine(), "versions": versions(), "workers": options.workers,
             "variants": {name: f"{program} {flags}" for name, program, flags in options.variant}}
    try:
        return results.Results(options.results, about)
    except ValueError as error:
        sys.exit(f"{options.results} has rounds of another run ({error}): --fresh puts them aside")


def versions():
    """Ours as the commit, with the programs' folder: a debug build is slower."""
    return {"nervex": commit(), "kubernetes": binaries.kubernetes_version(),
            "scheduler-plugins": module_version("coscheduling", "sigs.k8s.io/scheduler-plugins"),
            "training-operator": module_version("training-operator", "github.com/kubeflow/training-operator"),
            "build": os.path.relpath(cluster.binaries(), ROOT)}


def module_version(folder, module):
    with open(os.path.join(binaries.MODULES, folder, "go.mod"), encoding="utf-8") as file:
        return next(line.split()[1] for line in file if line.startswith(f"\t{module} v"))


def commit():
    """With a mark if something but pages was changed since: this writes some."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", ".", ":!docs")
    return (git("rev-parse", "--short=10", "HEAD") or "unknown") + (" with changes" if changed else "")


# -- the rounds

def rounds_of(options, scenario):
    return options.contention_rounds if scenario.is_contention else options.rounds


def in_turn(options, scenario, compared):
    """(number, side) of each round; who begins changes, so that none always follows the same one."""
    for number in range(1, rounds_of(options, scenario) + 1):
        shift = (number - 1) % len(compared)
        for side in compared[shift:] + compared[:shift]:
            yield number, side


class Progress:
    """What is left, and how long that takes."""

    def __init__(self, due):
        self._due, self._took = list(due), {}
        self.total, self.done = len(self._due), 0

    def finish(self, scenario, side, seconds):
        self._took.setdefault((scenario, side), []).append(seconds)
        self._due.remove((scenario, side))
        self.done += 1

    def left(self):
        """Seconds."""
        known = [seconds for times in self._took.values() for seconds in times]
        mean = sum(known) / len(known) if known else GUESS
        return sum(self._mean(one, mean) for one in self._due)

    def _mean(self, one, otherwise):
        times = self._took.get(one)
        return sum(times) / len(times) if times else otherwise


def measure(options, bench, kept, chosen, compared):
    plan = {scenario: [(number, side) for number, side in in_turn(options, scenario, compared)
                       if not kept.has(scenario.name, side.name, number)] for scenario in chosen}
    progress = Progress((scenario.name, side.name) for scenario, due in plan.items() for _, side in due)
    say(f"{progress.total} rounds are to be measured, about {progress.left() / 60:.0f} minutes")
    for scenario, due in plan.items():
        if due:
            bench.set_nodes(scenario.nodes, scenario.block)
            warm_up(bench, scenario, compared, options)
        for number, side in due:
            one_round(bench, kept, progress, scenario, side, number)


def warm_up(bench, scenario, compared, options):
    """The API server has not seen that many nodes yet: a round whose figures are not kept. None if one round is asked
    for, which is a check that all works."""
    if options.rounds > 1:
        try:
            bench.run(next((side for side in compared if not side.of_ours), compared[0]), scenario, 0)
        except FAILURES as failure:
            warn(f"{scenario.name}, before the rounds: {failure!r}")
    if scenario.is_contention:
        bench.measure_alone()


def one_round(bench, kept, progress, scenario, side, number):
    """One that fails is left out: the next run makes up for it."""
    began = time.monotonic()
    try:
        figures = bench.run(side, scenario, number)
    except FAILURES as failure:
        warn(f"{scenario.name} {side.name} {number}: {failure!r}\n"
             + show_logs(getattr(failure, "logs", ())))
        figures = None
    else:
        kept.add(scenario.name, side.name, number, figures)
    progress.finish(scenario.name, side.name, time.monotonic() - began)
    until = datetime.datetime.now() + datetime.timedelta(seconds=progress.left())
    say(f"[{progress.done}/{progress.total}, until {until:%H:%M}] {scenario.name:<10} {side.name:<8} round {number}: "
        + (summary(side, figures) if figures else "failed"))


def summary(side, figures):
    return (f"{figures['rate']:7.1f} pods/s, {figures['bound']} of {figures['expected']} bound, "
            f"gangs {figures['whole']} whole and {figures['partial']} in part, "
            f"CPU s: API server {figures['cpu']['apiserver']:.1f}, "
            f"scheduler {results.scheduler_cpu(figures, side.deciding):.1f}")


# -- the end

def show(options, about, rounds, chosen, compared):
    say(report.text(rounds, chosen, compared))
    if options.sweep:
        say(stages.tables(rounds, chosen, compared[0]))
    if options.page:
        write_page(options, about, rounds, chosen, compared)
    say(report.json_line(about, rounds, chosen, compared))
    missing = [f"{scenario.name} {side.name} {number}" for scenario in chosen
               for number, side in in_turn(options, scenario, compared)
               if not any((one["scenario"], one["side"], one["round"]) == (scenario.name, side.name, number)
                          for one in rounds)]
    if missing and not options.report_only:
        warn(f"not measured: {', '.join(missing)}. The same command measures these alone.")
        return 1
    return 0


def write_page(options, about, rounds, chosen, compared):
    if options.sweep:
        where = page.machine(about, rounds, chosen, command()).replace("## Where", "### Where")
        stages.write(options.page, stages.tables(rounds, chosen, compared[0]) + "\n\n" + where.rstrip())
    else:
        page.write(options.page, about, rounds, chosen, compared, command())
    say(f"written: {options.page}")


def command():
    """What was typed, without what says where the results of this machine are."""
    words = [word for before, word in itertools.pairwise(["", *sys.argv[1:]])
             if word not in ("--fresh", "--report-only", "--results") and before != "--results"]
    return "scripts/bench --gang" + "".join(" " + shlex.quote(word) for word in words)


if __name__ == "__main__":
    sys.exit(main())
