"""python -m tools.images, called by scripts/images."""

import argparse
import os
import sys

from tools.base import tree, versions
from tools.base.console import Failure, say
from tools.base.tree import ROOT
from tools.images import dockerfile, files, oci, sbom, suite

DOCKERFILE = os.path.join(ROOT, "Dockerfile")


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/images")
    parser.add_argument("--version", default=versions.read().version)
    parser.add_argument("--registry", default="")
    parser.add_argument("--architecture", default=suite.own_architecture(), choices=sorted(suite.ARCHITECTURES))
    parser.add_argument("--bin")
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "images"))
    parser.add_argument("--only", action="append", choices=suite.NAMES)
    parser.add_argument("--trees")
    parser.add_argument("--httplib", default="unknown")
    parser.add_argument("--dockerfile", action="store_true")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def write_dockerfile(version, check):
    want = dockerfile.text(version)
    try:
        with open(DOCKERFILE, encoding="utf-8") as file:
            have = file.read()
    except FileNotFoundError:
        have = ""
    if have == want:
        return
    if check:
        raise Failure("Dockerfile is stale: run scripts/images --dockerfile")
    with open(DOCKERFILE, "w", encoding="utf-8") as file:
        file.write(want)
    say("wrote Dockerfile")


def write_image(release, name, folder, httplib):
    """(reference, digest, bytes of the archive, bytes of the files in it)"""
    image = suite.image(release, name)
    path = os.path.join(folder, f"{name}.tar")
    digest = oci.write([image], path).archive
    listed = sbom.document(image, digest, release, name, httplib if name in suite.PROGRAMS else None)
    with open(os.path.join(folder, f"{name}.spdx.json"), "w", encoding="utf-8") as file:
        file.write(sbom.text(listed))
    unpacked = sum(len(one.content) for one in image.entries if isinstance(one, files.File))
    return image.reference, digest, os.path.getsize(path), unpacked


def main():
    options = arguments()
    if options.dockerfile:
        return write_dockerfile(options.version, options.check)
    architecture = suite.architecture(options.architecture)
    registry = options.registry.rstrip("/") + "/" if options.registry else ""
    release = suite.Release(options.version, os.path.abspath(options.bin or suite.programs_folder(architecture.name)), architecture, registry,
                            tree.revision(), tree.epoch())
    names = options.only or suite.names_for(architecture)
    if options.trees:
        for name in names:
            folder = os.path.join(options.trees, name)
            os.makedirs(folder)
            files.write_tree(suite.image(release, name).entries, folder)
        return None
    folder = os.path.join(os.path.abspath(options.output), architecture.name)
    os.makedirs(folder, exist_ok=True)
    say(f"{'image':<40} {'archive':>9} {'unpacked':>9}  digest")
    for name in names:
        reference, digest, size, unpacked = write_image(release, name, folder, options.httplib)
        say(f"{reference:<40} {size / 2**20:6.1f} MiB {unpacked / 2**20:5.1f} MiB  {digest}")
    say(f"in {os.path.relpath(folder, os.getcwd())}/: an OCI archive and a list of contents (SPDX) for each. Load one with")
    say(f"  ctr --namespace k8s.io images import {names[0]}.tar    or    podman load --input {names[0]}.tar")
    return None


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)
