#!/usr/bin/env python3
"""Does scripts/setup take the sources that it is pinned to and no others? Runs it in a folder of its own, where apt, CMake
and what it would install are stand-ins. Run by ctest (setup_test), or by hand:

    python3 tests/structure/setup_test.py
"""

import contextlib
import hashlib
import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHA256 = re.compile(r"^httplib_sha256=[0-9a-f]{64}$", re.MULTILINE)

with open(f"{ROOT}/tools/setup/httplib.sh", encoding="utf-8") as file:
    SCRIPT = file.read()
ARCHIVE = re.search(r"^httplib_archive=(\S+)$", SCRIPT, re.MULTILINE)[1]
TESTED = re.search(r"^httplib_tested=(\S+)$", SCRIPT, re.MULTILINE)[1]

# Everything that would look at, or change, the machine.
STAND_INS = {
    "dpkg-query": 'case "$3" in *Package*) text="";; *) text=3.7.1;; esac\n'
                  'shift 3; for one in "$@"; do echo "installed ${text:-$one}"; done',
    "go": "echo go version go1.99.0 linux/amd64",
    "tee": "cat >/dev/null",
    "sudo": 'if [ "$1" = -v ]; then exit 0; fi; exec "$@"',
    "apt-cache": 'for one in $APT_HAS; do echo "Version: $one"; done',
    "apt-get": 'echo "$*" >>"$TREE/apt-get"\n'
               'case "$*" in *"source --download-only"*) cp "$TREE/served" "$ARCHIVE";; esac',
    "cmake": 'echo "$*" >>"$TREE/cmake"\nif [ "$1" = --install ]; then mkdir -p prefix/lib/cmake/httplib; fi',
}


