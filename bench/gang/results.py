"""The rounds that were measured, one JSON line each below a line about the machine: a run that was cut off goes on
where it was."""

import json
import os
import platform
import statistics


class Results:
    def __init__(self, path, about):
        """`about`: must be equal for rounds to be comparable. ValueError if the file has other rounds."""
        self._path, self.about, self.rounds = path, about, []
        if os.path.exists(path):
            before, self.rounds = load(path)
            differing = sorted(key for key in {*about, *before} if about.get(key) != before.get(key))
            if self.rounds and differing:
                raise ValueError(", ".join(f"{key}: {before.get(key)!r}, now {about.get(key)!r}" for key in differing))
        if not self.rounds:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(json.dumps({"about": about}) + "\n")

    def add(self, scenario, side, number, figures):
        one = {"scenario": scenario, "side": side, "round": number, **figures}
        self.rounds.append(one)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")

    def has(self, scenario, side, number):
        return any((one["scenario"], one["side"], one["round"]) == (scenario, side, number) for one in self.rounds)


def load(path):
    """(about, rounds)"""
    with open(path, encoding="utf-8") as file:
        first, *rest = [json.loads(line) for line in file if line.strip()]
    return first["about"], rest


def machine():
    """The machine of the measurement, for the page."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown")
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cpu": model, "cores": os.cpu_count(), "memory_gib": round(pages / 2**30),
            "kernel": platform.release()}


def select(rounds, scenario, side):
    return [one for one in rounds if (one["scenario"], one["side"]) == (scenario, side)]


def scheduler_cpu(one, deciding, key="cpu"):
    """CPU time of its scheduler, including the extender that the scheduler calls."""
    return round(sum(seconds for name, seconds in one[key].items() if name in deciding), 2)


def controllers_cpu(one, deciding):
    """CPU time of our other programs; the load generator creates a peer's pods."""
    others = ("webhook", "controller", "server")
    return round(sum(seconds for name, seconds in one["cpu"].items() if name in others and name not in deciding), 2)


def scheduler_mib(one, deciding):
    return round(sum(mib for name, mib in one["peak_mib"].items() if name in deciding), 1)


def ratios(rounds, scenario, side, peer, value):
    """The ratio of medians, and the range of the ratios of rounds of one number."""
    ours, theirs = ({one["round"]: value(one) for one in select(rounds, scenario, name)} for name in (side, peer))
    pairs = [ours[number] / theirs[number] for number in ours if ours[number] and theirs.get(number)]
    if not pairs:
        return None
    medians = [statistics.median(value(one) for one in select(rounds, scenario, name)) for name in (side, peer)]
    return {"ratio": medians[0] / medians[1], "least": min(pairs), "most": max(pairs)}
