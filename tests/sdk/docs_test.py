"""Is docs/reference/python.md what the docstrings say? To renew it:

    NERVEX_RENEW_GOLDEN=1 $(scripts/setup --print-venv)/bin/python tests/sdk/docs_test.py
"""

import dataclasses
import inspect
import os
import re
import unittest

from support import ROOT
import nervex
from nervex import errors, kubeflow, operator_server

PAGE = os.path.join(ROOT, "docs", "reference", "python.md")
HEAD = """# Python

Classes of the package `nervex` ([sdk/python](../../sdk/python/README.md)), from their docstrings. Tutorial: [use
Python](../tasks/use-python.md).
"""
SECTIONS = (
    ("Jobs", (nervex.Job, nervex.Role, nervex.Workers, nervex.Topology)),
    ("Client", (nervex.Client, nervex.JobHandle)),
    ("Values", (nervex.Status, nervex.JobList, nervex.Event, nervex.Explanation, nervex.Wait, nervex.Problem, nervex.RoleCounts,
                nervex.PlannedNode, nervex.AvoidedNode, nervex.Reservation, nervex.NodeReservation, nervex.NodeUser,
                nervex.Notice)),
    ("Inside a job", (nervex.ReplicasClient, nervex.ReplicaRequest, nervex.Replicas, nervex.Change)),
    ("Names of other projects", (kubeflow.TrainingClient, operator_server.OperatorServer)),
)


def signature(name, function):
    text = re.sub(r"\b(self|cls)(, )?", "", str(inspect.signature(function)), count=1)
    return name + re.sub(r"(: |-> )'([^']*)'", r"\1\2", text).replace(" -> None", "")


def fenced(text):
    return f"```text\n{text}\n```\n"


def describe(one):
    parts = [f"### {one.__name__}\n", fenced(inspect.cleandoc(one.__doc__))]
    rows = []
    for name, member in vars(one).items():
        if name.startswith("_") or not inspect.isroutine(inspect.unwrap(getattr(member, "__func__", member))):
            continue
        function = getattr(member, "__func__", member)
        said = inspect.getdoc(function)
        rows.append(signature(name, function) + ("\n" + "\n".join(f"    {line}".rstrip() for line in said.splitlines()) if said else ""))
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one) if field.init]
        parts.append("Fields: " + ", ".join(f"`{name}`" for name in names) + ".\n")
    properties = [name for name, member in vars(one).items() if isinstance(member, property)]
    if properties:
        parts.append("Properties: " + ", ".join(f"`{name}`" for name in properties) + ".\n")
    if rows:
        parts.append(fenced("\n".join(rows)))
    return "\n".join(parts)


def page():
    parts = [HEAD]
    for title, classes in SECTIONS:
        parts += [f"## {title}\n", *map(describe, classes)]
    tree = inspect.cleandoc(errors.__doc__).partition("\n\n")
    parts += ["## Errors\n", f"{tree[0]}\n", fenced(inspect.cleandoc(tree[2]))]
    text = "\n".join(parts)
    return "\n".join(wrap(line) for line in text.splitlines()) + "\n"


def wrap(line, width=118):
    """Lists of fields may be long."""
    if not line.startswith(("Fields: ", "Properties: ")):
        return line
    words, lines = line.split(" "), [""]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


class Reference(unittest.TestCase):
    maxDiff = None

    def test_the_page_is_what_the_docstrings_say(self):
        if os.environ.get("NERVEX_RENEW_GOLDEN"):
            with open(PAGE, "w", encoding="utf-8") as file:
                file.write(page())
        with open(PAGE, encoding="utf-8") as file:
            self.assertEqual(file.read(), page())

    def test_each_public_name_is_on_it(self):
        text = page()
        self.assertEqual([name for name in nervex.__all__ if name not in text], [])


if __name__ == "__main__":
    unittest.main()
