"""Rules for the files of this folder, read from their sources, and for how clusters are started. Needs no cluster."""

import ast
import os
import shutil
import types

import pytest
from tools.cluster import control_plane
from tools.controlplane import binaries

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = sorted(name for name in os.listdir(HERE) if name.startswith("test_") and name.endswith(".py"))


def tree_of(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return ast.parse(file.read(), name)


@pytest.mark.parametrize("name", FILES)
def test_a_test_waits_with_a_deadline_and_never_sleeps(name):
    """support/wait.py has wait_for and always, and lasting for the length of a fault."""
    found = [f"{name}:{node.lineno}" for node in ast.walk(tree_of(name))
             if isinstance(node, ast.Attribute) and node.attr == "sleep"]
    assert found == []


@pytest.mark.parametrize("name", FILES)
def test_every_loop_has_an_end(name):
    found = [f"{name}:{node.lineno}" for node in ast.walk(tree_of(name))
             if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value]
    assert found == [], "a loop that nothing bounds hangs the run: wait_for() has a deadline"


@pytest.mark.parametrize("name", FILES)
def test_no_test_catches_every_exception(name):
    """`except Exception` hides the real cause. Code that runs a whole test shows its failure."""
    bare = [f"{name}:{node.lineno}" for node in ast.walk(tree_of(name))
            if isinstance(node, ast.ExceptHandler) and (node.type is None or (
                isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException") and node.name is None))]
    assert bare == []


def test_kwokctl_finds_our_kubectl(tmp_path):
    """Without it kwokctl tries to download one for minutes."""
    settings = types.SimpleNamespace(path=lambda *parts: os.path.join(tmp_path, *parts))
    found = shutil.which("kubectl", path=control_plane.kwokctl_environment(settings)["PATH"])
    assert found == binaries.path("kubectl")
