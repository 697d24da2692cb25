"""Does the SDK say what `kubectl nervex explain` says? tests/cli/explain_golden_test.cpp writes and checks the texts and the
JSON that are expected here."""

import glob
import json
import os
import unittest

from support import ROOT
from nervex import text
from nervex.explain import explain

FOLDER = os.path.join(ROOT, "tests", "golden", "explain")


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def explain_given(name):
    given = json.loads(read(f"{name}.json"))
    return explain(given["job"], given["podGroup"], given["pods"], events=given["events"], budgets=given["budgets"],
                   others=given.get("others", ()), now=text.parse_time(given["now"]))


NAMES = sorted(os.path.basename(path)[:-len(".txt")] for path in glob.glob(os.path.join(FOLDER, "*.txt")))


class TheSameAsNervexctl(unittest.TestCase):
    maxDiff = None

    def test_there_are_cases(self):
        self.assertGreaterEqual(len(NAMES), 6)

    def test_the_text(self):
        for name in NAMES:
            with self.subTest(name):
                self.assertEqual(f"{explain_given(name)}\n", read(f"{name}.txt"))

    def test_the_json(self):
        for name in NAMES:
            with self.subTest(name):
                seen = explain_given(name).to_dict()
                self.assertEqual((seen.pop("apiVersion"), seen.pop("kind")), ("cli.nervex.sensetime.com/v1", "JobView"))
                self.assertEqual(seen, json.loads(read(f"{name}.view.json")))


if __name__ == "__main__":
    unittest.main()
