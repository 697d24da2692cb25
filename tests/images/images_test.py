#!/usr/bin/env python3
"""Are the images small, complete, honest about what is in them, and the same bytes twice? Run by ctest (images_test),
or by hand:

    NERVEX_BIN=build/dev/bin python3 tests/images/images_test.py
"""

import dataclasses
import glob
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from tools.base import tree, versions  # noqa: E402
from tools.base.console import Failure  # noqa: E402
from tools.images import debian, dockerfile, elf, files, oci, sbom, suite  # noqa: E402

BIN = os.path.abspath(os.environ.get("NERVEX_BIN") or os.path.join(ROOT, "build", "dev", "bin"))
RELEASE = suite.Release("1.2.3", BIN, suite.architecture(suite.own_architecture()), "", "abc", 1_700_000_000)
IMAGES = {name: suite.image(RELEASE, name) for name in suite.NAMES}
AS_NOBODY = "--userspec=65532:65532"
NO_SETTINGS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


INDEX = "application/vnd.oci.image.index.v1+json"


def archive(*images, compress=True):
    """(the bytes of the archive, the digests)"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "image.tar")
        digests = oci.write(images, path, compress)
        with open(path, "rb") as file:
            return file.read(), digests


def unpack(content):
    """{name: bytes} of an OCI archive."""
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        return {one.name: opened.extractfile(one).read() for one in opened if one.isfile()}


class Archive:
    """One image as who loads it sees it."""

    def __init__(self, image, compress=False):
        self.bytes, digests = archive(image, compress=compress)
        self.digest = digests.archive
        self.found = unpack(self.bytes)
        self.index = json.loads(self.found["index.json"])
        self.manifest = self.blob(self.index["manifests"][0])
        self.config = self.blob(self.manifest["config"])

    def raw(self, descriptor):
        return self.found["blobs/" + descriptor["digest"].replace(":", "/")]

    def blob(self, descriptor):
        return json.loads(self.raw(descriptor))

    def layers(self):
        return [gzip.decompress(self.raw(one)) for one in self.manifest["layers"]]


def files_of(image):
    return {one.path: one for one in image.entries if isinstance(one, files.File)}


class OneList(unittest.TestCase):
    def test_the_order_of_the_list_does_not_matter(self):
        entries = [files.File("b", b"1"), files.Link("c/d", "../b"), files.File("a/x", b"2", 0o755)]
        self.assertEqual(files.tar(entries, 5), files.tar(list(reversed(entries)), 5))

    def test_folders_come_before_what_is_in_them(self):
        with tarfile.open(fileobj=io.BytesIO(files.tar([files.File("a/b/c", b"")], 0))) as opened:
            self.assertEqual([one.name for one in opened], ["a", "a/b", "a/b/c"])

    def test_one_path_with_two_contents_is_refused(self):
        with self.assertRaisesRegex(ValueError, "twice"):
            files.with_parents([files.File("a", b"1"), files.File("a", b"2")])
        self.assertEqual(len(files.with_parents([files.File("a", b"1"), files.File("a", b"1")])), 1)

    def test_names_get_the_registry_that_a_runtime_adds(self):
        for short, full in {"nervex-server:1": "docker.io/library/nervex-server:1", "a/b:1": "docker.io/a/b:1",
                            "registry.example.com/a:1": "registry.example.com/a:1", "localhost/a:1": "localhost/a:1",
                            "host:5000/a:1": "host:5000/a:1"}.items():
            self.assertEqual(oci.full_reference(short), full)


class FilesAsLayers(unittest.TestCase):
    """Layers that are too large for the memory are tar files on disk."""

    def test_the_archive_is_the_same_as_of_a_layer_in_memory(self):
        entries = [files.File("usr/bin/a", b"program" * 1000, 0o755), files.Link("bin", "usr/bin")]
        own = [files.Folder("tmp", 0o1777)]
        with tempfile.TemporaryDirectory() as folder:
            layer, written = os.path.join(folder, "layer.tar"), os.path.join(folder, "image.tar")
            with open(layer, "wb") as file:
                files.write_tar(entries, 7, file)
            in_memory = oci.Image("a:1", (entries, own), ("/usr/bin/a",), epoch=7)
            on_disk = dataclasses.replace(in_memory, layers=(layer, own))
            content, digests = archive(in_memory, compress=False)
            self.assertEqual(oci.write([on_disk], written, compress=False), digests)
            with open(written, "rb") as file:
                self.assertEqual(file.read(), content)

    def test_only_the_others_are_compressed(self):
        entries = [files.File("a", b"1" * 100_000)]
        with tempfile.TemporaryDirectory() as folder:
            layer = os.path.join(folder, "layer.tar")
            with open(layer, "wb") as file:
                files.write_tar(entries, 0, file)
            made = Archive(oci.Image("a:1", (layer, entries), ("/a",)), compress=True)
            copied, compressed = (one["size"] for one in made.manifest["layers"])
            self.assertGreater(copied, 100_000)
            self.assertLess(compressed, 10_000)


class Reproducible(unittest.TestCase):
    def test_an_image_is_reproducible(self):
        for name, first in IMAGES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as other:
                # another folder, other times, another umask
                for each in suite.PROGRAMS:
                    shutil.copyfile(os.path.join(BIN, each), os.path.join(other, each))
                    os.chmod(os.path.join(other, each), 0o700)
                again = suite.image(dataclasses.replace(RELEASE, bin=other), name)
                compress = name == "nervexctl"  # the longest part, and the same for all
                self.assertEqual(archive(first, compress=compress), archive(again, compress=compress))

    def test_no_program_names_the_folder_it_was_compiled_in(self):
        """Else the same commit is other bytes in another folder, or with another cache."""
        for name in suite.PROGRAMS:
            content = files_of(IMAGES[name])[f"usr/bin/{name}"].content
            for folder in (ROOT, tree.cache()):
                found = re.findall(re.escape(folder.encode()) + rb"/[ -~]*", content)
                self.assertEqual(found, [], name)

    def test_everything_has_the_one_time_and_belongs_to_root(self):
        for layer in Archive(IMAGES["nervexctl"]).layers():
            with tarfile.open(fileobj=io.BytesIO(layer)) as opened:
                for one in opened:
                    self.assertEqual((one.mtime, one.uid, one.gid, one.uname, one.gname),
                                     (RELEASE.epoch, 0, 0, "", ""), one.name)

    def test_no_gzip_header_has_a_time(self):
        made = Archive(IMAGES["nervexctl"], compress=True)
        for one in made.manifest["layers"]:
            self.assertEqual(made.raw(one)[4:8], b"\0\0\0\0")

    def test_images_with_the_same_libraries_share_their_layer(self):
        first = [Archive(IMAGES[name]).manifest["layers"][0]["digest"] for name in ("nervex-server", "nervex-controller")]
        self.assertEqual(first[0], first[1])


class WellFormed(unittest.TestCase):
    def test_every_digest_is_that_of_its_bytes(self):
        for compress in (True, False):
            made = Archive(IMAGES["nervexctl"], compress)
            for path, data in made.found.items():
                if path.startswith("blobs/sha256/"):
                    self.assertEqual(path.rpartition("/")[2], hashlib.sha256(data).hexdigest())
            for one in (made.index["manifests"][0], made.manifest["config"], *made.manifest["layers"]):
                self.assertEqual(len(made.raw(one)), one["size"])
            self.assertEqual(made.index["manifests"][0]["digest"], made.digest)
            contents = ["sha256:" + hashlib.sha256(one).hexdigest() for one in made.layers()]
            self.assertEqual(contents, made.config["rootfs"]["diff_ids"])

    def test_what_runs_is_the_program_and_not_as_root(self):
        for name, image in IMAGES.items():
            config = Archive(image).config["config"]
            self.assertEqual(config["User"], "65532:65532")
            self.assertIn(b"nonroot:x:65532:65532:", files_of(image)["etc/passwd"].content)
            if name in suite.PROGRAMS:
                self.assertEqual(config["Entrypoint"], [f"/usr/bin/{name}"])

    def test_labels_tell_version_and_commit(self):
        labels = Archive(IMAGES["nervex-server"]).config["config"]["Labels"]
        self.assertEqual(labels["org.opencontainers.image.version"], "1.2.3")
        self.assertEqual(labels["org.opencontainers.image.revision"], "abc")
        self.assertEqual(labels["org.opencontainers.image.created"], "2023-11-14T22:13:20Z")


class Complete(unittest.TestCase):
    def test_a_program_image_holds_what_ldd_finds_and_nothing_else(self):
        for name in suite.PROGRAMS:
            said = subprocess.run(["ldd", os.path.join(BIN, name)], capture_output=True, text=True, check=True).stdout
            wanted = {os.path.basename(one) for one in re.findall(r"^\s*(\S+\.so\S*)", said, re.MULTILINE)} - {"linux-vdso.so.1"}
            found = set(files_of(IMAGES[name]))
            where = f"usr/lib/{RELEASE.architecture.triplet}/"
            self.assertEqual({one.removeprefix(where) for one in found if one.startswith(where)}, wanted)
            self.assertEqual({one for one in found if not one.startswith(where)},
                             {"etc/passwd", "etc/group", "etc/ssl/certs/ca-certificates.crt", f"usr/bin/{name}"})

    def test_a_missing_library_is_named(self):
        with self.assertRaisesRegex(Failure, "needs lib.* which is in none of /nowhere"):
            elf.closure([os.path.join(BIN, "nervexctl")], ["/nowhere"])

    @unittest.skipUnless(os.geteuid() == 0, "only root may change the root folder")
    def test_every_program_starts_with_nothing_but_its_image(self):
        for name, image in IMAGES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as root:
                os.chmod(root, 0o755)
                files.write_tree(image.entries, root)
                command = [*image.entrypoint, "--help"]
                if name == suite.MOCK:  # it imports the package
                    command = ["/usr/bin/python3", "/mock/coordinator.py", "--help"]
                done = subprocess.run(["chroot", AS_NOBODY, root, *command], capture_output=True, text=True,
                                      env=NO_SETTINGS)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("usage" if name == suite.MOCK else "--", done.stdout.lower())

    @unittest.skipUnless(os.geteuid() == 0, "only root may change the root folder")
    def test_the_mock_image_can_serve_and_ask_over_http(self):
        with tempfile.TemporaryDirectory() as root:
            os.chmod(root, 0o755)
            files.write_tree(IMAGES[suite.MOCK].entries, root)
            words = ["-c", "import http.client, http.server, json, ssl, urllib.request; ssl.create_default_context()"]
            done = subprocess.run(["chroot", AS_NOBODY, root, "/usr/bin/python3", *words], capture_output=True, text=True,
                                  env=NO_SETTINGS)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_certificate_authority_of_this_machine_is_in_it(self):
        bundle = files_of(IMAGES["nervex-webhook"])["etc/ssl/certs/ca-certificates.crt"].content
        self.assertEqual(bundle.count(b"BEGIN CERTIFICATE"), len(glob.glob("/usr/share/ca-certificates/mozilla/*.crt")))

    def test_programs_have_no_symbol_table(self):
        with tempfile.NamedTemporaryFile() as out:
            out.write(files_of(IMAGES["nervexctl"])["usr/bin/nervexctl"].content)
            out.flush()
            sections = subprocess.run(["readelf", "--section-headers", "--wide", out.name], capture_output=True, text=True).stdout
            self.assertNotIn(".symtab", sections)


class ListOfContents(unittest.TestCase):
    def setUp(self):
        self.image = IMAGES["nervex-webhook"]
        self.document = sbom.document(self.image, "sha256:" + 64 * "0", RELEASE, "nervex-webhook", "0.41.0+ds-3")

    def test_it_names_every_file_with_its_checksum(self):
        listed = {one["fileName"].removeprefix("./"): one["checksums"][1]["checksumValue"] for one in self.document["files"]}
        self.assertEqual(listed, {path: one.sha256 for path, one in files_of(self.image).items()})

    def test_every_library_is_of_a_package_with_a_version(self):
        packages = {one["SPDXID"]: one for one in self.document["packages"]}
        origin = {one["spdxElementId"]: packages[one["relatedSpdxElement"]] for one in self.document["relationships"]
                  if one["relationshipType"] == "GENERATED_FROM"}
        ids = {one["fileName"]: one["SPDXID"] for one in self.document["files"]}
        libc = origin[ids[f"./usr/lib/{RELEASE.architecture.triplet}/libc.so.6"]]
        self.assertEqual(libc["name"], "libc6")
        self.assertRegex(libc["externalRefs"][0]["referenceLocator"], r"^pkg:deb/debian/libc6@2\.\S+&upstream=glibc%40")
        ours = {"./etc/passwd", "./etc/group", "./usr/bin/nervex-webhook"}
        self.assertEqual({name for name, one in ids.items() if one not in origin}, ours)

    def test_it_names_what_is_compiled_in(self):
        linked = {one["relatedSpdxElement"] for one in self.document["relationships"] if one["relationshipType"] == "STATIC_LINK"}
        self.assertIn("SPDXRef-Package-cpp-httplib", linked)
        self.assertIn("SPDXRef-Package-nlohmann-json3-dev", linked)
        self.assertIn("SPDXRef-Package-libjemalloc-dev", linked)  # in the webhook alone

    def test_every_library_that_our_sources_include_is_named(self):
        """As files of the image, or as compiled in."""
        folders = ("lib", "webhook", "extender", "controller", "server", "certs", "cli")
        included = set()
        for path in (one for folder in folders for one in glob.glob(os.path.join(ROOT, folder, "**", "*.*"), recursive=True)):
            if path.endswith((".h", ".cpp")):
                included |= set(re.findall(r"^#include <([^>]+\.h(?:pp)?)>", read(path), re.MULTILINE))
        headers = [os.path.join("/usr/include", one) for one in included if os.path.exists(os.path.join("/usr/include", one))]
        packages = debian.packages(debian.owners(headers).values())
        named, linked = {"linux"}, {name for each in (suite.BUILT_IN, *suite.BUILT_IN_ALSO.values()) for name in each}
        for name in suite.PROGRAMS:
            named |= {one.source for one in suite.sources(IMAGES[name]).values()}
        self.assertGreater(len(packages), 8)
        self.assertEqual({one.name for one in packages.values() if one.source not in named} - linked, set())

    def test_each_program_names_what_is_compiled_into_it(self):
        spaces = {"CLI": "libcli11-dev", "nlohmann": "nlohmann-json3-dev", "valijson": "libvalijson-dev", "protozero": "libprotozero-dev"}
        for name in suite.PROGRAMS:
            symbols = subprocess.run(["nm", "--demangle", os.path.join(BIN, name)], capture_output=True, text=True, check=True).stdout
            found = {package for space, package in spaces.items() if re.search(rf"\b{space}::", symbols)}
            self.assertEqual(found - {*suite.BUILT_IN, *suite.BUILT_IN_ALSO.get(name, ())}, set(), name)

    def test_references_lead_to_what_is_there(self):
        known = ["SPDXRef-DOCUMENT", *(one["SPDXID"] for one in self.document["packages"] + self.document["files"])]
        self.assertEqual(len(known), len(set(known)))
        for one in self.document["relationships"]:
            self.assertIn(one["spdxElementId"], known)
            self.assertIn(one["relatedSpdxElement"], known)


def arm64_program(needed, loader=b"/lib/ld-linux-aarch64.so.1"):
    """The smallest ELF file that a reader takes for a program of arm64: header, loader's path and libraries' names."""
    names = b"\0" + b"".join(one.encode() + b"\0" for one in needed)
    offsets = [names.index(b"\0" + one.encode() + b"\0") + 1 for one in needed]
    at = 64 + 3 * 56
    text_at = at + len(loader) + 1
    dynamic_at = (text_at + len(names) + 7) // 8 * 8
    # NEEDED, STRTAB, STRSZ, NULL
    entries = [(1, one) for one in offsets] + [(5, text_at), (10, len(names)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *one) for one in entries)
    size = dynamic_at + len(dynamic)

    def segment(kind, start, length):
        return struct.pack("<IIQQQQQQ", kind, 4, start, start, start, length, length, 8)
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 183, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)
    segments = segment(1, 0, size) + segment(3, at, len(loader) + 1) + segment(2, dynamic_at, len(dynamic))
    return (header + segments + loader + b"\0" + names).ljust(dynamic_at, b"\0") + dynamic


class AnotherArchitecture(unittest.TestCase):
    """Without a cross compiler: files that look like what it makes, and a folder that looks like its libraries."""
    ARM64 = suite.ARCHITECTURES["arm64"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for name, needed in {"lib/aarch64-linux-gnu/libc.so.6": ["ld-linux-aarch64.so.1"],
                             "lib/aarch64-linux-gnu/ld-linux-aarch64.so.1": [], "bin/program": ["libc.so.6"]}.items():
            path = os.path.join(self.root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(arm64_program(needed))
        self.program = os.path.join(self.root, "bin", "program")

    def test_machine_loader_and_libraries_are_read_from_the_file(self):
        self.assertEqual(elf.machine(self.program), self.ARM64.machine)
        self.assertEqual(elf.read(self.program), (self.ARM64.loader, ["libc.so.6"]))

    def test_libraries_come_from_that_architectures_folder(self):
        entries = suite.libraries([self.program], suite.below(self.ARM64, self.root))
        self.assertEqual({one.path: one.source for one in entries if isinstance(one, files.File)},
                         {f"usr/lib/aarch64-linux-gnu/{name}": f"{self.root}/lib/aarch64-linux-gnu/{name}"
                          for name in ("libc.so.6", "ld-linux-aarch64.so.1")})
        self.assertEqual({one.path: one.target for one in entries if isinstance(one, files.Link)},
                         {"lib": "usr/lib", "usr/lib/ld-linux-aarch64.so.1": "aarch64-linux-gnu/ld-linux-aarch64.so.1"})

    def test_a_program_of_another_machine_is_refused(self):
        with self.assertRaisesRegex(Failure, "is for AArch64, not for amd64"):
            suite.libraries([self.program], suite.ARCHITECTURES["amd64"])

    def test_there_is_no_mock_of_another_architecture(self):
        other = suite.below(self.ARM64, self.root)
        self.assertEqual(suite.names_for(other), list(suite.PROGRAMS))
        with self.assertRaisesRegex(Failure, "this machine's Python"):
            suite.image(dataclasses.replace(RELEASE, architecture=other), suite.MOCK)

    def test_one_archive_holds_both_and_says_which_is_which(self):
        first = dataclasses.replace(IMAGES["nervexctl"], layers=((files.File("a", b"1"),),))
        second = dataclasses.replace(first, architecture="arm64", layers=((files.File("a", b"2"),),))
        content, digests = archive(first, second)
        found = unpack(content)
        top = json.loads(found["index.json"])["manifests"]
        self.assertEqual([(one["mediaType"], one["digest"]) for one in top], [(INDEX, digests.archive)])
        self.assertEqual(top[0]["annotations"]["io.containerd.image.name"], "docker.io/library/nervexctl:1.2.3")
        inner = json.loads(found["blobs/" + digests.archive.replace(":", "/")])["manifests"]
        self.assertEqual(tuple(one["digest"] for one in inner), digests.manifests)
        self.assertEqual([one["platform"] for one in inner],
                         [{"architecture": name, "os": "linux"} for name in (first.architecture, "arm64")])
        for one in inner:
            manifest = json.loads(found["blobs/" + one["digest"].replace(":", "/")])
            config = json.loads(found["blobs/" + manifest["config"]["digest"].replace(":", "/")])
            self.assertEqual(config["architecture"], one["platform"]["architecture"])
        self.assertEqual(archive(first, second), (content, digests))


def cross_compiled():
    """The folder of arm64 programs that `make images ARGS="--architecture arm64"` or `make release` has left, or None."""
    folder = os.environ.get("NERVEX_ARM64_BIN") or suite.programs_folder("arm64")
    return folder if suite.own_architecture() != "arm64" and os.path.exists(os.path.join(folder, "nervexctl")) else None


@unittest.skipUnless(cross_compiled(), "no programs of arm64 were compiled (make images ARGS=\"--architecture arm64\")")
class CrossCompiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.release = dataclasses.replace(RELEASE, bin=cross_compiled(), architecture=suite.architecture("arm64"))
        cls.images = {name: suite.image(cls.release, name) for name in suite.names_for(cls.release.architecture)}

    def test_every_program_and_library_is_of_arm64_and_what_they_need_is_there(self):
        where = "usr/lib/aarch64-linux-gnu/"
        for name, image in self.images.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as root:
                files.write_tree(image.entries, root)
                found = files_of(image)
                binaries = [one for one in found if one.startswith((where, "usr/bin/"))]
                self.assertEqual(set(found) - set(binaries), {"etc/passwd", "etc/group", "etc/ssl/certs/ca-certificates.crt"})
                needed = {os.path.basename(suite.ARCHITECTURES["arm64"].loader)}
                for one in binaries:
                    path = os.path.join(root, one)
                    self.assertEqual(elf.machine(path), "AArch64", one)
                    needed.update(elf.read(path)[1])
                self.assertEqual({one.removeprefix(where) for one in binaries if one.startswith(where)}, needed)
                self.assertEqual(elf.read(os.path.join(root, "usr", "bin", name))[0], "/lib/ld-linux-aarch64.so.1")
                self.assertTrue(os.path.exists(os.path.join(root, "lib", "ld-linux-aarch64.so.1")))

    def test_they_need_the_same_libraries_as_this_machines(self):
        for name, image in self.images.items():
            own = {os.path.basename(one) for one in files_of(IMAGES[name]) if one.startswith("usr/lib/")}
            other = {os.path.basename(one) for one in files_of(image) if one.startswith("usr/lib/")}
            self.assertEqual({one for one in other if not one.startswith("ld-")}, {one for one in own if not one.startswith("ld-")})

    def test_the_image_says_arm64_and_is_the_same_bytes_twice(self):
        image = self.images["nervexctl"]
        made = Archive(image, compress=True)
        self.assertEqual(made.config["architecture"], "arm64")
        self.assertEqual(made.index["manifests"][0]["platform"], {"architecture": "arm64", "os": "linux"})
        self.assertEqual(made.bytes, archive(suite.image(self.release, "nervexctl"))[0])

    def test_the_list_of_contents_names_arm64_packages(self):
        listed = sbom.document(self.images["nervex-webhook"], "sha256:" + 64 * "0", self.release, "nervex-webhook", "0.41.0+ds-3")
        packages = {one["SPDXID"]: one for one in listed["packages"]}
        origin = {one["spdxElementId"]: packages[one["relatedSpdxElement"]] for one in listed["relationships"]
                  if one["relationshipType"] == "GENERATED_FROM"}
        for one in listed["files"]:
            if one["fileName"].startswith("./usr/lib/"):
                self.assertRegex(origin[one["SPDXID"]]["externalRefs"][0]["referenceLocator"], r"^pkg:deb/debian/\S+@\S+\?arch=arm64&")

    def test_the_archive_of_both_architectures_shares_nothing_but_its_name(self):
        content, _ = archive(IMAGES["nervexctl"], self.images["nervexctl"], compress=False)
        self.assertEqual(sum(name.startswith("blobs/") for name in unpack(content)), 2 * 4 + 1)  # two layers, config, manifest

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("qemu-aarch64-static"), "no emulator, or not root")
    def test_every_program_starts_under_an_emulator(self):
        for name, image in self.images.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as root:
                os.chmod(root, 0o755)
                files.write_tree(image.entries, root)
                shutil.copy(shutil.which("qemu-aarch64-static"), os.path.join(root, "qemu"))
                done = subprocess.run(["chroot", AS_NOBODY, root, "/qemu", f"/usr/bin/{name}", "--help"], capture_output=True,
                                      text=True, env=NO_SETTINGS)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("--", done.stdout)


class WithDocker(unittest.TestCase):
    def test_the_dockerfile_is_current(self):
        self.assertEqual(read("Dockerfile"), dockerfile.text(versions.read().version), "run scripts/images --dockerfile")

    def test_its_targets_are_the_images(self):
        version = versions.read().version
        targets = dict(re.findall(r"^FROM scratch AS (\S+)\n(.*?)(?=^FROM|\Z)", read("Dockerfile"), re.MULTILINE | re.DOTALL))
        self.assertEqual(tuple(targets), suite.NAMES)
        for name, text in targets.items():
            config = Archive(suite.image(dataclasses.replace(RELEASE, version=version), name)).config["config"]
            self.assertEqual(re.search(r"^USER (\S+)", text, re.MULTILINE)[1], config["User"])
            self.assertEqual(json.loads(re.search(r"^ENTRYPOINT (.+)", text, re.MULTILINE)[1]), config["Entrypoint"])
            self.assertEqual([re.search(r"^ENV (\S+)", text, re.MULTILINE)[1]], config["Env"])
            self.assertEqual(re.findall(r"^COPY (.+)", text, re.MULTILINE), [f"--from=build /images/{name}/ /"])
            labels = dict(re.findall(r'(org\.opencontainers\.\S+)="(.*?)"', text))
            labels = {key: value.replace("${VERSION}", version).replace("${REVISION}", "abc") for key, value in labels.items()}
            self.assertEqual(labels, {key: value for key, value in config["Labels"].items() if not key.endswith(".created")})

    def test_the_trees_that_it_copies_are_the_images_files(self):
        image = IMAGES["nervexctl"]
        with tempfile.TemporaryDirectory() as root:
            files.write_tree(image.entries, root)
            found = {}
            for where, folders, names in os.walk(root):
                for name in names + [one for one in folders if os.path.islink(os.path.join(where, one))]:
                    path = os.path.join(where, name)
                    inside = os.path.relpath(path, root)
                    if os.path.islink(path):
                        found[inside] = os.readlink(path)
                    else:
                        with open(path, "rb") as file:
                            found[inside] = file.read(), os.stat(path).st_mode & 0o7777
            wanted = {one.path: one.target if isinstance(one, files.Link) else (one.content, one.mode) for one in image.entries}
            self.assertEqual(found, wanted)


class Names(unittest.TestCase):
    def test_manifests_name_these_images_in_this_version(self):
        text = read("manifests/images/kustomization.yaml")
        tags = dict(re.findall(r"^- name: (\S+)\n(?:  newName: \S+\n)?  newTag: (\S+)", text, re.MULTILINE))
        scheduler = tags.pop("kube-scheduler")
        self.assertEqual(tags, dict.fromkeys(suite.PROGRAMS, versions.read().version))
        pinned = re.search(r"^\s*k8s.io/kubernetes (\S+)", read("tools/controlplane/kubernetes/go.mod"), re.MULTILINE)
        self.assertEqual(scheduler, pinned[1])

    def test_the_real_node_runs_that_kubernetes_too(self):
        versions = {re.search(r"^\s*k8s.io/kubernetes (\S+)", read(f"tools/controlplane/{one}/go.mod"), re.MULTILINE)[1]
                    for one in ("kubernetes", "node")}
        self.assertEqual(len(versions), 1, versions)

    def test_examples_name_the_mock_in_this_version(self):
        for path in glob.glob(os.path.join(ROOT, "examples", "*.yaml")):
            for image in re.findall(r"image: (\S+)", read(path)):
                self.assertEqual(image, f"{suite.MOCK}:{versions.read().version}", path)


if __name__ == "__main__":
    unittest.main()
