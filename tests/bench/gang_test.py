#!/usr/bin/env python3
"""Does bench/gang read audit logs, count gangs, compare with budgets and go on where it was?

No cluster, one second. Run by ctest (bench_gang_test), or by hand with the Python of scripts/setup --print-venv:

    python3 tests/bench/gang_test.py
"""

import dataclasses
import json
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "bench"), ROOT]

from gang import audit, budgets, page, report, results, rounds, scenarios, sides, stages  # noqa: E402

TWO = scenarios.Scenario("two", 2, 2, 1, "2 × 2 pods, 1 node")


def event(second, verb, resource, name, user="system:serviceaccount:nervex-system:nervex-controller", code=201):
    """A request that took a tenth of a second, as the audit log has it."""
    resource, _, subresource = resource.partition("/")
    at = {"resource": resource, "namespace": "gang-ours", "name": name}
    return {"requestReceivedTimestamp": f"2026-11-23T01:00:{second:02}.000000Z",
            "stageTimestamp": f"2026-11-23T01:00:{second:02}.100000Z", "verb": verb, "user": {"username": user},
            "objectRef": {**at, "subresource": subresource} if subresource else at, "responseStatus": {"code": code}}


def extender(second, verb, resource, name, code=200):
    return event(second, verb, resource, name, "system:serviceaccount:nervex-system:nervex-extender", code)


def kubelet(second, name):
    return {**event(second, "patch", "pods/status", name, "kwok-admin"), "userAgent": "kwok-controller/v0.8.0 (linux/amd64)"}


def timeline(*events):
    seen = audit.Timeline("gang-ours", TWO.gang_names("ours-1"))
    seen.add(map(audit.decode, events))
    return seen


# Two gangs: the first is whole after 8.1 s, of the second one pod is bound; a bind was refused.
START = (event(1, "create", "nervexjobs", "ours-1-000", "admin"), event(2, "create", "nervexjobs", "ours-1-001", "admin"),
         event(3, "create", "podgroups", "ours-1-000-1"), extender(4, "patch", "podgroups/status", "ours-1-000-1"),
         event(5, "create", "pods", "ours-1-000-collector-b2b2b"), event(6, "create", "pods", "ours-1-000-coordinator"),
         event(6, "create", "pods", "ours-1-001-coordinator"),
         extender(7, "patch", "podgroups/status", "ours-1-000-1"),
         extender(8, "create", "pods/binding", "ours-1-000-collector-b2b2b"),
         extender(9, "create", "pods/binding", "ours-1-000-coordinator"),
         extender(10, "create", "pods/binding", "ours-1-001-coordinator"),
         extender(11, "create", "pods/binding", "ours-1-001-collector-c4c4c", code=409),
         extender(12, "patch", "podgroups/status", "ours-1-000-1"))


