"""Which failed end-to-end tests may run again, alone? Continuous integration asks; `make test` tries once."""

import os
import subprocess

from tools.base.console import say
from tools.base.tree import ROOT
from tools.ci.changed_tests import has_commit, is_changed

MOST = 2
END_TO_END = "end-to-end tests"  # the name of the part in scripts/test


def refuse(parts, failures, since, root=ROOT):
    """Why none of them gets a second try; "": each does. `parts`: those of `make test` that failed."""
    if parts != [END_TO_END]:
        return f"these parts of make test failed: {', '.join(parts) or 'it ended early'}"
    if not failures:
        return "the report names no failed test"
    if len(failures) > MOST:
        return f"{len(failures)} end-to-end tests failed, at most {MOST} get a second try"
    if not has_commit(since, root):
        return f"the history does not reach back to {since}, so that nothing says which tests were changed"
    for one in failures:
        why = refuse_one(one, since, root)
        if why:
            return why
    return ""


def refuse_one(failure, since, root):
    if not failure.file:
        return f"{failure.name} is not a test function"
    if failure.invariants:
        return f"{failure.node_id} found a broken invariant: {failure.invariants[0]}"
    if is_changed(failure.file, failure.function, since, root):
        return f"{failure.node_id} was changed since {since}"
    return ""


def run_alone(failure, report):
    """True if it passes now, on a cluster of its own."""
    say(f"\n== second try, alone: {failure.node_id}")
    venv = subprocess.run([os.path.join(ROOT, "scripts/setup"), "--print-venv"], capture_output=True, text=True, check=True)
    python = os.path.join(venv.stdout.strip(), "bin", "python")
    done = subprocess.run([python, "-m", "pytest", failure.node_id, "--junitxml", report], cwd=ROOT,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    return done.returncode == 0
