#!/usr/bin/env python3
"""Does any include cycle hold more than two units? A unit is a header with its source.

A cycle of two is a subject in two files. In a larger one no unit can be read, tested or moved without the others.
Reads texts alone. Run by ctest (cycles_test), or by hand:

    python3 tests/structure/cycles_test.py
"""

import os
import re
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

LARGEST_CYCLE = 2
SKIPPED_FOLDERS = {".git", ".local", "build", "__pycache__"}


def sources(root):
    for where, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            if name.endswith((".h", ".cpp")):
                yield os.path.relpath(os.path.join(where, name), root)


def unit(path):
    return os.path.splitext(path)[0]


def included_units(root):
    """Each unit below `root`, with the other units that its header and its source include."""
    files = set(sources(root))
    units = {}
    for path in sorted(files):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            targets = re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read(), re.MULTILINE)
        included = units.setdefault(unit(path), set())
        included |= {unit(target) for target in targets if target in files} - {unit(path)}
    return units


def cycles(units):
    """Units that reach each other: Tarjan's strongly connected components, without recursion; the largest first."""
    index, lowest, found, path, on_path = {}, {}, [], [], set()
    for start in units:
        if start in index:
            continue
        calls = [(start, iter(sorted(units[start])))]
        index[start] = lowest[start] = len(index)
        path.append(start)
        on_path.add(start)
        while calls:
            at, rest = calls[-1]
            target = next(rest, None)
            if target is None:
                calls.pop()
                if calls:
                    lowest[calls[-1][0]] = min(lowest[calls[-1][0]], lowest[at])
                if lowest[at] == index[at]:
                    begin = path.index(at)
                    component, path[begin:] = path[begin:], []
                    on_path -= set(component)
                    if len(component) > 1:
                        found.append(sorted(component))
            elif target not in index:
                index[target] = lowest[target] = len(index)
                path.append(target)
                on_path.add(target)
                calls.append((target, iter(sorted(units[target]))))
            elif target in on_path:
                lowest[at] = min(lowest[at], index[target])
    return sorted(found, key=lambda cycle: (-len(cycle), cycle))


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
