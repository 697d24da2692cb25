#!/usr/bin/env python3
"""Does a release refuse a tree that is not one, and is in it what its help says? Run by ctest (release_test), or by hand:

    NERVEX_BIN=build/dev/bin python3 tests/release/release_test.py
"""

import dataclasses
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from tools.base import versions  # noqa: E402
from tools.base.console import Failure  # noqa: E402
from tools.controlplane import binaries  # noqa: E402
from tools.images import suite  # noqa: E402
from tools.release import changelog, checks, contents, next_version  # noqa: E402

BIN = os.path.abspath(os.environ.get("NERVEX_BIN") or os.path.join(ROOT, "build", "dev", "bin"))
COMMIT = 40 * "a"
CHANGES = """# Changelog

## Unreleased

- What comes.

## 1.2.0 - 2026-11-30

### Added
- What came.

## 1.1.0 - 2026-10-01

- What was.
"""
TREE = checks.Tree(versions.Versions("1.2.0", "1.1.0", COMMIT), (), CHANGES, True)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Refusals(unittest.TestCase):
    def refused(self, version="1.2.0", **changes):
        return checks.refusals(dataclasses.replace(TREE, **changes), version)

    def test_a_clean_tree_of_that_version_with_its_section_is_released(self):
        self.assertEqual(self.refused(), [])

    def test_changed_files_are_named(self):
        self.assertEqual(self.refused(changed=("a.cpp", "b.txt")), [
            "files differ from the commit: a.cpp, b.txt. Commit or remove them: what is released must be a commit"])
        self.assertIn("1, 2, 3, 4, 5 and 2 more", self.refused(changed=tuple("1234567"))[0])

    def test_another_version_than_the_trees_is_refused_with_how_to_change_it(self):
        self.assertEqual(self.refused("1.1.0"), [
            "this tree is version 1.2.0, not 1.1.0: VERSION says so (scripts/release --begin 1.1.0 changes it)"])

    def test_what_is_no_version_is_said(self):
        for wrong in ("v1.2.0", "1.2", "1.2.0-rc1", "01.2.0", "latest", ""):
            self.assertIn(f"{wrong!r} is no version", self.refused(wrong)[0])

    def test_a_version_without_section_is_refused(self):
        self.assertEqual(self.refused(changelog="# Changelog\n\n## Unreleased\n\n- a\n"), [
            "CHANGELOG.md has no section 1.2.0: begin what is released with '## 1.2.0 - YYYY-MM-DD', where 'Unreleased' "
            "stands now"])

    def test_a_section_without_a_day_or_without_text_is_refused(self):
        self.assertIn("must end with ' - ' and the day", self.refused(changelog="## 1.2.0\n\n- a\n")[0])
        self.assertEqual(self.refused(changelog="## 1.2.0 - 2026-11-30\n\n## 1.1.0 - 2026-10-01\n\n- a\n"),
                         ["CHANGELOG.md says nothing about 1.2.0"])

    def test_a_previous_release_that_is_not_in_the_history_is_refused(self):
        self.assertEqual(self.refused(knows_previous=False), [
            f"commit {COMMIT} of release 1.1.0, which VERSION names, is not in this history"])

    def test_all_reasons_come_together(self):
        self.assertEqual(len(self.refused(changed=("a",), knows_previous=False, changelog="")), 3)

    def test_the_program_refuses_with_a_status_and_without_a_traceback(self):
        done = subprocess.run([os.path.join(ROOT, "scripts", "release"), "9.9.9", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"this tree is version {versions.read().version}, not 9.9.9", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_without_a_version_it_says_which(self):
        done = subprocess.run([os.path.join(ROOT, "scripts", "release"), "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.strip()), (
            1, f"error: which version? 'make release VERSION={versions.read().version}' releases what this tree says it is"))


class Changelog(unittest.TestCase):
    def test_a_section_ends_where_the_next_begins(self):
        self.assertEqual(changelog.section(CHANGES, "1.2.0"), "### Added\n- What came.\n")
        self.assertEqual(changelog.section(CHANGES, "1.1.0"), "- What was.\n")

    def test_one_version_is_not_the_beginning_of_another(self):
        with self.assertRaisesRegex(Failure, "no section 1.2"):
            changelog.section("## 1.2.01 - 2026-11-30\n\n- a\n", "1.2.0")
        with self.assertRaisesRegex(Failure, "no section 1.2"):
            changelog.section("## 11.2.0 - 2026-11-30\n\n- a\n", "1.2.0")


class Version(unittest.TestCase):
    def test_the_file_is_read_and_written(self):
        text = f"1.2.0\nprevious 1.1.0 {COMMIT}\n"
        self.assertEqual(versions.parse(text), TREE.versions)
        self.assertEqual(versions.text(TREE.versions), text)

    def test_a_wrong_file_is_said(self):
        for wrong, said in {"1.2.0\n": "must have two lines", f"1.2.0\nprevious 1.1.0 {COMMIT[:12]}\n": "the whole hash",
                            f"1.2.0\nprevious 1.2.0 {COMMIT}\n": "does not come after", f"1.2\nprevious 1.1.0 {COMMIT}\n": "no version",
                            f"1.9.0\nprevious 1.10.0 {COMMIT}\n": "does not come after"}.items():
            with self.assertRaisesRegex(Failure, said):
                versions.parse(wrong)

    def test_this_trees_file_is_right_and_cmake_reads_the_same(self):
        self.assertRegex(versions.read().version, r"^\d+\.\d+\.\d+$")
        for name in ("nervexctl", "nervex-server"):
            done = subprocess.run([os.path.join(BIN, name), "--version"], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout, f"{name} {versions.read().version}\n")

    def test_only_our_images_of_that_version_are_renamed(self):
        for before, after in {
                "image: nervex-mock:1.1.0\n": "image: nervex-mock:1.2.0\n",
                "image: registry/nervexctl:1.1.0 # x": "image: registry/nervexctl:1.2.0 # x",
                "image: nervex-mock:1.1.0.1\n": None, "image: nervex-mock:1.1.01\n": None, "image: other:1.1.0\n": None,
                "image: nervex-mock:1x1.0\n": None, "version 1.1.0\n": None,
                "- name: nervex-server\n  newTag: 1.1.0\n": "- name: nervex-server\n  newTag: 1.2.0\n",
                "    app.kubernetes.io/version: 1.1.0\n": "    app.kubernetes.io/version: 1.2.0\n",
                "    app.kubernetes.io/version: 1.1.0-rc1\n": None,
                "- name: kube-scheduler\n  newTag: 1.1.0\n": None,
                "- {name: nervexctl, newName: r/nervexctl, newTag: 1.1.0}": "- {name: nervexctl, newName: r/nervexctl, newTag: 1.2.0}",
                "version: 1.1.0\nappVersion: 1.1.0\n": "version: 1.2.0\nappVersion: 1.2.0\n",
                "kubeVersion: 1.1.0\n": None,
                "helm push nervex-1.1.0.tgz": "helm push nervex-1.2.0.tgz",
                '__version__ = "1.1.0"\n': '__version__ = "1.2.0"\n',
                "ARG VERSION=1.1.0\n": "ARG VERSION=1.2.0\n"}.items():
            self.assertEqual(next_version.renamed(before, "1.1.0", "1.2.0"), after or before)

    def test_every_file_that_names_this_version_is_renamed_with_it(self):
        """Else the next version begins with files of this one."""
        now = versions.read().version
        naming = set(next_version.naming_files())
        listed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "grep", "--name-only", "-E",
                                 rf"(nervex-(controller|extender|mock|server|webhook)|nervexctl):{re.escape(now)}\b"],
                                capture_output=True, text=True).stdout.split()
        left = {name for name in listed if not name.startswith("tests/e2e/") and name not in naming}
        self.assertEqual(left, set())
        for name in naming:
            self.assertNotEqual(next_version.renamed(read(name), now, "0.0.0"), read(name), f"{name} names no image of this version")


