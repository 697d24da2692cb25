"""Is the package of this version, small, and fit for the oldest Python that it names? (scripts/lint checks its types.)"""

import ast
import glob
import os
import subprocess
import sys
import unittest

from support import ROOT
import nervex

SDK = os.path.join(ROOT, "sdk", "python")
SOURCES = sorted(glob.glob(os.path.join(SDK, "nervex", "*.py")))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Package(unittest.TestCase):
    def test_its_version_is_that_of_the_suite(self):
        self.assertEqual(nervex.__version__, read(os.path.join(ROOT, "VERSION")).split()[0])

    def test_python_3_9_can_read_it(self):
        for path in SOURCES:
            tree = ast.parse(read(path), path, feature_version=(3, 9))
            self.assertNotIn(ast.Match, map(type, ast.walk(tree)), path)

    def test_one_file_uses_the_kubernetes_package(self):
        users = [os.path.basename(path) for path in SOURCES if "\nimport kubernetes" in read(path)]
        self.assertEqual(users, ["api.py"])

    def test_a_coordinator_needs_the_standard_library_alone(self):
        code = "import sys, nervex, nervex.replicas, nervex.operator_server; print([m for m in sys.modules if m.split('.')[0] in ('kubernetes', 'urllib3', 'yaml')])"
        said = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": SDK}, capture_output=True, text=True)
        self.assertEqual(said.stdout.strip(), "[]", said.stderr)

    def test_dir_shows_what_users_need_and_no_internals(self):
        public = {name for name in dir(nervex) if not name.startswith("_")}
        self.assertEqual(public, {*nervex.__all__, "kubeflow", "operator_server", "replicas"})
        self.assertIn("Client", public)
        for name in public:
            self.assertTrue(getattr(nervex, name), name)
        everything = {}
        exec("from nervex import *", everything)
        self.assertLessEqual(set(nervex.__all__), set(everything))

    def test_all_names_are_there_and_have_a_docstring(self):
        for name in nervex.__all__:
            self.assertTrue(getattr(nervex, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
