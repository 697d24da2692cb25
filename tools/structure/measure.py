"""What does a tree look like? Prints a table with one column for each revision, for comparisons of before and after.

    python3 -m tools.structure.measure [REVISION...]

Without a revision: the files as they are now.
"""

import argparse
import collections
import os
import re
import subprocess
import tempfile

from tools.base import tree
from tools.structure import include_graph

# Folders of the programs: what ships. Tests, benchmarks and tools are counted by lines alone.
NOT_SHIPPED = ("tests", "bench", "examples", "tools", "scripts", "docs")
VAGUE = ("nobody", "somebody", "whatever", "whoever", "anew")  # words that stand where a subject is missing
COMMENT = re.compile(r"^\s*(?://|#(?!\s*(?:include|define|if|else|endif|pragma))|/?\*)|\s//\s.*")
COUNTED_ENDINGS = (".h", ".cpp", ".py", ".sh", ".md", ".yaml", ".json", ".cmake", ".txt", ".go")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def files_below(root, folder=""):
    for where, folders, names in os.walk(os.path.join(root, folder)):
        folders[:] = sorted(name for name in folders if name not in include_graph.SKIPPED_FOLDERS)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(where, name), root)


def is_shipped(path):
    return path.split("/")[0] not in NOT_SHIPPED


def is_script(root, path):
    return os.path.splitext(path)[1] == "" and read(root, path).startswith("#!")


def largest_cycle(root):
    units = {name: targets for name, targets in include_graph.included_units(root).items() if is_shipped(name)}
    found = include_graph.cycles(units)
    return f"{len(found[0])} units in {os.path.commonpath(found[0]) or '.'}" if found else "none"


def headers_with_one_user(root):
    users = collections.defaultdict(set)
    for path, targets in include_graph.included_files(root).items():
        for target in targets:
            if is_shipped(path) and include_graph.unit(path) != include_graph.unit(target):
                users[target].add(include_graph.unit(path))
    headers = [path for path in include_graph.sources(root) if path.endswith(".h") and is_shipped(path)]
    return f"{sum(len(users[path]) == 1 for path in headers)} of {len(headers)}"


def mutual_folders(root):
    """Pairs of folders that include each other."""
    edges = {(os.path.dirname(unit), os.path.dirname(target)) for unit, targets in include_graph.included_units(root).items()
             if is_shipped(unit) for target in targets if is_shipped(target)}
    pairs = sorted((a, b) for a, b in edges if a < b and (b, a) in edges)
    return f"{len(pairs)}: {', '.join(' '.join(pair) for pair in pairs)}" if pairs else "none"


# A declaration or definition, not a call: each parameter is a type and a name.
PARAMETER = r"(?:const )?[\w:]+(?:<[^()]*>)?(?: const)?\s*[&*]*\s+[&*]*\w+(?:\s*=[^,()]*(?:\(\))?)?"
FUNCTION = re.compile(rf"\b(\w+)\(\s*({PARAMETER}(?:\s*,\s*{PARAMETER})*)\s*\)")


def parameters(root):
    """How many parameters functions have: of six and more, and the largest number."""
    found = {}
    for path in include_graph.sources(root):
        if is_shipped(path):
            for name, text in FUNCTION.findall(re.sub(r"//.*", "", read(root, path))):
                count = len(re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", "", text).split(","))
                if count >= 6:
                    found[include_graph.unit(path), name] = count
    largest = max(found.items(), key=lambda one: one[1], default=(("", ""), 0))
    return f"{len(found)}, the largest {largest[1]} ({largest[0][1]})"


def functions_named_of(root):
    """Names that are called or declared, each once."""
    found = set()
    for path in include_graph.sources(root):
        if is_shipped(path):
            code = re.sub(r"//.*", "", read(root, path))
            found |= set(re.findall(r"(?<!std::)\b([a-z]\w*_of)\(", code)) - {"all_of", "any_of", "none_of"}
    return len(found)


def vague_comment_lines(root):
    pattern = re.compile(rf"\b(?:{'|'.join(VAGUE)})\b", re.IGNORECASE)
    count = 0
    for path in files_below(root):
        if not path.endswith((".h", ".cpp", ".py", ".sh", ".cmake")) and not is_script(root, path):
            continue
        for line in read(root, path).splitlines():
            comment = COMMENT.search(line)
            count += comment is not None and pattern.search(line[comment.start():]) is not None
    return count


def lines_of_docs(root):
    """(path, line) outside of code blocks."""
    for path in files_below(root, "docs"):
        if path.endswith(".md"):
            for line in re.sub(r"^```.*?^```", "", read(root, path), flags=re.MULTILINE | re.DOTALL).splitlines():
                yield path, line


def longest(found):
    length, path = max(((len(text), path) for path, text in found), default=(0, ""))
    return f"{length} ({path})"


def longest_prose(root):
    return longest((path, line) for path, line in lines_of_docs(root) if not line.startswith("|"))


def longest_cell(root):
    return longest((path, cell.strip()) for path, line in lines_of_docs(root) if line.startswith("|")
                   for cell in re.split(r"(?<!\\)\|", line))


def sizes(root):
    """{top folder: (files, lines)} of what people write."""
    found = collections.defaultdict(lambda: (0, 0))
    for path in files_below(root):
        if "/" not in path or not (path.endswith(COUNTED_ENDINGS) or is_script(root, path)):
            continue
        folder = path.split("/")[0]
        files, lines = found[folder]
        found[folder] = files + 1, lines + read(root, path).count("\n")
    return found


def measure(root):
    """{what: value} of the tree in that folder."""
    found = {
        "largest include cycle": largest_cycle(root),
        "headers with one user": headers_with_one_user(root),
        "folders that include each other": mutual_folders(root),
        "functions with six and more parameters": parameters(root),
        "functions named ..._of": functions_named_of(root),
        f"comment lines with {', '.join(VAGUE)}": vague_comment_lines(root),
        "longest line of prose in docs/": longest_prose(root),
        "longest table cell in docs/": longest_cell(root),
    }
    return found | {f"{folder}/": f"{files} files, {lines} lines" for folder, (files, lines) in sorted(sizes(root).items())}


def measure_revision(revision):
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "-C", tree.ROOT, "archive", revision], capture_output=True)
        if archive.returncode != 0:
            raise SystemExit(archive.stderr.decode().strip())
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        return measure(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revisions", nargs="*", metavar="REVISION")
    names = parser.parse_args().revisions
    columns = [measure_revision(name) for name in names] or [measure(tree.ROOT)]
    print(f"| | {' | '.join(names or ['now'])} |\n|---|{'---|' * len(columns)}")
    for what in dict.fromkeys(what for column in columns for what in column):
        print(f"| {what} | {' | '.join(str(column.get(what, '-')) for column in columns)} |")


if __name__ == "__main__":
    main()
