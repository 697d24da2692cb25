"""The files of an image that is made of packages, Debian's and those of the Python registry: unpacked into a folder
instead of installed, so that this machine stays as it is and needs no container runtime."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tools.base import apt
from tools.base.console import Failure

PYTHON = "3.11"  # Debian 12's; that of the tools must be the same, since it installs for the image
SITE = f"usr/local/lib/python{PYTHON}/dist-packages"  # before Debian's own packages in sys.path
MERGED = ("bin", "lib", "lib64", "sbin")  # links to the folders below /usr


def read_list(path):
    """The lines of a file that are neither empty nor comments."""
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def unpack_debian(names, folder):
    """These packages and all that they depend on, whether or not this machine has them installed. No maintainer script
    runs, so what the scripts would make (alternatives, caches) is missing. Returns the bytes fetched."""
    for name in MERGED:
        os.makedirs(os.path.join(folder, "usr", name), exist_ok=True)
        os.symlink(f"usr/{name}", os.path.join(folder, name))
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as fetched:
        os.makedirs(os.path.join(fetched, "partial"))
        nothing_installed = os.path.join(fetched, "status")
        with open(nothing_installed, "w", encoding="ascii"):
            pass
        apt.get(fetched, "-o", f"Dir::State::status={nothing_installed}", "-o", f"Dir::Cache::archives={fetched}",
                "--no-install-recommends", "--download-only", "--yes", "install", *names)
        packages = sorted(name for name in os.listdir(fetched) if name.endswith(".deb"))
        # dpkg-deb --extract would replace the links by folders
        unpack = 'dpkg-deb --fsys-tarfile "$1" | tar --extract --keep-directory-symlink --directory "$2"'
        for name in packages:
            apt.run(fetched, "bash", "-o", "pipefail", "-c", unpack, "-", name, folder)
        return sum(os.path.getsize(os.path.join(fetched, name)) for name in packages)


def install_python(requirements, folder):
    """The packages of a requirements file, and no others: it lists everything with its version."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" != PYTHON:
        raise Failure(f"this is Python {sys.version.split()[0]}; the image has Debian 12's Python {PYTHON}")
    apt.run("/", sys.executable, "-m", "pip", "--quiet", "install", "--no-deps", "--no-compile", "--no-cache-dir",
            "--disable-pip-version-check", "--target", os.path.join(folder, SITE), "--requirement", requirements)


def compile_python(folder):
    """Writes the byte code, which containers could not keep. It is bound to no time, so that equal files stay equal.
    Some packages have files that do not compile (templates, tests of newer Pythons)."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-j", "2", "--invalidation-mode", "unchecked-hash",
                    "-s", folder, "-p", "/", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def remove(folder, patterns):
    for pattern in patterns:
        for path in glob.glob(os.path.join(folder, pattern)):
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)


def write_layer(folder, path, epoch):
    """A tar file of the folder's content: everything belongs to root and has one time."""
    apt.run(folder, "tar", "--create", f"--file={path}", "--format=gnu", "--sort=name", f"--mtime=@{epoch}",
            "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go+r", ".")


def version_in(requirements, name):
    found = re.search(rf"^{re.escape(name)}==(\S+)", "\n".join(read_list(requirements)), re.MULTILINE | re.IGNORECASE)
    if not found:
        raise Failure(f"{requirements} does not pin {name}")
    return found[1]
