"""Which unit includes which? A unit is a header with its source, named by their path without ending. Reads texts alone."""

import os
import re

INCLUDE_ROOTS = ("lib", "")  # of the compiler
SKIPPED_FOLDERS = {".git", ".local", "build", "__pycache__"}


def sources(root):
    for where, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            if name.endswith((".h", ".cpp")):
                yield os.path.relpath(os.path.join(where, name), root)


def unit(path):
    return os.path.splitext(path)[0]


def resolve(target, files):
    """The file of `files` that an include line means; None: it is not one of them."""
    return next((path for path in (os.path.join(root, target) for root in INCLUDE_ROOTS) if path in files), None)


def included_files(root):
    """Each source below `root`, with the files of ours that it includes."""
    files = set(sources(root))
    found = {}
    for path in sorted(files):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            targets = re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read(), re.MULTILINE)
        found[path] = {file for target in targets for file in [resolve(target, files)] if file}
    return found


def included_units(root):
    """Each unit below `root`, with the other units that its header and its source include."""
    units = {}
    for path, targets in included_files(root).items():
        units.setdefault(unit(path), set()).update({unit(target) for target in targets} - {unit(path)})
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
