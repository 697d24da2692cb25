#!/usr/bin/env python3
"""Which failed end-to-end tests does .ci/run try again, and what does it say? Runs tools/ci on reports and a history of
its own; a stand-in plays the second try. Run by ctest (ci_test), or by hand:

    python3 tests/structure/ci_test.py
"""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from tools.ci import __main__ as ci  # noqa: E402
from tools.ci import failures, second_try  # noqa: E402
from tools.ci.failures import Failure  # noqa: E402

E2E = ["end-to-end tests"]
TEST = """LIMIT = 3

def helper():
    return LIMIT

def test_steady():
    assert helper() == 3

def test_other():
    pass
"""


FAILING = """import pytest

@pytest.mark.parametrize("name", ["one"])
def test_a(name, record_property):
    record_property("invariant", "a gang in part")
    assert False

def test_b():
    assert False
"""


def report(*cases):
    body = "".join(f'<testcase classname="test_gang" name="{name}">{inside}</testcase>' for name, inside in cases)
    bad = sum(inside.count("<failure") for _, inside in cases)
    errors = sum(inside.count("<error") for _, inside in cases)
    return (f'<testsuites><testsuite tests="{len(cases)}" failures="{bad}" errors="{errors}">{body}</testsuite></testsuites>')


class History:
    """A repository with one test file in two commits, `before` and HEAD."""

    def __init__(self, folder, after):
        self.root, self.path = folder, os.path.join(folder, "test_x.py")
        self._git("init", "-q")
        self._commit(TEST)
        self._git("tag", "before")
        self._commit(after)

    def _commit(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        self._git("add", ".")
        self._git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x")

    def _git(self, *words):
        subprocess.run(["git", "-C", self.root, *words], check=True)


class WhoGetsASecondTry(unittest.TestCase):
    def refuse(self, *found, parts=E2E, after=TEST, since="before"):
        with tempfile.TemporaryDirectory() as folder:
            return second_try.refuse(list(parts), list(found), since, History(folder, after).root)

    def test_one_or_two_that_were_not_changed(self):
        one, two = Failure("test_x.py", "test_steady"), Failure("test_x.py", "test_other[a-1]")
        self.assertEqual(self.refuse(one), "")
        self.assertEqual(self.refuse(one, two), "")
        self.assertEqual(self.refuse(one, after="# a comment\n" + TEST), "")
        self.assertEqual(self.refuse(one, after=TEST.replace("    pass", "    assert True")), "", "another test was changed")

    def test_not_three(self):
        three = [Failure("test_x.py", f"test_other[{i}]") for i in range(3)]
        self.assertIn("3 end-to-end tests failed", self.refuse(*three))

    def test_not_a_test_that_was_changed_or_is_new(self):
        one = Failure("test_x.py", "test_steady")
        for after in (TEST.replace("helper() == 3", "helper() < 4"), TEST.replace("LIMIT = 3", "LIMIT = 4"),
                      TEST.replace("return LIMIT", "return 3")):
            self.assertEqual(self.refuse(one, after=after), "test_x.py::test_steady was changed since before")
        new = Failure("test_x.py", "test_new")
        self.assertIn("was changed", self.refuse(new, after=TEST + "\ndef test_new():\n    pass\n"))

    def test_not_one_that_found_a_broken_invariant(self):
        said = self.refuse(Failure("test_x.py", "test_steady", ("node a has 8 GPUs and 9 bound to it",)))
        self.assertEqual(said, "test_x.py::test_steady found a broken invariant: node a has 8 GPUs and 9 bound to it")

    def test_not_without_the_history_or_beside_another_failure(self):
        one = Failure("test_x.py", "test_steady")
        self.assertIn("the history does not reach back to HEAD~50", self.refuse(one, since="HEAD~50"))
        self.assertIn("unit and integration tests", self.refuse(one, parts=["unit and integration tests", *E2E]))
        self.assertIn("it ended early", self.refuse(one, parts=[]))
        self.assertIn("names no failed test", self.refuse())
        self.assertIn("is not a test function", self.refuse(Failure("", "tests.e2e.test_x")))


class TheLastLines(unittest.TestCase):
    """Of `python3 -m tools.ci test`."""

    def end(self, xml, passes, failed=("test",), refused=""):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "e2e.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(xml)
            with open(os.path.join(folder, "failed"), "w", encoding="utf-8") as file:
                file.write("end-to-end tests\n")
            said = io.StringIO()
            with mock.patch.object(ci, "REPORTS", folder), mock.patch.object(ci, "END_TO_END", path), \
                    mock.patch.object(ci, "refuse", lambda *_: refused), contextlib.redirect_stdout(said), \
                    mock.patch.object(ci, "run_alone", lambda one, _: passes[one.name]):
                status = ci.main(list(failed))
        return status, said.getvalue().strip().splitlines()

    def test_a_test_that_passes_alone_passes_and_is_named(self):
        xml = report(("test_a", ""), ("test_b", "<failure/>"), ("test_b", "<error/>"))
        self.assertEqual(self.end(xml, {"test_b": True}), (
            0, ["second try, alone: tests/e2e/test_gang.py::test_b: passed", "4 passed, 0 failed"]))

    def test_one_that_fails_twice_fails(self):
        status, said = self.end(report(("test_a", "<failure/>"), ("test_b", "<failure/>")), {"test_a": False, "test_b": True})
        self.assertEqual((status, said[0], said[-2:]), (
            1, "second try, alone: tests/e2e/test_gang.py::test_a: FAILED again", ["make test: FAILED", "1 passed, 2 failed"]))

    def test_without_a_second_try_it_says_why(self):
        self.assertEqual(self.end(report(("test_a", "<failure/>")), {}, refused="because"), (
            1, ["no second try: because", "make test: FAILED", "1 passed, 1 failed"]))

    def test_another_part_that_failed_still_fails(self):
        status, said = self.end(report(("test_a", "<failure/>")), {"test_a": True}, failed=("test", "lint"))
        self.assertEqual((status, said[-2:]), (1, ["make lint: FAILED", "1 passed, 1 failed"]))

    def test_a_run_that_passes_says_the_count_alone(self):
        self.assertEqual(self.end(report(("test_a", "")), {}, failed=()), (0, ["2 passed, 0 failed"]))

    def test_the_property_of_the_report_is_read(self):
        inside = '<properties><property name="invariant" value="a gang in part"/></properties><failure/>'
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "e2e.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(report(("test_a[x]", inside), ("test_b", "")))
            self.assertEqual(failures.failed_tests(path), [
                Failure("tests/e2e/test_gang.py", "test_a[x]", ("a gang in part",))])

    def test_a_report_of_pytest_itself_names_files_that_exist(self):
        """pytest writes names from the folder of its pytest.ini, and the second try needs them from the root."""
        venv = subprocess.run([os.path.join(ROOT, "scripts/setup"), "--print-venv"], capture_output=True, text=True, check=True)
        with tempfile.TemporaryDirectory() as root:
            tests = os.path.join(root, "tests/e2e")
            os.makedirs(tests)
            shutil.copy(os.path.join(ROOT, "tests/e2e/pytest.ini"), tests)
            with open(os.path.join(tests, "test_x.py"), "w", encoding="utf-8") as file:
                file.write(FAILING)
            path = os.path.join(root, "e2e.xml")
            done = subprocess.run([os.path.join(venv.stdout.strip(), "bin/python"), "-m", "pytest", "tests/e2e", "--junitxml", path],
                                  cwd=root, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertEqual(failures.failed_tests(path, root), [
                Failure("tests/e2e/test_x.py", "test_a[one]", ("a gang in part",)), Failure("tests/e2e/test_x.py", "test_b")])


if __name__ == "__main__":
    unittest.main()
