"""python -m tools.release, called by scripts/release."""

import argparse
import os
import shutil
import subprocess
import sys

from tools.base import tree, versions
from tools.base.console import Failure, say, step
from tools.base.tree import ROOT
from tools.images import suite
from tools.release import changelog, checks, contents, next_version


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/release")
    parser.add_argument("version", nargs="?", default="")
    parser.add_argument("--registry", default="")
    parser.add_argument("--downloads", metavar="URL", default="")
    parser.add_argument("--kube-scheduler", metavar="VERSION-OR-IMAGE")
    parser.add_argument("--output")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--begin", metavar="VERSION")
    return parser.parse_args()


def begin(version):
    released = checks.read_tree()
    if released.changed:
        raise Failure(f"commit first: {', '.join(released.changed[:5])} differ")
    commit = tree.git("rev-parse", "HEAD").stdout.strip()
    for name in next_version.begin(version, commit):
        say(f"wrote {name}")
    say(f"this tree is {version} now, after {released.versions.version} ({commit[:12]})")


def build():
    """{architecture: version of cpp-httplib}"""
    found = {}
    for name in suite.ARCHITECTURES:
        programs = "release-programs" if name == suite.own_architecture() else f"release-{name}-programs"
        for command in (["setup", "--architecture", name], ["build", programs]):
            done = subprocess.run([os.path.join(ROOT, "scripts", command[0]), *command[1:]])
            if done.returncode != 0:
                raise Failure(f"scripts/{' '.join(command)} failed")
        prefix = subprocess.run([os.path.join(ROOT, "scripts", "setup"), "--architecture", name, "--print-prefix"],
                                check=True, capture_output=True, text=True).stdout.strip()
        with open(os.path.join(prefix, "nervex-deps.txt"), encoding="utf-8") as file:
            found[name] = file.read().split()[1]
    return found


def make(version, registry, scheduler, downloads, folder, text):
    httplib = build()
    registry = registry.rstrip("/") + "/" if registry else ""
    releases = [suite.Release(version, suite.programs_folder(name), suite.architecture(name), registry,
                              tree.revision(), tree.epoch()) for name in suite.ARCHITECTURES]
    partial = folder + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    with step("images"):
        lines = contents.images(releases, os.path.join(partial, "images"), httplib)
    with step("manifests, chart, CLI, documents, checksums"):
        for variant in contents.VARIANTS:
            contents.write(os.path.join(partial, f"nervex-{version}-{variant}.yaml"),
                           contents.manifest(variant, version, registry, scheduler).encode())
        name, content = contents.chart_archive(version, tree.epoch(), registry, scheduler)
        contents.write(os.path.join(partial, name), content)
        archives = {release.architecture.name: contents.cli_archive(release) for release in releases}
        for name, content in archives.values():
            contents.write(os.path.join(partial, name), content)
        if downloads:
            contents.write(os.path.join(partial, f"nervex-{version}-krew.yaml"),
                           contents.krew_manifest(version, downloads, archives).encode())
        contents.write(os.path.join(partial, "README.md"), contents.readme(version, registry).encode())
        contents.write(os.path.join(partial, "example.yaml"), contents.example(version, registry).encode())
        for name, content in contents.shipped(registry, scheduler):
            contents.write(os.path.join(partial, name), content)
        contents.write(os.path.join(partial, "CHANGES.md"), text.encode())
        contents.write(os.path.join(partial, "SHA256SUMS"), contents.checksums(partial).encode())
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(partial, folder)
    for line in lines:
        say(line)
    say(f"release {version} of {tree.revision()[:12]} is in {os.path.relpath(folder, os.getcwd())}/")


def main():
    options = arguments()
    if options.begin:
        return begin(options.begin)
    if not options.version:
        raise Failure(f"which version? 'make release VERSION={versions.read().version}' releases what this tree says it is")
    released_tree = checks.read_tree()
    scheduler = None if options.kube_scheduler is None else contents.kube_scheduler(options.kube_scheduler)
    refused = checks.refusals(released_tree, options.version)
    if refused:
        raise Failure("\n  ".join([f"this tree cannot be released as {options.version}:", *refused]))
    text = changelog.section(released_tree.changelog, options.version)
    if options.check:
        return say(f"this tree can be released as {options.version}")
    folder = os.path.abspath(options.output or os.path.join(ROOT, "build", "dist", options.version))
    return make(options.version, options.registry, scheduler, options.downloads, folder, text)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)
