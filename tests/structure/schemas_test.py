#!/usr/bin/env python3
"""Is an object that a user applies again reported as unchanged? kubectl and Argo CD compare lists as a whole, so a default
that the API server fills in inside of a list makes each apply a change. Run by ctest (schemas_test)."""

import glob
import json
import os
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def find_defaults(schema, path="", in_list=False):
    """Paths of properties with a default inside of lists."""
    if in_list and "default" in schema:
        yield path
    for name, one in schema.get("properties", {}).items():
        yield from find_defaults(one, f"{path}.{name}", in_list)
    if isinstance(schema.get("items"), dict):
        yield from find_defaults(schema["items"], path + "[]", True)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from find_defaults(schema["additionalProperties"], path + "{}", in_list)


class Schemas(unittest.TestCase):
    def test_lists_have_no_defaults_inside(self):
        paths = [path for path in glob.glob(os.path.join(ROOT, "schemas", "*.json"))
                 if os.path.basename(path) not in ("crds.json", "pod-template.json")]
        self.assertGreaterEqual(len(paths), 5)
        for path in paths:
            with open(path, encoding="utf-8") as file:
                self.assertEqual(list(find_defaults(json.load(file))), [], path)


if __name__ == "__main__":
    unittest.main()
