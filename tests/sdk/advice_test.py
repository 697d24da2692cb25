"""Does the SDK give the advice of `nervexctl explain`? Compares advice.json and the order of the rules with
view/advice.cpp. To renew advice.json:

    NERVEX_RENEW_GOLDEN=1 $(scripts/setup --print-venv)/bin/python -m pytest tests/sdk/advice_test.py
"""

import json
import os
import re
import unittest

from support import ROOT
from nervex import explain, view

ADVICE = os.path.join(ROOT, "sdk", "python", "nervex", "advice.json")
RULE = re.compile(r'\{AdviceCode::k\w+, "(\w+)", (true|false), .*?,\n     "((?:[^"\\]|\\.)*)"\}', re.DOTALL)


def rules():
    """[(code, do opened nodes help?, text)]"""
    with open(os.path.join(ROOT, "view", "advice.cpp"), encoding="utf-8") as file:
        return [(code, wait == "true", text.replace('\\"', '"')) for code, wait, text in RULE.findall(file.read())]


class Advice(unittest.TestCase):
    def test_the_texts_are_those_of_nervexctl(self):
        wanted = {code: text for code, _, text in rules()}
        if os.environ.get("NERVEX_RENEW_GOLDEN"):
            with open(ADVICE, "w", encoding="utf-8") as file:
                json.dump(wanted, file, indent=1)
                file.write("\n")
        with open(ADVICE, encoding="utf-8") as file:
            self.assertEqual(json.load(file), wanted)

    def test_the_rules_come_in_the_same_order(self):
        self.assertEqual([(code, wait) for code, wait, _ in explain.RULES], [(code, wait) for code, wait, _ in rules()])

    def test_each_code_is_documented(self):
        with open(os.path.join(ROOT, "docs", "reference", "job-view.md"), encoding="utf-8") as file:
            documented = set(re.findall(r"^\| `([A-Z]\w+)` \|", file.read().split("## `advice`")[1], re.MULTILINE))
        self.assertEqual({code for code, _, _ in explain.RULES}, documented)
        self.assertLessEqual(view.BLOCKED, documented)

    def test_a_container_that_cannot_start_is_to_be_fixed(self):
        waiting = {"state": {"waiting": {"reason": "ImagePullBackOff"}}}
        pod = {"metadata": {"name": "dqn-coordinator"}, "spec": {}, "status": {"containerStatuses": [waiting]}}
        job = {"metadata": {"namespace": "rl", "name": "dqn"}, "status": {"phase": "Created"}}
        group = {"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "gangs": [{"name": "base", "planned": True}]}}
        self.assertEqual(explain.explain(job, group, [pod]).advice, "FixContainer")
        self.assertEqual(explain.explain(job, group, []).advice, "Starting")


if __name__ == "__main__":
    unittest.main()
