"""The programs and manifests of the last release, built from its commit: what an upgrade begins with. Kept in the cache,
by commit: `<cache>/released/<commit>/`."""

import os
import shutil
import subprocess

from tools.base import versions
from tools.base.console import Failure, step
from tools.base.tree import ROOT, cache
from tools.images import suite


def folder(commit):
    return os.path.join(cache(), "released", commit)


def tree(commit):
    return os.path.join(folder(commit), "tree")


def programs(commit):
    return os.path.join(tree(commit), "build", "programs", "bin")


def version(commit):
    """The version that its manifests name."""
    with open(os.path.join(tree(commit), "manifests", "images", "kustomization.yaml"), encoding="utf-8") as file:
        return next(line.split()[1] for line in file if line.strip().startswith("newTag:"))


def _run(command, log, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command[:4])} failed", [log.name])


def provide(commit):
    """Compiles them if they are missing: ten minutes of two CPUs. Returns the commit's tree."""
    here = tree(commit)
    if all(os.access(os.path.join(programs(commit), name), os.X_OK) for name in suite.PROGRAMS):
        return here
    os.makedirs(folder(commit), exist_ok=True)
    log_path = os.path.join(folder(commit), "build.log")
    with step(f"programs of the last release ({commit[:12]}): compiled"), open(log_path, "w", encoding="utf-8") as log:
        if not os.path.isdir(here):
            archive = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "archive", commit], capture_output=True)
            if archive.returncode != 0:
                raise Failure(f"git archive {commit}: {archive.stderr.decode().strip()} (a shallow clone? git fetch --unshallow)")
            partial = here + ".partial"
            shutil.rmtree(partial, ignore_errors=True)
            os.makedirs(partial)
            subprocess.run(["tar", "-x", "-C", partial], input=archive.stdout, check=True)
            os.rename(partial, here)
        # Its own set-up: libraries of that time, in the same cache. Not optimised: that takes twice as long.
        _run([os.path.join(here, "scripts", "setup")], log)
        build = os.path.dirname(programs(commit))
        _run(["cmake", "-S", here, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"], log)
        _run(["cmake", "--build", build, "--target", "programs"], log)
    return here


def previous():
    """The commit that VERSION names."""
    return versions.read().commit
