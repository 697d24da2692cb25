#!/usr/bin/env python3
"""Does docs/reference/marks.md list each label, annotation, finalizer, condition and taint that the code knows? And
does the policy of pods' marks protect each annotation that the page says it does?

    python3 tests/structure/marks_test.py
"""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM_FOLDERS = ("lib", "webhook", "extender", "controller", "server", "cli", "certs")
MARK = re.compile(r"constexpr std::string_view (k\w+(?:Annotation|Label|Finalizer|Condition|Taint))\s*=\s*\"([^\"]+)\"")
# How the code reads a mark: by a constant, or by a variable that the caller passes.
READ = re.compile(r"kube::(?:label|annotation)\([^,()]+(?:\([^()]*\))?[^,()]*,\s*([^)]+)\)")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def sources():
    for folder in PROGRAM_FOLDERS:
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith((".h", ".cpp")):
                    yield os.path.relpath(os.path.join(where, name), ROOT)


class Marks(unittest.TestCase):
    def setUp(self):
        self.page = read("docs/reference/marks.md")
        self.code = {path: read(path) for path in sources()}
        self.marks = {name: value for text in self.code.values() for name, value in MARK.findall(text)}

    def test_the_page_lists_each_mark(self):
        self.assertGreater(len(self.marks), 15)
        for name, value in sorted(self.marks.items()):
            if value != "condition=":  # of kubectl's arguments
                self.assertIn(f"`{value}`", self.page, f"{name} is read, and docs/reference/marks.md does not list it")

    def test_marks_are_read_by_their_constants(self):
        seen = 0
        for path, text in self.code.items():
            for key in READ.findall(text):
                seen += 1
                if key == "key" and "slot_annotation_keys()" in text:
                    continue  # each of those of gang/slot.h
                names = re.findall(r"\bk[A-Z]\w+", key)
                self.assertTrue(names, f"{path} reads a mark that is no constant: {key}")
                self.assertLessEqual(set(names), set(self.marks), path)
        self.assertGreater(seen, 15)

    def test_the_policy_protects_what_the_page_says(self):
        policy = set(re.findall(r"'(nervex\.sensetime\.com/[a-z-]+)'", read("manifests/rbac/pod-marks-policy.yaml")))
        pods = self.page.split("## Pods")[1].split("## Other objects")[0]
        listed = {mark for row in re.findall(r"^\| annotations? .*", pods, re.MULTILINE)
                  for mark in re.findall(r"`(nervex\.sensetime\.com/[a-z-]+)`", row.split("|")[1])}
        self.assertEqual(policy, listed)


if __name__ == "__main__":
    unittest.main()
