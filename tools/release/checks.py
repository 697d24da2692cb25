"""May this tree be released? Pure, except for what reads the tree."""

import dataclasses
import os

from tools.base import versions
from tools.base import tree as checkout
from tools.base.console import Failure
from tools.release import changelog


@dataclasses.dataclass(frozen=True)
class Tree:
    """The input of the decision."""
    versions: versions.Versions
    changed: tuple  # files that differ from the commit, and those that it does not know
    changelog: str
    knows_previous: bool  # the commit of the release before is one of this history


def refusals(tree, version):
    """Reasons against the release, one sentence each; empty if allowed."""
    found = []
    try:
        versions.numbers(version)
        if version != tree.versions.version:
            found.append(f"this tree is version {tree.versions.version}, not {version}: VERSION says so "
                         f"(scripts/release --begin {version} changes it)")
        changelog.section(tree.changelog, version)
    except Failure as failure:
        found.append(str(failure))
    if not tree.knows_previous:
        found.append(f"commit {tree.versions.commit} of release {tree.versions.previous}, which VERSION names, is not in this "
                     "history")
    if tree.changed:
        names = ", ".join(tree.changed[:5]) + (f" and {len(tree.changed) - 5} more" if len(tree.changed) > 5 else "")
        found.append(f"files differ from the commit: {names}. Commit or remove them: what is released must be a commit")
    return found


def read_tree():
    status = checkout.git("status", "--porcelain")
    if status.returncode != 0:
        raise Failure(f"a release is made from a git checkout: {status.stderr.strip()}")
    with open(os.path.join(checkout.ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
        text = file.read()
    found = versions.read()
    known = checkout.git("merge-base", "--is-ancestor", found.commit, "HEAD").returncode == 0
    return Tree(found, tuple(line[3:] for line in status.stdout.splitlines()), text, known)
