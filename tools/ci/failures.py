"""Which tests does a JUnit report count, which of them failed, and on an invariant?"""

import dataclasses
import os
import xml.etree.ElementTree as xml

from tools.base.tree import ROOT

FOLDER = "tests/e2e"
INVARIANT = "invariant"  # tests/e2e/support/invariants.py


@dataclasses.dataclass(frozen=True)
class Failure:
    """A failed end-to-end test."""
    file: str                 # from the root of the tree; "" if it is not known
    name: str                 # with its parameters: test_x[a]
    invariants: tuple = ()    # a sentence for each broken rule

    @property
    def function(self):
        return self.name.split("[")[0]

    @property
    def node_id(self):
        return f"{self.file}::{self.name}"


def count(path):
    """(tests, those that failed)."""
    tests = bad = 0
    for suite in xml.parse(path).getroot().iter("testsuite"):
        tests += int(suite.get("tests", 0))
        bad += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    return tests, bad


def failed_tests(path, root=ROOT):
    """The failures of the end-to-end run, each test once: one that failed and left an error behind has two entries."""
    found = {}
    for case in xml.parse(path).getroot().iter("testcase"):
        if case.find("failure") is None and case.find("error") is None:
            continue
        one = Failure(find_file(case.get("classname", ""), root), case.get("name", ""),
                      tuple(it.get("value", "") for it in case.iter("property") if it.get("name") == INVARIANT))
        known = found.get(one.node_id)
        found[one.node_id] = one if known is None else dataclasses.replace(one, invariants=known.invariants + one.invariants)
    return [found[name] for name in sorted(found)]


def find_file(classname, root):
    """"test_gang" is a file of FOLDER, where pytest.ini makes its root. The tests of a class, and what failed before a test
    began, have none."""
    path = f"{FOLDER}/{classname.replace('.', '/')}.py"
    return path if classname and os.path.isfile(os.path.join(root, path)) else ""
