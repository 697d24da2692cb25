"""Does the SDK give the advice of `nervexctl explain`? Compares advice.json and the order of the rules with
lib/view/advice.cpp. To renew advice.json:

    NERVEX_RENEW_GOLDEN=1 $(scripts/setup --print-venv)/bin/python -m pytest tests/sdk/advice_test.py
"""

import json
import os
import re
import unittest

from support import ROOT
from nervex import explain, text, view

ADVICE = os.path.join(ROOT, "sdk", "python", "nervex", "advice.json")
RULE = re.compile(r'\{AdviceCode::k\w+, "(\w+)", (true|false), .*?,\n     "((?:[^"\\]|\\.)*)"\}', re.DOTALL)


def rules():
    """[(code, do opened nodes help?, text)]"""
    with open(os.path.join(ROOT, "lib", "view", "advice.cpp"), encoding="utf-8") as file:
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

    def test_reserved_nodes_and_the_latest_start_are_named(self):
        job = {"metadata": {"namespace": "rl", "name": "dqn"}, "status": {"phase": "Created"}}
        gang = {"name": "base", "planned": False, "reason": "Unschedulable", "message": "full", "reservation": {
            "nodes": [{"set": "learner", "nodes": [{"node": "n2"}]}, {"set": "coordinator", "nodes": [{"node": "n1", "count": 2}]}],
            "since": "2026-11-21T14:00:00.5Z", "due": "2026-11-21T16:00:00Z"}}
        group = {"metadata": {"generation": 1}, "spec": {"gangs": []}, "status": {"observedGeneration": 1, "gangs": [gang]}}
        now = text.parse_time("2026-11-21T15:00:00Z")
        explanation = explain.explain(job, group, [], now=now)
        self.assertEqual(explanation.waits[0].reservation.nodes, ("n1", "n2"))
        self.assertIn("  Keeps    n1, n2, since 2026-11-21T14:00:00Z, 59m ago\n"
                      "  Starts   2026-11-21T16:00:00Z, in 60m, at the latest: ", str(explanation))
        self.assertEqual(explanation.to_dict()["waits"][0]["reservation"],
                         {"nodes": ["n1", "n2"], "since": "2026-11-21T14:00:00Z", "due": "2026-11-21T16:00:00Z"})
        gang["reservation"]["nodes"], nodes = [], gang["reservation"]["nodes"]
        self.assertIsNone(explain.explain(job, group, []).waits[0].reservation)
        gang["reservation"]["nodes"] = nodes
        del gang["reservation"]["due"]
        self.assertIn("no time limit", str(explain.explain(job, group, [])))


if __name__ == "__main__":
    unittest.main()
