"""What a job that waits says of itself, and docs/waiting.md, which shows that to users.

The page has a row per situation in tables of five columns. The first cell is written by hand and begins with the
situation's title in bold; the others are what a cluster showed, with made-up names and times."""

import os
import re

from harness.settings import ROOT

PAGE = os.path.join(ROOT, "docs", "waiting.md")
TIME = "2026-11-22T14:03:12Z"
SAME = "the same"


class Names:
    """Replaces what differs from run to run; the same names give the same text."""

    def __init__(self, namespace, nodes=()):
        self._rules = [(re.escape(name), f"node-{i + 1}") for i, name in enumerate(nodes)]
        self._rules += [
            (re.escape(namespace), "team-a"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", TIME),
            (rf"{TIME}, \w+ ago", f"{TIME}, 2m ago"),
            (rf"{TIME}, in \w+", f"{TIME}, in 8m"),
            # The nodes of the cluster that the situation is not about.
            (r"\d+ ((is|are) not selected|do(es)? not match nodeSelector)", r"12 \1"),
            (r"0/\d+ nodes", "0/12 nodes"),
            (r"\b(train-(?:collector|learner|ddp-learner|aggregator))-[a-z0-9]{5}\b", r"\1-x2b7k"),
        ]

    def replace(self, text):
        for pattern, name in self._rules:
            text = re.sub(pattern, name, text)
        return text


def condition_text(job, kind):
    """"Scheduled=False: learner: ..."; "" without such a condition."""
    for one in job.get("status", {}).get("conditions", []):
        if one["type"] == kind:
            return f"{kind}={one['status']}: {one['message']}"
    return ""


def gang_text(group, gang):
    """"Unschedulable: learner: ..."; "" without such a gang."""
    for one in (group or {}).get("status", {}).get("gangs", []):
        if one["name"] == gang:
            return f"{one['reason']}: {one['message']}"
    return ""


def explained(text):
    """({title: value} of the lines at the head of an explanation, what it advises)."""
    head, _, rest = text.partition("\n\n")
    rows = [re.match(r"  (\S+) +(.*)", line) for line in head.splitlines()[1:]]
    _, _, advice = rest.rpartition("What to do: ")
    return {row[1]: row[2] for row in rows if row}, advice.strip()


def cells(job, group, explanation, condition, gang):
    """The four cells that a cluster fills: job, PodGroup, explain, what to do."""
    status = job.get("status", {})
    told = condition_text(job, condition)
    message = told.partition(": ")[2]
    first = f"{status.get('phase', '')} {status.get('reason', '')}".strip()
    job_cell = f"`{first}`<br>{told}" if told else f"`{first}`" if first else "nothing yet"

    known = gang_text(group, gang)
    reason, _, known_message = known.partition(": ")
    message = message.removeprefix(f"{gang}: ")  # the job names which of its gangs
    if group is None:
        group_cell = "there is none"
    elif not known:
        group_cell = "no gang yet"
    else:
        group_cell = f"`{reason}`<br>{SAME if known_message and known_message == message else known_message}"

    rows, advice = explained(explanation)
    shown = []
    for title, value in rows.items():
        if title != "Phase":
            shown.append(f"{title}: {SAME if value == message else value}")
    return [job_cell, group_cell, "<br>".join(shown) or "–", advice]


def escaped(cell):
    return cell.replace("|", "\\|").replace("<br>", "\0").replace("<", "&lt;").replace("\0", "<br>")


def line_of(first_cell, others):
    return "| " + " | ".join([first_cell, *(escaped(one) for one in others)]) + " |\n"


class Page:
    def __init__(self, path=PAGE):
        self._path = path
        with open(path, encoding="utf-8") as file:
            self.lines = file.readlines()

    def titles(self):
        return [match[1] for match in (re.match(r"\| \*\*(.+?)\*\*", line) for line in self.lines) if match]

    def _find(self, title):
        at = [i for i, line in enumerate(self.lines) if line.startswith(f"| **{title}**")]
        assert len(at) == 1, f"{self._path} has {len(at)} rows for {title!r}"
        return at[0]

    def row(self, title):
        return self.lines[self._find(title)]

    def cells(self, title):
        """What a cluster showed, as the page has it."""
        return [one.strip() for one in re.split(r"(?<!\\)\|", self.row(title))[2:-1]]

    def expected(self, title, others):
        """The row with what a cluster showed."""
        first = re.match(r"\| (.*?) \|", self.row(title))[1]
        return line_of(first, others)

    def renew(self, title, others):
        self.lines[self._find(title)] = self.expected(title, others)
        with open(self._path, "w", encoding="utf-8") as file:
            file.writelines(self.lines)
