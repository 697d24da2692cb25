"""Typical mistakes of new users in examples/nervex-mock-nervexjob.yaml, and the answers of `kubectl create`. Each
answer alone names the field and says what to write instead. The table is tests/webhook/typical_mistakes.json."""

import json
import os

import pytest
from tools.base.tree import ROOT


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


EXAMPLE = read("examples/nervex-mock-nervexjob.yaml")
MISTAKES = {one["mistake"]: one for one in json.loads(read("tests/webhook/typical_mistakes.json"))}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_typical_mistake_is_answered_with_what_to_change(kubectl, namespace, what):
    one = MISTAKES[what]
    assert one["right"] in EXAMPLE
    said = kubectl("create", "--dry-run=server", "-n", namespace, "-f", "-",
                   body=EXAMPLE.replace(one["right"], one["typed"], 1))
    assert said.returncode == 1, said
    for words in one.get("kubectl") or one["answer"]:
        assert words in said.stderr, said.stderr


def test_the_example_itself_is_right(kubectl, namespace):
    said = kubectl("create", "--dry-run=server", "-n", namespace, "-f", "-", body=EXAMPLE)
    assert said.returncode == 0, said.stderr
