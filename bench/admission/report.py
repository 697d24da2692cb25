"""The rounds as a table for the terminal, as one JSON line, and as a chapter of docs/benchmarks.md."""

import json
import statistics

from tables import markdown, spread, table, write_chapter

SIDES = {
    "asking": "nervex-webhook as it is installed: it asks for the user's right to create pods, dry runs of templates, the "
              "queue, the AggregatorConfig, and whether the pods could ever run on {nodes:,} nodes",
    "nervex": "nervex-webhook with these questions off but those for namespace and AggregatorConfig",
    "typed": "Go: controller-runtime decodes into structs, defaults and checks as a typical operator has them",
    "openapi": "Go: the tree against the whole OpenAPI schema, with the API server's validator",
    "dry run": "",
}
BUDGET_SIDE = "asking"
BUDGETS = (("mutate, 4 kB", 0.35), ("validate, 4 kB", 0.6), ("mutate, 250 kB", 0.25), ("validate, 250 kB", 0.35))
P99_US = 1_500
RESIDENT_MIB = 40
MARKS = "<!-- admission: written by scripts/bench --admission -->", "<!-- end of admission -->"


def cell(values, digits=0):
    seen = spread(values)
    return f"{seen['median']:.{digits}f} ({seen['least']:.{digits}f}–{seen['most']:.{digits}f})"


def figures(results, side, what, key):
    return [one[side][what][key] for one in results["rounds"]]


def sides_of(results):
    return [name for name in SIDES if name in results["rounds"][0]]


def cpu_rows(results):
    names = sides_of(results)
    rows = [["CPU µs a review", *names]]
    for what, _ in BUDGETS:
        rows.append([what, *(cell(figures(results, name, what, "cpu_us")) for name in names)])
    for what in ("mutate at 1000/s", "validate at 1000/s"):
        for key, title in (("p50_us", "p50"), ("p99_us", "p99")):
            rows.append([f"{what}: {title}, µs", *(cell(figures(results, name, what, key)) for name in names)])
    rows.append(["resident 10 s after it all, MiB", *(f"{results['memory'][name][0]:.0f}" for name in names)])
    rows.append(["most resident, MiB", *(f"{results['memory'][name][1]:.0f}" for name in names)])
    return rows


def verdicts(results):
    """[(what, limit, figure, range, holds)]"""
    found = []
    for what, limit in BUDGETS:
        if "typed" not in sides_of(results):
            break
        ours, peer = (figures(results, name, what, "cpu_us") for name in (BUDGET_SIDE, "typed"))
        ratio = statistics.median(ours) / statistics.median(peer)
        single = [a / b for a, b in zip(ours, peer)]
        found.append((f"{what}: CPU against typed", limit, ratio, single, ratio <= limit))
    for what in ("mutate at 1000/s", "validate at 1000/s"):
        p99 = figures(results, BUDGET_SIDE, what, "p99_us")
        found.append((f"{what}: p99, µs", P99_US, statistics.median(p99), p99, statistics.median(p99) <= P99_US))
    resident = results["memory"][BUDGET_SIDE][0]
    found.append(("resident 10 s after it all, MiB", RESIDENT_MIB, resident, [resident], resident <= RESIDENT_MIB))
    return found


def verdict_rows(results):
    rows = [["budget", "limit", "measured", "range", ""]]
    for what, limit, figure, values, holds in verdicts(results):
        digits = 2 if limit < 1 else 0
        rows.append([what, f"≤ {limit:g}", f"{figure:.{digits}f}",
                     f"{min(values):.{digits}f}–{max(values):.{digits}f}", "hit" if holds else "**missed**"])
    return rows


def dry_run_rows(results):
    rows = [["dry run of templates, validate of 4 kB", "CPU µs a review", "p50, µs"]]
    for what, title in (("new", "three templates that are not cached"), ("known", "the same once more")):
        seen = [one[what] for one in results["dry_runs"]]
        rows.append([title, cell([one["cpu_us"] for one in seen]), cell([one["p50_us"] for one in seen])])
    return rows


def tables(results):
    found = [cpu_rows(results)]
    if BUDGET_SIDE in sides_of(results):
        found.append(verdict_rows(results))
    if results["dry_runs"]:
        found.append(dry_run_rows(results))
    return found


def text(results):
    return "\n\n".join(table(one).replace("**", "") for one in tables(results))


def json_line(results):
    measured = {side: {what: {key: spread([one[side][what][key] for one in results["rounds"]]) for key in keys}
                       for what, keys in results["rounds"][0][side].items()} for side in sides_of(results)}
    return json.dumps({"bench": "admission", **results["about"], "sides": measured, "memory_mib": results["memory"],
                       "dry_runs": results["dry_runs"]}, ensure_ascii=False)


def chapter(results):
    about = results["about"]
    shown = "\n".join(f"| {name} | {SIDES[name].format(nodes=about['nodes'])} |" for name in sides_of(results))
    first, *more = (markdown(one) for one in tables(results))
    parts = [
        "## Admission: what a review costs\n",
        "Written by `scripts/bench --admission --page docs/benchmarks.md`; do not edit. Medians of "
        f"{about['rounds']} rounds in turn,\nwith the minimum and the maximum in brackets. All sides get the same valid "
        f"jobs with three templates over TLS\nconnections that stay open: {about['callers']} without a pause for CPU time, "
        "eight at 1,000 reviews a second for latency,\nwhich counts from the moment when a review was due. The budgets are "
        f"those of side {BUDGET_SIDE}.\n",
        f"| side | what it is |\n|---|---|\n{shown}\n", first + "\n", *(one + "\n" for one in more),
        "An API server in memory that answers at once replaces the cluster. Its time is in the latencies, not in the CPU "
        "time.\n",
        f"{about['machine']}; nervex {about['nervex']}, controller-runtime {about['controller_runtime']}, "
        f"k8s.io/api {about['kubernetes']}.\n"]
    return "\n".join(parts)


def write_into(path, results):
    write_chapter(path, MARKS, chapter(results).rstrip())
