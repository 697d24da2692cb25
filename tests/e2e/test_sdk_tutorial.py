"""docs/tasks/use-python.md and examples/first-job.ipynb do what they say, run as they are written, by a user with the role
`edit`."""

import ast
import json
import os
import re

import pytest
from tools.base.tree import ROOT
from support.sdk import Call, nervex
from support.users import wait_until_user_may
from support.wait import wait_for

TUTORIAL = os.path.join("docs", "tasks", "use-python.md")
NOTEBOOK = os.path.join("examples", "first-job.ipynb")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def blocks_of_page(path):
    return re.findall(r"^```python\n(.*?)^```", read(path), re.MULTILINE | re.DOTALL)


def cells_of_notebook(path):
    return ["".join(cell["source"]) for cell in json.loads(read(path))["cells"] if cell["cell_type"] == "code"]


def run_cell(source, names):
    """As a notebook does: returns the HTML of the last expression, if it has such a form."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return ""
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return value._repr_html_() if hasattr(value, "_repr_html_") else ""


@pytest.fixture
def user(users, kubectl, monkeypatch):
    """A user with the role `edit`, whose kubeconfig names the namespace."""
    path = users.kubeconfig("edit")
    for verb, what in (("create", "nervexjobs"), ("create", "pods"), ("get", "podgroups.nervex.sensetime.com")):
        wait_until_user_may(kubectl, path, verb, what)
    monkeypatch.setenv("KUBECONFIG", path)


def run_all(cells, pod_logs, node_agent):
    """Runs the cells in order. The coordinator ends when its log is followed. Returns the HTML of each."""
    pod, names, shown = "dqn-coordinator", {}, []
    pod_logs.write(pod, "epoch 1")

    def end():
        wait_for(lambda: pod_logs.is_followed(pod), "the log to be followed")
        node_agent.finish(pod)
        pod_logs.end(pod)
    for cell in cells:
        ending = Call(end) if "follow=True" in cell else None
        shown.append(run_cell(cell, names))
        if ending:
            ending.result()
    return shown


def test_the_tutorial_works_as_it_is_written(user, pod_logs, node_agent, capsys):
    blocks = blocks_of_page(TUTORIAL)
    assert len(blocks) >= 6
    run_all(blocks, pod_logs, node_agent)
    printed = capsys.readouterr().out
    for text in ("Running", "can never fit", "AskForLess", "epoch 1", "exit code 0"):
        assert text in printed, printed
    assert nervex.Client().list() == []


def test_the_notebook_works_as_it_is_written(user, pod_logs, node_agent, capsys):
    shown = run_all(cells_of_notebook(NOTEBOOK), pod_logs, node_agent)
    assert any("<table>" in html and "dqn" in html for html in shown), shown
    assert any("AskForLess" in html or "ask for less" in html for html in shown), shown
    assert "epoch 1" in capsys.readouterr().out
    assert nervex.Client().list() == []
