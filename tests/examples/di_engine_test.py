#!/usr/bin/env python3
"""Does DI-engine with what examples/di-engine adds to it survive the loss of workers, and does its curve show what its
log says? The framework is replaced by the few lines of it that matter. Run by ctest (di_engine_test), or by hand:

    python3 tests/examples/di_engine_test.py
"""

import glob
import importlib
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock
from xml.etree import ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "examples", "di-engine")
sys.path[:0] = [ROOT, EXAMPLE]
sys.dont_write_bytecode = True

from tools.images import rootfs, training  # noqa: E402


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class SoloCommander:
    """As in ding.worker.coordinator.solo_parallel_commander: a task takes a place when it is made, gives it back when it
    ends, and there is a place for each collector."""

    def __init__(self):
        self._collector_task_space = mock.Mock(places=0, taken=0)
        self._collector_task_space.release_space = self._release

    def _release(self):
        self._collector_task_space.taken -= 1

    def increase_collector_task_space(self):
        self._collector_task_space.places += 1

    def decrease_collector_task_space(self):
        self._collector_task_space.places -= 1

    def take_task(self):
        space = self._collector_task_space
        if space.taken == space.places:
            return False
        space.taken += 1
        return True

    def finish_collector_task(self, _task_id, finished_task):
        self._release()
        return finished_task["reward_mean"] >= 195


class CommCoordinator:
    """As in ding.worker.coordinator.comm_coordinator: the loop ends with the first error."""

    def __init__(self, rounds=()):
        self._connection_learner, self._rounds, self._end_flag = {}, list(rounds), False
        self.updates = []

    def _period_sync_with_server(self):
        while not self._end_flag:
            if not self._rounds:
                self._end_flag = True
                return
            one = self._rounds.pop(0)
            if isinstance(one, Exception):
                raise one
            self.updates.append(one)

    def send_collector_task(self, task):
        if isinstance(task, Exception):
            raise task
        return True

    def _update_connection_learner(self, cur_learners):
        self.updates.append(cur_learners)


def stand_in():
    """Modules of the framework and of easydict, as far as the example imports them."""
    registry = mock.Mock()
    registry.register = lambda _name: lambda made: made
    found = {name: types.ModuleType(name) for name in (
        "easydict", "ding", "ding.utils", "ding.worker", "ding.worker.coordinator",
        "ding.worker.coordinator.comm_coordinator", "ding.worker.coordinator.solo_parallel_commander")}
    found["easydict"].EasyDict = lambda *arguments, **values: types.SimpleNamespace(**dict(*arguments, **values))
    found["ding.utils"].COMMANDER_REGISTRY = registry
    found["ding.worker"].Coordinator = object
    found["ding.worker.coordinator.comm_coordinator"].CommCoordinator = CommCoordinator
    found["ding.worker.coordinator.solo_parallel_commander"].SoloCommander = SoloCommander
    return found


with mock.patch.dict(sys.modules, stand_in()):
    elastic = importlib.import_module("elastic")
    cartpole = importlib.import_module("cartpole")
elastic.say = lambda line: None


class CollectorsComeAndGo(unittest.TestCase):
    def test_those_that_stay_get_tasks_after_one_left_with_its_task(self):
        commander = elastic.ElasticCommander()
        for _ in range(3):
            commander.increase_collector_task_space()
        self.assertEqual([commander.take_task() for _ in range(4)], [True, True, True, False])
        commander.decrease_collector_task_space()
        commander.finish_collector_task("a", {"reward_mean": 10})
        self.assertEqual([commander.take_task() for _ in range(2)], [True, False])

    def test_the_end_of_another_task_does_not_hide_that_training_is_over(self):
        commander = elastic.ElasticCommander()
        ends = [commander.finish_collector_task("a", {"reward_mean": reward}) for reward in (10, 200, 30)]
        self.assertEqual(ends, [False, True, True])

    def test_the_coordinator_follows_the_server_after_a_collector_did_not_answer(self):
        connections = elastic.ElasticConnections([1, OSError("no answer"), 2, KeyError("gone"), 3])
        with mock.patch.object(elastic.time, "sleep"):
            connections._period_sync_with_server()
        self.assertEqual(connections.updates, [1, 2, 3])

    def test_a_task_that_no_collector_took_is_offered_again(self):
        connections = elastic.ElasticConnections()
        taken = [connections.send_collector_task(task) for task in ({}, OSError(), KeyError())]
        self.assertEqual(taken, [True, False, False])

    def test_a_lost_learner_ends_the_coordinator(self):
        connections = elastic.ElasticConnections()
        connections._connection_learner = {"learner-a.default:22271": None}
        with mock.patch.object(elastic.os, "_exit", side_effect=SystemExit) as ended:
            connections._update_connection_learner(["learner-a.default:22271", "learner-b.default:22271"])
            ended.assert_not_called()
            with self.assertRaises(SystemExit):
                connections._update_connection_learner(["learner-b.default:22271"])
        ended.assert_called_once_with(1)


class TheCurve(unittest.TestCase):
    LOG = """\
[2026-11-26 14:43:39][solo_parallel_commander.py:162][INFO] [EVALUATOR] Task ends:
train_iter: 0
reward_mean: 9.0
reward_std: 0.6
[2026-11-26 14:43:51][solo_parallel_commander.py:162][INFO] [EVALUATOR] Task ends:
train_iter: 45
reward_mean: 200.0
reward_std: 0.0
"""

    def draw(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("evaluator", self.LOG), ("collector", self.LOG.replace("200.0", "20.5"))):
                with open(os.path.join(folder, f"commander_{name}_logger.txt"), "w", encoding="utf-8") as file:
                    file.write(text)
            picture = os.path.join(folder, "curve.svg")
            subprocess.run([sys.executable, os.path.join(EXAMPLE, "curve.py"), folder, picture, *arguments], check=True)
            return ElementTree.parse(picture).getroot()

    def test_it_has_a_point_for_each_task_that_ended(self):
        points = [one.get("class") for one in self.draw().iter("{http://www.w3.org/2000/svg}circle")]
        self.assertEqual({kind: points.count(kind) for kind in points}, {"collection": 2, "evaluation-point": 2})

    def test_it_shows_what_happened_meanwhile(self):
        drawn = self.draw("--mark", "14:43:45=a collector <removed>")
        self.assertIn("a collector <removed>", [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")])


class TheImage(unittest.TestCase):
    def test_the_manifests_name_it_in_the_version_that_is_installed(self):
        named = [(os.path.basename(path), image) for path in glob.glob(os.path.join(EXAMPLE, "*.yaml"))
                 for image in re.findall(r"image: (\S+)", read(path))]
        self.assertEqual({image for _, image in named}, {training.reference()})
        self.assertEqual({name for name, _ in named}, {"agconfig.yaml", "job.yaml"})

    def test_every_python_package_is_pinned(self):
        listed = rootfs.read_list(training.REQUIREMENTS)
        self.assertEqual([line for line in listed if not re.fullmatch(r"[A-Za-z0-9.-]+==[0-9][\w.]*", line)], [])

    def test_the_scripts_are_all_in_the_config_map(self):
        listed = re.search(r"files: \[(.*)\]", read(os.path.join(EXAMPLE, "kustomization.yaml")))[1].split(", ")
        scripts = {os.path.basename(path) for path in glob.glob(os.path.join(EXAMPLE, "*.py"))} - {"curve.py"}
        self.assertEqual(set(listed), scripts)


if __name__ == "__main__":
    unittest.main()