class Reading(unittest.TestCase):
    def test_a_start_counts_from_the_first_create_to_the_last_bind(self):
        figures = rounds.start_of(timeline(*START), TWO)
        self.assertEqual((figures["bound"], figures["whole"], figures["partial"], figures["complete"]), (3, 1, 1, False))
        self.assertAlmostEqual(figures["seconds"], 9.1)
        self.assertAlmostEqual(figures["rate"], 0.3)
        self.assertAlmostEqual(figures["first_gang"], 8.1)

    def test_a_pod_that_starts_without_a_bind_was_created_on_its_node(self):
        seen = timeline(*START[:7], kubelet(9, "ours-1-000-collector-b2b2b"), START[9], kubelet(12, "ours-1-000-coordinator"),
                        extender(13, "create", "pods/binding", "ours-1-001-coordinator"), kubelet(14, "ours-1-001-coordinator"))
        figures = rounds.start_of(seen, dataclasses.replace(TWO, gangs=3, pods=1))
        self.assertEqual((figures["bound"], figures["complete"]), (3, True))
        self.assertAlmostEqual(figures["rate"], round(3 / 12.1, 1))
        self.assertAlmostEqual(figures["placed_rate"], round(1 / 4.1, 1))  # without the two that were bound
        self.assertAlmostEqual(figures["all_run"], 13.1)

    def test_a_round_without_a_bind_has_no_times(self):
        figures = rounds.start_of(timeline(*START[:2]), TWO)
        self.assertEqual((figures["rate"], figures["seconds"], figures["p99_wait"]), (0.0, None, None))

    def test_the_commit_is_the_last_write_of_the_plan_before_the_first_bind(self):
        reached = stages.stages_of(timeline(*START), ())
        self.assertEqual(reached["plan written"], [3.1, 3.1])
        self.assertEqual(reached["committed"], [6.1, 6.1])
        self.assertEqual(reached["last pod created"], [5.1, 5.1])
        self.assertEqual(reached["last pod bound"], [8.1, 9.1])

    def test_a_log_is_read_from_where_it_was_and_by_whole_lines(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("not read\n")
            file.flush()
            log = audit.AuditLog(file.name)
            line = str(START[0]).replace("'", '"') + "\n"
            file.write(line + line[:50])
            file.flush()
            self.assertEqual([one.name for one in log.read()], ["ours-1-000"])
            file.write(line[50:])
            file.flush()
            self.assertEqual(len(log.read()), 1)
            log.close()


def figures(rate, cpu, complete=True):
    return {"rate": rate, "complete": complete, "first_gang": 1.0, "last_gang": 2.0, "p99_wait": None,
            "all_run": 3.0, "placed_rate": None, "bound": 1000,
            "cpu": {"apiserver": cpu, "scheduler": 1.0, "extender": 0.5},
            "peak_mib": {"apiserver": 500.0, "scheduler": 100.0, "extender": 20.0}}


def measured(scenario="1x1000"):
    return [{"scenario": scenario, "side": side, "round": number, **figures(rate * number, cpu)}
            for side, rate, cpu in (("ours", 100, 6.0), ("names", 100, 5.0), ("bare", 200, 4.0)) for number in (1, 2, 3)]

    def test_a_log_that_was_renamed_is_read_on(self):
        """As the API server does it, every hundred MB."""
        line = json.dumps(event(1, "create", "pods", "a"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "audit.log")
            write(path, "")
            log = audit.AuditLog(path)
            write(path, line + "\n" + line[:20])
            self.assertEqual(len(log.read()), 1)
            write(path, line[20:] + "\n")
            os.rename(path, path + ".1")
            self.assertEqual(len(log.read()), 1)
            write(path, line + "\n")
            self.assertEqual(len(log.read()), 1)
            log.close()


def write(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


class Comparing(unittest.TestCase):
    def test_budgets_are_ratios_of_medians(self):
        verdicts = {budget.what: (seen["figure"], held) for budget, seen, held in budgets.verdicts(measured())}
        self.assertEqual(verdicts["pods/s against the same DNS names"], (1.0, True))
        self.assertEqual(verdicts["API server CPU against bare pods"], (1.5, False))
        self.assertEqual(verdicts["MiB of scheduler and extender"], (120.0, True))

    def test_each_side_is_a_row_and_a_round_that_was_cut_off_shows(self):
        rows = measured() + [{"scenario": "1x1000", "side": "native", "round": 1, **figures(9, 9, complete=False)}]
        table = report.rows(rows, scenarios.named("1x1000"), [sides.ours(), *sides.PEERS])
        self.assertEqual([row[0] for row in table[1:]], [
            "nervex", "native gangs of Kubernetes 1.36 (1 of 1 rounds not all bound)",
            "default scheduler, same DNS names", "default scheduler, bare pods"])
        self.assertEqual(table[1][1], "200 (100–300)")

    def test_the_page_names_machine_command_and_missed_budgets(self):
        about = {"machine": {"cpu": "a CPU", "cores": 2, "memory_gib": 8, "kernel": "6"}, "workers": 16, "variants": {},
                 "versions": {"nervex": "abc", "kubernetes": "v1", "scheduler-plugins": "v0",
                              "training-operator": "v1", "build": "build/x"}}
        text = page.page(about, measured(), [scenarios.named("1x1000")], [sides.ours(), *sides.PEERS], "make it")
        for words in ("a CPU, 2 cores", "```sh\nmake it\n```", "**missed**", "| nervex | 200 (100–300) |"):
            self.assertIn(words, text)

    def test_the_page_says_how_many_rounds_each_side_has(self):
        self.assertEqual(page.count_of([{"scenario": "a", "side": "ours"}], "a"), "1")
        rounds = [{"scenario": "a", "side": side} for side in ("ours", "bare", "ours", "bare", "ours")]
        self.assertEqual(page.count_of([*rounds, {"scenario": "b", "side": "native"}], "a"), "2 to 3")


class Resuming(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "rounds.jsonl")

    def test_a_round_that_was_measured_is_kept(self):
        results.Results(self.path, {"commit": "a"}).add("1x1000", "ours", 2, {"rate": 1})
        again = results.Results(self.path, {"commit": "a"})
        self.assertTrue(again.has("1x1000", "ours", 2))
        self.assertFalse(again.has("1x1000", "ours", 1))

    def test_rounds_of_another_build_are_not_mixed_in(self):
        results.Results(self.path, {"commit": "a"}).add("1x1000", "ours", 2, {"rate": 1})
        with self.assertRaisesRegex(ValueError, "commit: 'a', now 'b'"):
            results.Results(self.path, {"commit": "b"})

    def test_a_run_that_measured_nothing_leaves_nothing_to_be_compared_with(self):
        results.Results(self.path, {"commit": "a"})
        self.assertEqual(results.Results(self.path, {"commit": "b"}).rounds, [])
        self.assertEqual(results.load(self.path)[0], {"commit": "b"})


class Scenarios(unittest.TestCase):
    def test_a_scenario_is_named_or_spelled_out(self):
        self.assertEqual(scenarios.named("3x300").nodes, 5000)
        spelled = scenarios.named("10x20@30")
        self.assertEqual((spelled.gangs, spelled.pods, spelled.nodes, spelled.expected), (10, 20, 30, 200))
        with self.assertRaises(ValueError):
            scenarios.named("many")

    def test_pods_of_contending_gangs_come_in_turn(self):
        side, scenario = sides.BARE, scenarios.named("contention")
        _, requests = side.requests(side, scenario, scenario.gang_names("bare-1"))
        self.assertEqual(len(requests), 640)
        self.assertIn(b'"bare-1-000-0000"', requests[0][2])
        self.assertIn(b'"bare-1-001-0000"', requests[1][2])

    def test_a_job_of_another_controller_asks_for_as_many_pods(self):
        scenario = scenarios.named("2x3@4")
        for side in sides.PEERS:
            before, requests = side.requests(side, scenario, scenario.gang_names(f"{side.name}-1"))
            made = [json.loads(body) for _, _, body in requests]
            counts = {"TFJob": lambda one: one["spec"]["tfReplicaSpecs"]["Worker"]["replicas"],
                      "Job": lambda one: one["spec"]["parallelism"], "Pod": lambda one: 1}
            with self.subTest(side.name):
                self.assertEqual(sum(counts[one["kind"]](one) for one in made), 6)
                self.assertEqual(len(before), 2 if side.is_gang and made[0]["kind"] == "Pod" else 0)

    def test_a_chapter_of_a_page_is_replaced_and_the_others_stay(self):
        with tempfile.NamedTemporaryFile("w+", suffix=".md") as file:
            file.write("# Performance\n\n## Writes of a start\n\nmany\n")
            file.flush()
            stages.write(file.name, "one")
            stages.write(file.name, "two")
            file.seek(0)
            text = file.read()
        self.assertIn("many", text)
        self.assertIn("two", text)
        self.assertNotIn("one", text.replace("stone", ""))


if __name__ == "__main__":
    unittest.main()
