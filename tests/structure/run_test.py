#!/usr/bin/env python3
"""When does `make test` pass although no test ran on a real node? Runs scripts/test itself in a folder of its own, where
everything that it calls is a stand-in. Run by ctest (run_test), or by hand:

    python3 tests/structure/run_test.py
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from tools.base.console import Failure  # noqa: E402
from tools.realnode import machine, packages  # noqa: E402

CAN, CANNOT, UNKNOWN = 0, machine.CANNOT, 1


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


class WithoutARealNode(unittest.TestCase):
    def run_tests(self, check, required=None):
        """(does it pass?, its last line, did tests run on a node?). `check`: the status of scripts/real-node check."""
        with tempfile.TemporaryDirectory() as tree:
            for name in ("scripts/test", "tools/base/lib.sh", "tools/requirements.txt"):
                os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
                shutil.copy(os.path.join(ROOT, name), os.path.join(tree, name))
            for name in ("setup", "build", "control-plane"):
                write(f"{tree}/scripts/{name}", "exit 0\n")
            write(f"{tree}/scripts/real-node", f"echo what check says; exit {check}\n")
            write(f"{tree}/bin/ctest", "exit 0\n")
            environment = {**os.environ, "NERVEX_CACHE": f"{tree}/cache", "PATH": f"{tree}/bin:{os.environ['PATH']}"}
            environment.pop("NERVEX_REAL_NODE", None)
            if required is not None:
                environment["NERVEX_REAL_NODE"] = required
            venv = subprocess.run(["bash", "-c", f"source {tree}/tools/base/lib.sh; venv_dir"], env=environment, text=True,
                                  capture_output=True, check=True).stdout.strip()
            write(f"{venv}/bin/python", f'echo "$@" >>{tree}/pytest\n')
            done = subprocess.run([f"{tree}/scripts/test"], env=environment, capture_output=True, text=True)
            asked = ""
            if os.path.exists(f"{tree}/pytest"):
                with open(f"{tree}/pytest", encoding="utf-8") as file:
                    asked = file.read()
            return done.returncode == 0, (done.stdout + done.stderr).strip().splitlines()[-1], "tests/realnode" in asked

    def test_on_a_machine_that_can_they_run_unless_they_are_left_out(self):
        for required in (None, "1"):
            self.assertEqual(self.run_tests(CAN, required), (True, "make test: everything passed", True))
        self.assertEqual(self.run_tests(CAN, "0"), (
            True, "make test: everything passed, but a real node was left out (NERVEX_REAL_NODE=0)", False))

    def test_a_machine_that_cannot_passes_and_says_so_unless_a_node_is_required(self):
        self.assertEqual(self.run_tests(CANNOT), (
            True, "make test: everything passed, but no test ran on a real node: what check says", False))
        self.assertEqual(self.run_tests(CANNOT, "1"), (
            False, "make test: FAILED: a real node (NERVEX_REAL_NODE=1, and this machine cannot run one)", False))

    def test_not_knowing_whether_it_can_is_a_failure(self):
        for required in (None, "1"):
            self.assertEqual(self.run_tests(UNKNOWN, required), (
                False, "make test: FAILED: a real node (scripts/real-node check could not tell whether this machine can run one)",
                False))

    def test_another_value_is_refused(self):
        self.assertEqual(self.run_tests(CAN, "yes"), (
            False, "error: NERVEX_REAL_NODE is 1 (required), 0 (left out) or unset (if this machine can), not 'yes'", False))

    def test_continuous_integration_requires_it(self):
        with open(os.path.join(ROOT, ".ci", "run"), encoding="utf-8") as file:
            self.assertIn("\nexport NERVEX_REAL_NODE=${NERVEX_REAL_NODE:-1}\n", file.read())


class Check(unittest.TestCase):
    """scripts/real-node check: it cannot, or could not be found out?"""

    def answer(self, basics=(), problems=(), provide=lambda: None):
        with mock.patch.object(machine, "basics", lambda: list(basics)), mock.patch.object(packages, "provide", provide), \
                mock.patch.object(machine, "problems", lambda: list(problems)), mock.patch.object(machine, "say"):
            return machine.check()

    def test_each_answer_has_a_status_of_its_own(self):
        self.assertEqual(self.answer(), CAN)
        self.assertEqual(self.answer(problems=["a bridge"]), CANNOT)

    def test_a_package_that_cannot_be_fetched_is_no_answer(self):
        def fails():
            raise Failure("apt-get download: no network")
        with self.assertRaisesRegex(Failure, "no network"):
            self.answer(provide=fails)
        self.assertEqual(self.answer(basics=["root rights"], provide=fails), CANNOT, "nothing is fetched for nothing")


if __name__ == "__main__":
    unittest.main()