def archive(text):
    """A source archive that holds `text`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as tar:
        entry = tarfile.TarInfo("cpp-httplib/README")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


class Tree:
    """A checkout whose scripts/setup is pinned to `pinned`, on a machine where apt has `apt_has` and serves `served`."""

    def __init__(self, folder, pinned, served=b"", apt_has=""):
        self.folder = folder
        self.environment = {**os.environ, "TREE": folder, "ARCHIVE": ARCHIVE, "APT_HAS": apt_has,
                            "NERVEX_CACHE": f"{folder}/cache", "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        self.environment.pop("NERVEX_HTTPLIB", None)
        for name in ("scripts/setup", "tools/base/lib.sh", "tools/requirements.txt"):
            os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
            shutil.copy(f"{ROOT}/{name}", f"{folder}/{name}")
        shutil.copytree(f"{ROOT}/tools/setup", f"{folder}/tools/setup")
        script = SHA256.sub(f"httplib_sha256={hashlib.sha256(pinned).hexdigest()}", SCRIPT)
        self.write("tools/setup/httplib.sh", script.encode())
        self.write("served", served)
        for name, text in STAND_INS.items():
            self.write(f"bin/{name}", f"#!/bin/sh\n{text}\n".encode(), 0o755)
        self.write(os.path.relpath(self.run("--print-venv").stdout.strip() + "/complete", folder), b"")

    def write(self, name, content, mode=0o644):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, mode)

    def calls(self, name):
        try:
            with open(f"{self.folder}/{name}", encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def run(self, *words, **variables):
        return subprocess.run([f"{self.folder}/scripts/setup", *words], env={**self.environment, **variables},
                              cwd=self.folder, capture_output=True, text=True)

    def built(self):
        """What is in the cache as cpp-httplib; "" if nothing is."""
        with contextlib.suppress(FileNotFoundError):
            with open(self.run("--print-prefix").stdout.strip() + "/nervex-deps.txt", encoding="utf-8") as file:
                return file.read().strip()
        return ""


class Sources(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory()) if hasattr(self, "enterContext") else tempfile.mkdtemp()
        if not hasattr(self, "enterContext"):
            self.addCleanup(shutil.rmtree, self.folder)
        self.good = archive("as tested")

    def test_the_pinned_file_is_built(self):
        tree = Tree(self.folder, self.good, self.good, f"0.50.0+ds-1 {TESTED}+ds-2 {TESTED}+ds-3")
        done = tree.run()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(tree.built(), f"cpp-httplib {TESTED}+ds-3")
        self.assertIn(f"cpp-httplib={TESTED}+ds-3", tree.calls("apt-get"))
        self.assertIn("nothing is missing", tree.run("--check").stdout)

    def test_another_file_is_refused_before_it_is_unpacked(self):
        tree = Tree(self.folder, self.good, archive("as changed by an attacker"), f"{TESTED}+ds-3")
        done = tree.run()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("is not the file that this project is tested with", done.stderr)
        self.assertIn(hashlib.sha256(self.good).hexdigest(), done.stderr)
        self.assertEqual((tree.built(), tree.calls("cmake")), ("", ""))

    def test_another_version_is_refused(self):
        for has in ("0.50.0+ds-1", "0.40.0+ds-1", TESTED + "1+ds-1", ""):
            with self.subTest(has):
                tree = Tree(f"{self.folder}/{has or 'none'}", self.good, self.good, has)
                done = tree.run()
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"apt has no cpp-httplib {TESTED}", done.stderr)
                self.assertIn("NERVEX_HTTPLIB=FILE", done.stderr)
                self.assertEqual((tree.built(), tree.calls("cmake")), ("", ""))

    def test_a_file_of_ones_own_is_built_if_it_is_the_pinned_one(self):
        tree = Tree(self.folder, self.good)
        tree.write("mine/some-name.tar.xz", self.good)
        tree.write("mine/other.tar.xz", archive("other"))
        refused = tree.run(NERVEX_HTTPLIB="mine/other.tar.xz")
        self.assertIn("is not the file that this project is tested with", refused.stderr)
        self.assertNotEqual(refused.returncode, 0)
        self.assertNotEqual(tree.run(NERVEX_HTTPLIB="mine/none").returncode, 0)
        self.assertEqual(tree.built(), "")
        done = tree.run(NERVEX_HTTPLIB="mine/some-name.tar.xz")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((tree.built(), tree.calls("apt-get")), (f"cpp-httplib {TESTED}", ""))

    def test_what_an_earlier_run_has_built_of_another_version_does_not_count(self):
        tree = Tree(self.folder, self.good, self.good, f"{TESTED}+ds-3")
        built = os.path.relpath(tree.run("--print-prefix").stdout.strip(), self.folder) + "/nervex-deps.txt"
        tree.write(built, b"cpp-httplib 0.50.0+ds-1\n")
        self.assertIn(f"missing: cpp-httplib {TESTED}", tree.run("--check").stdout)
        self.assertEqual(tree.run().returncode, 0)
        self.assertEqual(tree.built(), f"cpp-httplib {TESTED}+ds-3")


class AptSource(unittest.TestCase):
    def test_lists_of_any_age_are_read_for_the_pinned_source_alone(self):
        made = subprocess.run([f"{ROOT}/scripts/setup", "--print-apt-source"], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest(made.stderr.strip())  # no Debian
        entries = [part for part in made.stdout.split("\n\n") if "Types:" in part]
        self.assertEqual(len(entries), 2)
        for entry in entries:
            of_sources = "Types: deb-src" in entry
            self.assertEqual("Check-Valid-Until: no" in entry, of_sources)
            self.assertEqual("Valid-Until-Min: " in entry, not of_sources)


class Dockerfile(unittest.TestCase):
    def test_every_image_that_it_begins_with_is_named_by_its_content(self):
        with open(f"{ROOT}/Dockerfile", encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)), {"${DEBIAN}", "scratch"})
        self.assertNotRegex(text, r"ARG DEBIAN=")  # who builds says which
        check = re.search(r"^RUN (case .*)$", text, re.MULTILINE)[1]
        self.assertLess(text.index(check), text.index("COPY . ."))
        for image, status in (("debian:bookworm", 1), ("", 1), ("debian:bookworm@sha256:" + "0" * 64, 0)):
            done = subprocess.run(["sh", "-c", check], env={**os.environ, "DEBIAN": image}, capture_output=True)
            self.assertEqual(done.returncode, status, image)


if __name__ == "__main__":
    unittest.main()
