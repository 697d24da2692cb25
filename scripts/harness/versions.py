"""Which version is this tree, which one came before it, and which files name it?"""

import dataclasses
import os
import re

from harness.console import Failure
from harness.settings import ROOT

FILE = "VERSION"
# Files that name images of this version, besides those of `globs`.
NAMING = ("manifests/images/kustomization.yaml", "manifests/nervex-manager.yaml", "docs/tasks/install.md", "docs/tasks/run-a-job.md",
          "examples/mock/README.md", "bench/job_start.py", "Dockerfile")
NAMING_FOLDERS = {"examples": ".yaml", "tests/golden/manifests": ".yaml"}


@dataclasses.dataclass(frozen=True)
class Versions:
    version: str
    previous: str  # the release before, and its commit
    commit: str


def parse(text):
    """VERSION holds the tree's version, then `previous VERSION COMMIT`."""
    found = re.fullmatch(r"(\S+)\nprevious (\S+) ([0-9a-f]{40})\n", text)
    if not found:
        raise Failure(f"{FILE} must have two lines: a version, and 'previous VERSION COMMIT' with the whole hash")
    for each in found.groups()[:2]:
        numbers(each)
    if not numbers(found[2]) < numbers(found[1]):
        raise Failure(f"{FILE}: {found[1]} does not come after {found[2]}")
    return Versions(*found.groups())


def text(versions):
    return f"{versions.version}\nprevious {versions.previous} {versions.commit}\n"


def numbers(version):
    """(1, 2, 3) of "1.2.3", which is how a version looks: no "v", and CMake knows no suffix."""
    if not re.fullmatch(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", version):
        raise Failure(f"{version!r} is no version: three numbers with dots are, for example 1.2.3")
    return tuple(int(one) for one in version.split("."))


def of_tree():
    with open(os.path.join(ROOT, FILE), encoding="utf-8") as file:
        return parse(file.read())


def renamed(content, old, new):
    """The text of a file with the images and labels of version `new` instead of `old`."""
    old = re.escape(old)
    content = re.sub(rf"\b(nervex-(?:controller|extender|mock|server|webhook)|nervexctl):{old}(?![\w.-])", rf"\g<1>:{new}", content)
    content = re.sub(rf"(name: nervex\S*\n  newTag: ){old}(?=\n)", rf"\g<1>{new}", content)  # manifests/images
    content = re.sub(rf"(name: nervex.*, newTag: ){old}(?=\}})", rf"\g<1>{new}", content)  # docs/tasks/install.md
    content = re.sub(rf"(app\.kubernetes\.io/version: ){old}(?=\n)", rf"\g<1>{new}", content)
    return re.sub(rf"^(ARG VERSION=){old}$", rf"\g<1>{new}", content, flags=re.MULTILINE)  # Dockerfile


def naming_files():
    found = list(NAMING)
    for folder, ending in NAMING_FOLDERS.items():
        found += [os.path.join(folder, name) for name in sorted(os.listdir(os.path.join(ROOT, folder))) if name.endswith(ending)]
    return found


def begin(version, released_commit):
    """Makes this the tree of `version`, after the one it was. Returns the changed files."""
    now = of_tree()
    after = parse(text(Versions(version, now.version, released_commit)))
    changed = [FILE]
    with open(os.path.join(ROOT, FILE), "w", encoding="utf-8") as file:
        file.write(text(after))
    return changed + rename(now.version, version)


def rename(old, new):
    changed = []
    for name in naming_files():
        path = os.path.join(ROOT, name)
        with open(path, encoding="utf-8") as file:
            have = file.read()
        want = renamed(have, old, new)
        if want != have:
            with open(path, "w", encoding="utf-8") as file:
                file.write(want)
            changed.append(name)
    return changed