class Contents(unittest.TestCase):
    RELEASE = suite.Release("1.2.0", BIN, suite.architecture(suite.own_architecture()), "", "abc", 1_700_000_000)

    def test_the_cli_runs_from_any_folder_with_its_own_libraries(self):
        name, content = contents.cli_archive(self.RELEASE)
        top = f"nervexctl-1.2.0-linux-{suite.own_architecture()}"
        self.assertEqual(name, f"{top}.tar.gz")
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(content)) as opened:
                opened.extractall(folder)
            os.symlink(os.path.join(folder, top, "nervexctl"), os.path.join(folder, "kubectl-nervex"))
            for program in (f"{top}/nervexctl", f"{top}/kubectl-nervex", "kubectl-nervex"):
                done = subprocess.run([os.path.join(folder, program), "--version"], capture_output=True, text=True, cwd="/")
                self.assertEqual((done.returncode, done.stdout), (0, f"nervexctl {versions.read().version}\n"), done.stderr)
            completed = subprocess.run([os.path.join(folder, top, "kubectl_complete-nervex"), "susp"],
                                       capture_output=True, text=True, check=True)
            self.assertEqual(completed.stdout, "suspend\n:4\n")
            # it takes none of the machine's
            lib = os.path.join(folder, top, "lib")
            loader = os.path.join(lib, os.path.basename(self.RELEASE.architecture.loader))
            listed = subprocess.run([loader, "--library-path", lib, "--list", os.path.join(lib, "nervexctl")],
                                    capture_output=True, text=True, check=True).stdout
            found = re.findall(r"=> (\S+)", listed)
            self.assertGreater(len(found), 3)
            self.assertEqual({os.path.dirname(one) for one in found}, {lib})

    def test_krew_gets_each_archive_with_its_checksum(self):
        archives = {"arm64": ("nervexctl-1.2.0-linux-arm64.tar.gz", b"b"), "amd64": ("nervexctl-1.2.0-linux-amd64.tar.gz", b"a")}
        plugin = json.loads(contents.krew_manifest("1.2.0", "https://example.com/v1.2.0/", archives))
        self.assertEqual((plugin["metadata"]["name"], plugin["spec"]["version"]), ("nervex", "v1.2.0"))
        first, second = plugin["spec"]["platforms"]
        self.assertEqual(first, {
            "selector": {"matchLabels": {"os": "linux", "arch": "amd64"}},
            "uri": "https://example.com/v1.2.0/nervexctl-1.2.0-linux-amd64.tar.gz",
            "sha256": hashlib.sha256(b"a").hexdigest(), "bin": "nervexctl",
            "files": [{"from": "nervexctl-1.2.0-linux-amd64/*", "to": "."}]})
        self.assertEqual(second["selector"]["matchLabels"]["arch"], "arm64")

    def test_krew_can_unpack_the_cli(self):
        """It refuses an archive that has anything but files and folders."""
        _, content = contents.cli_archive(self.RELEASE)
        with tarfile.open(fileobj=io.BytesIO(content)) as opened:
            self.assertEqual([one.name for one in opened if not one.isfile() and not one.isdir()], [])

    def test_the_cli_made_twice_is_the_same_bytes(self):
        self.assertEqual(contents.cli_archive(self.RELEASE), contents.cli_archive(self.RELEASE))

    def test_images_get_the_registry_and_others_do_not(self):
        text = "image: nervex-server:1.2.0\nimage: registry.k8s.io/kube-scheduler:v1.36.3\n"
        self.assertEqual(contents.with_images(text, "1.2.0", "example.com/a/"),
                         "image: example.com/a/nervex-server:1.2.0\nimage: registry.k8s.io/kube-scheduler:v1.36.3\n")

    def test_kube_scheduler_is_the_one_that_was_asked_for(self):
        for wanted, image in {"v1.33.5": "registry.k8s.io/kube-scheduler:v1.33.5", "1.33.5": "registry.k8s.io/kube-scheduler:v1.33.5",
                              "example.com:5000/k/kube-scheduler:v1.33.5-a": "example.com:5000/k/kube-scheduler:v1.33.5-a",
                              "example.com/k@sha256:12": "example.com/k@sha256:12"}.items():
            text = "image: nervex-server:1.2.0\nimage: registry.k8s.io/kube-scheduler:v1.36.3\n"
            self.assertEqual(contents.with_images(text, "1.2.0", "example.com/", contents.kube_scheduler(wanted)),
                             f"image: example.com/nervex-server:1.2.0\nimage: {image}\n")

    def test_the_chart_has_the_images_of_the_release_as_defaults(self):
        values = "image:\n  # r\n  registry: \"\"\n  tag: \"\"\n\nscheduler:\n  replicas: 2\n  image:\n    registry: k\n    repository: s\n" \
                 "    tag: \"\"\n    digest: \"\"\n\nextender:\n  image:\n    registry: \"\"\n"
        self.assertEqual(contents.with_default_images(values, ""), values)
        for scheduler, after in {
                None: values,
                "registry.k8s.io/kube-scheduler:v1.33.5": values.replace("registry: k", 'registry: "registry.k8s.io"').replace(
                    "repository: s\n    tag: \"\"", 'repository: "kube-scheduler"\n    tag: "v1.33.5"'),
                "example.com:5000/k/s@sha256:12": values.replace("registry: k", 'registry: "example.com:5000/k"').replace(
                    "repository: s", 'repository: "s"').replace('digest: ""', 'digest: "sha256:12"')}.items():
            self.assertEqual(contents.with_default_images(values, "r.example.com/a/", scheduler),
                             after.replace('registry: ""', 'registry: "r.example.com/a"', 1))

    def test_a_chart_without_such_a_value_is_refused(self):
        with self.assertRaisesRegex(Failure, "has no image with registry"):
            contents.with_default_images("images:\n  registry: a\nother:\n  registry: b\n", "r")

    def test_what_is_no_version_of_kube_scheduler_is_refused(self):
        for wrong in ("1.33", "v1", "latest", "example.com/kube-scheduler", ""):
            with self.assertRaisesRegex(Failure, "wants a version of Kubernetes"):
                contents.kube_scheduler(wrong)
        done = subprocess.run([os.path.join(ROOT, "scripts", "release"), versions.read().version, "--check", "--kube-scheduler", "1.33"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not '1.33'", done.stderr)

    def test_a_manifest_without_kube_scheduler_is_not_taken_for_one_that_was_changed(self):
        with self.assertRaisesRegex(Failure, "names no registry.k8s.io/kube-scheduler"):
            contents.with_images("image: nervex-server:1.2.0\n", "1.2.0", "", "a:1")

    def test_a_manifest_with_an_image_of_another_version_is_refused(self):
        with self.assertRaisesRegex(Failure, "other versions than 1.2.0: nervexctl:1.1.0"):
            contents.with_images("image: nervex-server:1.2.0\nimage: nervexctl:1.1.0\n", "1.2.0", "")

    def test_every_variant_is_in_it(self):
        self.assertEqual(sorted(contents.VARIANTS), sorted(os.listdir(os.path.join(ROOT, "manifests", "variants"))))

    def test_its_readme_names_what_is_in_it(self):
        version = versions.read().version
        for registry, image in {"r.example.com/a/": "r.example.com/a/nervex-mock", "": "nervex-mock"}.items():
            text = contents.readme(version, registry)
            self.assertNotRegex(text, "@[A-Z]+@")
            self.assertIn(f"docker://{registry.rstrip('/') or 'registry.example.com'}/$image:{version}", text)
            listed = re.search(r"for image in (.*); do", text)[1].split()
            self.assertEqual(sorted(listed), sorted(suite.NAMES))
            self.assertIn(f"image: {image}:{version}\n", contents.example(version, registry))

    def test_its_links_lead_to_files_and_headings_that_are_in_it(self):
        shipped = {**dict(contents.shipped()), "README.md": contents.readme(versions.read().version, "").encode()}
        folders = {os.path.dirname(path) for path in shipped}
        dead, headings = [], {}
        for path in filter(lambda one: one.endswith(".md"), shipped):
            text = shipped[path].decode()
            titles = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```", "", text))
            headings[path] = {re.sub(r"[^\w -]", "", re.sub(r"\]\([^)]*\)", "", title)).lower().replace(" ", "-") for title in titles}
        for path in headings:
            for target, anchor in re.findall(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)", shipped[path].decode()):
                to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
                if to not in shipped and to not in folders or anchor and anchor not in headings[to]:
                    dead.append(f"{path}: {target}#{anchor}")
        self.assertEqual(dead, [])

    def test_a_link_to_what_is_not_in_it_becomes_text(self):
        text = "See [a](b.md#c), [d](../tests/e.md), [f](https://g.example) and ![h](i.svg)."
        self.assertEqual(contents.without_dead_links("docs/x.md", text, {"docs/b.md"}),
                         "See [a](b.md#c), d, [f](https://g.example) and ![h](i.svg).")

    def test_its_manifests_and_examples_name_the_images_as_its_files_do(self):
        version = versions.read().version
        for registry, scheduler in (("", None), ("r.example.com/a/", "registry.k8s.io/kube-scheduler:v1.33.5"),
                                    ("r.example.com/a/", "r.example.com/k@sha256:" + 64 * "1")):
            with tempfile.TemporaryDirectory() as folder:
                for path, content in contents.shipped(registry, scheduler):
                    contents.write(os.path.join(folder, path), content)
                done = subprocess.run([binaries.kubectl_for_manifests(), "kustomize", f"{folder}/manifests/variants/self-issued"],
                                      capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout, contents.manifest("self-issued", version, registry, scheduler).partition("---\n")[2])
                with open(os.path.join(folder, "manifests", "nervex-manager.yaml"), encoding="utf-8") as file:
                    self.assertIn(f"image: {scheduler or 'registry.k8s.io/kube-scheduler'}", file.read())
                with open(os.path.join(folder, "examples", "nervex-mock-nervexjob.yaml"), encoding="utf-8") as file:
                    self.assertIn(f"image: {registry}nervex-mock:{version}\n", file.read())

    def test_checksums_are_those_of_sha256sum(self):
        with tempfile.TemporaryDirectory() as folder:
            contents.write(os.path.join(folder, "images", "a.tar"), b"a")
            contents.write(os.path.join(folder, "b"), b"b")
            text = contents.checksums(folder)
            self.assertEqual(text, f"{hashlib.sha256(b'b').hexdigest()}  b\n{hashlib.sha256(b'a').hexdigest()}  images/a.tar\n")
            done = subprocess.run(["sha256sum", "--check", "--quiet"], input=text, text=True, cwd=folder, capture_output=True)
            self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
