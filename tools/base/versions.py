"""Which version is this tree, and which release came before it? Reads the file VERSION."""

import dataclasses
import os
import re

from tools.base.console import Failure
from tools.base.tree import ROOT

FILE = "VERSION"


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
    """(1, 2, 3) of "1.2.3". The only form of a version: no "v", and no suffix, which CMake does not know."""
    if not re.fullmatch(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", version):
        raise Failure(f"{version!r} is no version: three numbers with dots are, for example 1.2.3")
    return tuple(int(one) for one in version.split("."))


def read():
    """The versions of this tree."""
    with open(os.path.join(ROOT, FILE), encoding="utf-8") as file:
        return parse(file.read())
