#!/usr/bin/env python3
"""Does the tool that compares webhooks make its reviews, count and report well? No programs, no cluster."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from admission import programs, report, reviews  # noqa: E402


def results(ours=100.0, p99=1_000.0, resident=30.0):
    def side(cpu):
        return {**{what: {"cpu_us": cpu} for what, _ in report.BUDGETS},
                **{f"{hook} at 1000/s": {"p50_us": 300.0, "p99_us": p99} for hook in ("mutate", "validate")}}

    return {"rounds": [{"asking": side(ours + extra), "typed": side(400.0)} for extra in (0, 10, -10)],
            "memory": {"asking": (resident, 50.0), "typed": (60.0, 70.0)}, "dry_runs": None,
            "about": {"machine": "m", "nervex": "v", "controller_runtime": "v1", "kubernetes": "v2", "rounds": 3,
                      "calls": 10, "callers": 8, "nodes": 1_000}}


class Reviews(unittest.TestCase):
    def test_a_review_has_the_size_that_was_asked_for(self):
        for size in (4_200, 250_000):
            text = reviews.review(3, size, "v1")
            self.assertTrue(size <= len(text) < size * 1.05, f"{len(text)} for {size}")
            self.assertEqual(json.loads(text)["request"]["name"], "dqn-0003")

    def test_no_two_jobs_share_a_template_where_that_is_asked_for(self):
        templates = [json.loads(reviews.review(number, 4_200, f"r{number}"))["request"]["object"]["spec"]["learner"]
                     for number in range(3)]
        self.assertEqual(len({json.dumps(one) for one in templates}), 3)

    def test_the_schema_has_no_references(self):
        text = json.dumps(programs.job_schema())
        self.assertNotIn("$ref", text)
        self.assertIn("nodeAffinity", text)


class Report(unittest.TestCase):
    def test_budgets_are_ratios_of_medians(self):
        held = {what: (figure, holds) for what, _, figure, _, holds in report.verdicts(results())}
        self.assertEqual(held["mutate, 4 kB: CPU against typed"], (0.25, True))
        self.assertEqual(held["resident 10 s after it all, MiB"], (30.0, True))
        missed = {what for what, *_, holds in report.verdicts(results(ours=300.0, p99=2_000.0, resident=41.0))
                  if not holds}
        self.assertEqual(len(missed), 7)

    def test_the_chapter_is_replaced_and_the_rest_of_the_page_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.md")
            with open(page, "w", encoding="utf-8") as file:
                file.write("# First\n")
            report.write_into(page, results())
            report.write_into(page, results(ours=120.0))
            with open(page, encoding="utf-8") as file:
                text = file.read()
        self.assertTrue(text.startswith("# First\n"))
        self.assertEqual(text.count(report.MARKS[0]), 1)
        self.assertIn("| mutate, 4 kB | 120 (110–130) | 400 (400–400) |", text)


if __name__ == "__main__":
    unittest.main()
