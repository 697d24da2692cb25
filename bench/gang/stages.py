"""What a start of ours spends its time on: when each stage was reached, by the audit log, as a table for
docs/performance.md."""

import threading
import time
import urllib.error

from gang import report
from gang.audit import gang_of
from gang.results import scheduler_cpu, select
from tables import markdown, spread, write_chapter

MARKS = "<!-- stages: written by scripts/bench --gang --sweep -->", "<!-- end of stages -->"

# Between kubectl create and the last bind. What is told of many gangs: when the first one and the last one got there.
STAGES = ("job accepted", "PodGroup written", "plan written", "first pod created", "last pod created",
          "first bind call held", "most bind calls held", "committed", "first pod bound", "last pod bound")
CONTROLLER, EXTENDER = "nervex-controller", "nervex-extender"


def stages_of(seen, held):
    """{stage: [seconds from the first create request at which the first and the last gang reached it]}. `held`: the
    times at which bind calls were seen to be held."""
    reached = {stage: [] for stage in STAGES}
    for writes in by_gang(seen.writes).values():
        for stage, moment in of_gang(writes).items():
            reached[stage].append(moment)
    for stage, moment in zip(("first bind call held", "most bind calls held"), held):
        reached[stage].append(moment)
    return {stage: [round(min(times) - seen.began, 3), round(max(times) - seen.began, 3)]
            for stage, times in reached.items() if times}


def by_gang(writes):
    found = {}
    for write in writes:
        if write.resource != "events":
            found.setdefault(gang_of(write.name), []).append(write)
    return found


def of_gang(writes):
    """{stage: time}; stages that were not reached are left out."""
    def ended(verb, resource, writer=None):
        return [one.ended for one in writes
                if (one.verb, one.resource) == (verb, resource) and writer in (None, one.writer)]

    planned, created = ended("patch", "podgroups/status", EXTENDER), ended("create", "pods")
    bound = ended("create", "pods/binding")
    # All bind calls wait for the commit, which is the last write of the plan before the first bind.
    begun = min((one.began for one in writes if one.resource == "pods/binding"), default=0.0)
    committed = [moment for moment in planned[1:] if moment <= begun]
    times = {"job accepted": ended("create", "nervexjobs")[:1], "plan written": planned[:1], "committed": committed[-1:],
             "PodGroup written": ended("create", "podgroups", CONTROLLER)[:1],
             "first pod created": created and [min(created)], "last pod created": created and [max(created)],
             "first pod bound": bound and [min(bound)], "last pod bound": bound and [max(bound)]}
    return {stage: found[0] for stage, found in times.items() if found}


class Holds:
    """Reads the extender's count of held bind calls every 50 ms: they are not writes, so no log has them."""

    METRIC = "nervex_extender_held_binds"

    def __init__(self, cluster):
        self._cluster, self._stopping = cluster, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._seen = []  # (seconds since 1970, how many)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        self._thread.join()

    def _look(self):
        while not self._stopping.wait(0.05):
            try:
                count = self._cluster.metrics("extender").get(self.METRIC, 0)
            except (OSError, urllib.error.URLError):
                continue
            self._seen.append((time.time(), count))

    def moments(self):
        """When the first was held, and when the number was highest; empty if none were seen."""
        most = max((count for _, count in self._seen), default=0)
        if not most:
            return []
        return [next(moment for moment, count in self._seen if count),
                next(moment for moment, count in self._seen if count == most)]


# -- the page

REACHED = """### When each stage is reached

Seconds from the first create request to the API server's answer, by its audit log; with many gangs, when the first and
the last one reached the stage. Medians of the rounds. Held bind calls are not writes: the extender's count of them,
over all gangs, is read each 50 ms.

{table}"""
COST = """### What a start costs

Medians of the rounds; CPU time until the API server was idle again, maximum resident memory.

{table}"""


def tables(rounds, scenarios, side):
    measured = [one for one in scenarios if select(rounds, one.name, side.name)]
    return "\n\n".join([REACHED.format(table=markdown(stage_rows(rounds, measured, side))),
                        COST.format(table=markdown(cost_rows(rounds, measured, side)))])


def stage_rows(rounds, measured, side):
    found = [["stage", *(one.title for one in measured)]]
    for stage in STAGES:
        found.append([stage, *(moment_cell(select(rounds, one.name, side.name), stage) for one in measured)])
    return found


def moment_cell(measured, stage):
    ends = [spread([one["stages"].get(stage, [None, None])[end] for one in measured]) for end in (0, 1)]
    if ends[0] is None:
        return report.BLANK
    first, last = (f"{one['median']:.2f}" for one in ends)
    return first if first == last else f"{first} – {last}"


def cost_rows(rounds, measured, side):
    programs = ("apiserver", "scheduler", "extender", "controller")
    found = [["start", "pods/s", *(f"{name}, CPU ms a pod" for name in programs), "all of ours, CPU ms a pod",
              *(f"{name}, MiB" for name in programs)]]
    ours = ("scheduler", "extender", "controller", "webhook", "server")
    for scenario in measured:
        seen = select(rounds, scenario.name, side.name)
        found.append([scenario.title, report.cell([one["rate"] for one in seen], 0),
                      *(a_pod(seen, (name,)) for name in programs), a_pod(seen, ours),
                      *(report.cell([one["peak_mib"][name] for one in seen], 0) for name in programs)])
    return found


def a_pod(measured, names):
    """CPU time of these programs, in ms per bound pod."""
    return report.cell([1000 * scheduler_cpu(one, names) / one["bound"] for one in measured if one["bound"]], 2)


def write(path, text):
    write_chapter(path, MARKS, text, "## Stages of a start\n\n")
