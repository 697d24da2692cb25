"""Which files name this tree's version? Makes the tree that of the next one."""

import os
import re

from tools.base import versions
from tools.base.tree import ROOT

# Files that name images of this version, besides those of NAMING_FOLDERS that have such images.
NAMING = ("manifests/images/kustomization.yaml", "manifests/nervex-manager.yaml", "docs/tasks/install.md",
          "examples/mock/README.md", "bench/job_start.py", "Dockerfile",
          "charts/nervex/Chart.yaml", "charts/nervex/README.md", "sdk/python/nervex/__init__.py")
NAMING_FOLDERS = {"examples": ".yaml", "tests/golden/manifests": ".yaml"}


def renamed(content, old, new):
    """The text of a file with the images and labels of version `new` instead of `old`."""
    old = re.escape(old)
    content = re.sub(rf"\b(nervex-(?:controller|extender|mock|server|webhook)|nervexctl):{old}(?![\w.-])", rf"\g<1>:{new}", content)
    content = re.sub(rf"(name: nervex\S*\n  newTag: ){old}(?=\n)", rf"\g<1>{new}", content)  # manifests/images
    content = re.sub(rf"(name: nervex.*, newTag: ){old}(?=\}})", rf"\g<1>{new}", content)  # docs/tasks/install.md
    content = re.sub(rf"(app\.kubernetes\.io/version: ){old}(?=\n)", rf"\g<1>{new}", content)
    content = re.sub(rf"\b(nervex-){old}(?=\.tgz)", rf"\g<1>{new}", content)  # charts/nervex/README.md, docs/tasks/install.md
    content = re.sub(rf"^((?:version|appVersion): ){old}$", rf"\g<1>{new}", content, flags=re.MULTILINE)  # charts/nervex/Chart.yaml
    content = re.sub(rf'^(__version__ = "){old}(?="$)', rf"\g<1>{new}", content, flags=re.MULTILINE)  # sdk/python
    return re.sub(rf"^(ARG VERSION=){old}$", rf"\g<1>{new}", content, flags=re.MULTILINE)  # Dockerfile


def has_our_images(path):
    with open(path, encoding="utf-8") as file:
        return "image: nervex" in file.read()


def naming_files():
    found = list(NAMING)
    for folder, ending in NAMING_FOLDERS.items():
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(os.path.join(ROOT, folder))) if name.endswith(ending)]
        found += [path for path in paths if has_our_images(os.path.join(ROOT, path))]
    return found


def begin(version, released_commit):
    """Changes this tree to `version`, after its current one. Returns the changed files."""
    now = versions.read()
    after = versions.parse(versions.text(versions.Versions(version, now.version, released_commit)))
    with open(os.path.join(ROOT, versions.FILE), "w", encoding="utf-8") as file:
        file.write(versions.text(after))
    return [versions.FILE, *rename(now.version, version)]


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
