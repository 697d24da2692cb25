"""What a waiting job shows, and docs/tasks/debug-a-waiting-job.md, which documents it for users.

The page has a heading for each situation, text that is written by hand, and one block: what a cluster showed, with
made-up names and times."""

import os
import re
import textwrap

from tools.base.tree import ROOT

PAGE = os.path.join(ROOT, "docs", "tasks", "debug-a-waiting-job.md")
TIME = "2026-11-22T14:03:12Z"
SAME = "(the same message)"


class Names:
    """Replaces what differs between runs; the same names give the same text."""

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
    """({title: value} of the lines at the head of an explanation, its advice)."""
    head, _, rest = text.partition("\n\n")
    rows = [re.match(r"  (\S+) +(.*)", line) for line in head.splitlines()[1:]]
    _, _, advice = rest.rpartition("What to do: ")
    return {row[1]: row[2] for row in rows if row}, advice.strip()


def facts(job, group, explanation, condition, gang):
    """[(label, text)] shown by job, PodGroup and `explain`."""
    status = job.get("status", {})
    shown = condition_text(job, condition)
    message = shown.partition(": ")[2].removeprefix(f"{gang}: ")  # the job names which of its gangs
    found = [("Job", f"{status.get('phase', '')} {status.get('reason', '')}".strip() or "no status yet")]
    found += [("Condition", shown)] if shown else []

    known = gang_text(group, gang)
    reason, _, known_message = known.partition(": ")
    if group is None:
        found.append(("PodGroup", "none"))
    elif not known:
        found.append(("PodGroup", "no gang yet"))
    else:
        found.append(("PodGroup", f"{reason}: {SAME if known_message and known_message == message else known_message}"))

    rows, advice = explained(explanation)
    found += [(title, SAME if value == message else value) for title, value in rows.items()
              if title not in ("Phase", "Queue")]
    return [*found, ("What to do", advice)]


WIDTH = 112
LABEL = len("What to do: ")


def block(facts):
    """The same as lines of the page."""
    lines = []
    for label, text in facts:
        lines += textwrap.wrap(text, WIDTH, initial_indent=f"{label}: ".ljust(LABEL), subsequent_indent=" " * LABEL,
                               break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


SITUATION = re.compile(r"^### (.+)\n(?:(?!#).*\n)*?```text\n((?:.*\n)*?)```$", re.MULTILINE)


class Page:
    def __init__(self, path=PAGE):
        self._path = path
        with open(path, encoding="utf-8") as file:
            self._text = file.read()

    def titles(self):
        return [match[1] for match in SITUATION.finditer(self._text)]

    def _find(self, title):
        found = [match for match in SITUATION.finditer(self._text) if match[1] == title]
        assert len(found) == 1, f"{self._path} has {len(found)} situations called {title!r}"
        return found[0]

    def block(self, title):
        return self._find(title)[2]

    def facts(self, title):
        """{label: text} of a block."""
        parts = re.findall(rf"^(\S.{{,{LABEL - 2}}}?): +(.*\n(?: +.*\n)*)", self.block(title), re.MULTILINE)
        return {label: " ".join(text.split()) for label, text in parts}

    def renew(self, title, block):
        found = self._find(title)
        self._text = self._text[:found.start(2)] + block + self._text[found.end(2):]
        with open(self._path, "w", encoding="utf-8") as file:
            file.write(self._text)
