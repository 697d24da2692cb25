#!/usr/bin/env python3
"""Does any include cycle hold more than two units? A unit is a header with its source.

A cycle of two is a subject in two files. In a larger one no unit can be read, tested or moved without the others.
Reads texts alone. Run by ctest (cycles_test), or by hand:

    python3 tests/structure/cycles_test.py
"""

import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from tools.structure.include_graph import cycles, included_units  # noqa: E402

LARGEST_CYCLE = 2


class Cycles(unittest.TestCase):
    def test_no_cycle_is_larger_than_a_subject_in_two_files(self):
        units = included_units(ROOT)
        self.assertGreater(len(units), 300)  # else the search itself is broken
        too_large = [" ".join(cycle) for cycle in cycles(units) if len(cycle) > LARGEST_CYCLE]
        self.assertEqual(too_large, [], "\n" + "\n".join(too_large))

    def test_a_cycle_is_found_through_header_and_source(self):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {"a.h": "", "a.cpp": '#include "a.h"\n#include "b.h"\n', "b.h": '#include "c.h"\n',
                               "c.h": "", "c.cpp": '#include "c.h"\n#include "a.h"\n', "d.h": '#include "a.h"\n'}.items():
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(cycles(included_units(root)), [["a", "b", "c"]])


if __name__ == "__main__":
    unittest.main()
