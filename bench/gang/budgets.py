"""What is to be reached, as ratios to a peer in the same run, and whether it was."""

import dataclasses
from collections.abc import Callable

from gang import results
from tables import spread

DECIDING = ("scheduler", "extender")


@dataclasses.dataclass(frozen=True)
class Budget:
    scenario: str
    what: str
    limit: float
    at_least: bool
    value: Callable      # of a round; of the ratio's two sides alike
    peer: str = ""       # none: the value itself counts

    def holds(self, figure):
        return figure >= self.limit if self.at_least else figure <= self.limit


def rate(one):
    return one["rate"]


def pods_run(one):
    """A second."""
    return one["bound"] / one["all_run"] if one["all_run"] else 0.0


def pods_placed(one):
    """A second: bound, or created on their nodes."""
    return one["placed_rate"] or one["rate"]


def api_server(one):
    return one["cpu"]["apiserver"]


def memory(one):
    return results.scheduler_mib(one, DECIDING)


def gangs_in_part(one):
    return one["partial"]


def whole_gangs(one):
    return one["whole"]


def last_bind(one):
    return one["seconds"] or float("inf")


def waiting_cpu(one):
    """In 30 s."""
    used = sum(one["cpu_waiting"].get(name, 0) for name in (*DECIDING, "apiserver"))
    return used * 30 / one["waiting_seconds"]


BUDGETS = (
    *(Budget(scenario, "pods/s against the same DNS names", limit, True, rate, "names")
      for scenario, limit in (("1x1000", 0.95), ("100x10", 0.8), ("10x64", 0.8))),
    *(Budget(scenario, "pods/s against the training operator with coscheduling", 5, True, rate, "kubeflow")
      for scenario in ("1x1000", "100x10", "10x64")),
    Budget("3x300", "pods/s against bare pods", 1.3, True, rate, "bare"),
    *(Budget(scenario, "API server CPU against bare pods", 1.3, False, api_server, "bare")
      for scenario in ("1x1000", "100x10", "10x64", "3x300")),
    Budget("1x1000", "MiB of scheduler and extender", 150, False, memory),
    Budget("3x300", "MiB of scheduler and extender", 250, False, memory),
    Budget("contention", "whole gangs", 20, True, whole_gangs),
    Budget("contention", "gangs in part", 0, False, gangs_in_part),
    Budget("contention", "seconds to the last bind", 2, False, last_bind),
    Budget("contention", "CPU s of scheduler and API server in 30 s of waiting", 0.2, False, waiting_cpu),
)
# Workers created with their node, a further side that a run may have. The coordinator's bind waits until kubelets have
# started all of them, which no other side waits for. So there are two figures: until all workers are placed, and until
# all pods run.
DIRECT = tuple(Budget(scenario, f"direct placement: {what} against bare pods", 1.3, True, value, "bare")
               for scenario in ("1x1000", "100x10")
               for what, value in (("workers placed/s", pods_placed), ("pods that run/s", pods_run)))


def verdicts(rounds):
    """[(budget, {median or ratio, least, most}, does it hold?)] for all that was measured."""
    found = []
    for side, budgets in (("ours", BUDGETS), ("direct", DIRECT)):
        for budget in budgets:
            seen = figure_of(rounds, side, budget)
            if seen:
                found.append((budget, seen, budget.holds(seen["figure"])))
    return found


def figure_of(rounds, side, budget):
    if budget.peer:
        seen = results.ratios(rounds, budget.scenario, side, budget.peer, budget.value)
        return seen and {"figure": seen["ratio"], "least": seen["least"], "most": seen["most"]}
    measured = results.select(rounds, budget.scenario, side)
    seen = spread([budget.value(one) for one in measured])
    return seen and {"figure": seen["median"], "least": seen["least"], "most": seen["most"]}
