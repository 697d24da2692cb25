"""The rounds as a table for the terminal, as one JSON line, and as docs/benchmarks.md."""

import json

from gang import budgets, results
from gang.results import select
from tables import spread, table

BLANK = "–"


def columns(scenario):
    """[(heading, digits, value of a round)]; the side's deciding programs are passed on."""
    common = [("pods/s", 0, lambda one, _: one["rate"]),
              ("first gang, s", 2, lambda one, _: one["first_gang"]),
              ("last gang, s", 2, lambda one, _: one["last_gang"]),
              ("p99 of a pod, s", 2, lambda one, _: one["p99_wait"]),
              ("all run, s", 2, lambda one, _: one["all_run"])]
    waiting = [("whole", 0, lambda one, _: one["whole"]), ("in part", 0, lambda one, _: one["partial"]),
               ("last bind, s", 2, lambda one, _: one["seconds"]),
               ("waiting: scheduler, CPU s in 30 s", 2, lambda one, deciding: in_30_s(one, deciding)),
               ("waiting: API server, CPU s in 30 s", 2, lambda one, _: in_30_s(one, ("apiserver",)))]
    usage = [("API server, CPU s", 2, lambda one, _: one["cpu"]["apiserver"]),
             ("scheduler, CPU s", 2, results.scheduler_cpu),
             ("controllers, CPU s", 2, results.controllers_cpu),
             ("scheduler, MiB", 0, results.scheduler_mib),
             ("API server, MiB", 0, lambda one, _: one["peak_mib"]["apiserver"])]
    return (waiting if scenario.is_contention else common) + usage


def in_30_s(one, names):
    return results.scheduler_cpu(one, names, "cpu_waiting") * 30 / one["waiting_seconds"]


def cell(values, digits):
    seen = spread(values)
    if seen is None:
        return BLANK
    text = f"{seen['median']:.{digits}f}"
    if len(values) > 1:
        text += f" ({seen['least']:.{digits}f}–{seen['most']:.{digits}f})"
    return text


def rows(rounds, scenario, sides):
    """A heading, and a row for each side that was measured."""
    shown = columns(scenario)
    found = [["side", *(heading for heading, _, _ in shown)]]
    for side in sides:
        measured = select(rounds, scenario.name, side.name)
        if measured:
            found.append([title_of(side, measured, scenario),
                          *(cell([value(one, side.deciding) for one in measured], digits)
                            for _, digits, value in shown)])
    return found


def title_of(side, measured, scenario):
    short = sum(not one["complete"] for one in measured)
    return side.title + (f" ({short} of {len(measured)} rounds not all bound)" if short else "")


def verdict_rows(rounds):
    found = [["scenario", "budget", "limit", "measured", "range", ""]]
    for budget, seen, held in budgets.verdicts(rounds):
        sign = "≥" if budget.at_least else "≤"
        found.append([budget.scenario, budget.what, f"{sign} {budget.limit:g}", f"{seen['figure']:.2f}",
                      f"{seen['least']:.2f}–{seen['most']:.2f}", "hit" if held else "**missed**"])
    return found


def text(rounds, scenarios, sides):
    parts = [f"{scenario.title}\n{table(rows(rounds, scenario, sides))}" for scenario in scenarios
             if any(one["scenario"] == scenario.name for one in rounds)]
    if len(verdict_rows(rounds)) > 1:
        parts.append("budgets\n" + table(verdict_rows(rounds)).replace("**", ""))
    return "\n\n".join(parts)


def json_line(about, rounds, scenarios, sides):
    measured = {}
    for scenario in scenarios:
        for side in sides:
            of_side = select(rounds, scenario.name, side.name)
            if of_side:
                measured.setdefault(scenario.name, {})[side.name] = {
                    heading: spread([value(one, side.deciding) for one in of_side])
                    for heading, _, value in columns(scenario)}
    return json.dumps({"bench": "gang", **about, "scenarios": measured, "budgets": [
        {"scenario": budget.scenario, "what": budget.what, "limit": budget.limit, **seen, "holds": held}
        for budget, seen, held in budgets.verdicts(rounds)]}, ensure_ascii=False)
