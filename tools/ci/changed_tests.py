"""Was a test changed since a commit? Compares code, not text: a comment or the place in the file is no change."""

import ast
import os
import subprocess

from tools.base.tree import ROOT


def read_at(commit, path, root=ROOT):
    """The file's text then; None: it did not exist."""
    done = subprocess.run(["git", "-C", root, "show", f"{commit}:{path}"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def has_commit(commit, root=ROOT):
    """False, too, in a clone whose history ends before it."""
    done = subprocess.run(["git", "-C", root, "rev-parse", "--quiet", "--verify", f"{commit}^{{commit}}"], capture_output=True)
    return done.returncode == 0


def is_changed(file, function, commit, root=ROOT):
    """The function, or what its file has besides tests: constants, fixtures, helpers. True for a new test."""
    before = read_at(commit, file, root)
    with open(os.path.join(root, file), encoding="utf-8") as now:
        after = now.read()
    return before is None or describe(before, function) != describe(after, function)


def describe(source, function):
    """The code of the function and of all that is no test; (None, ...) without such a function."""
    tests, rest = {}, []
    for node in ast.parse(source).body:
        is_test = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name.lower().startswith("test")
        if is_test:
            tests[node.name] = ast.dump(node)
        else:
            rest.append(ast.dump(node))
    return tests.get(function), rest
