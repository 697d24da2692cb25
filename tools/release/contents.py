"""The files of a release. The same programs give the same bytes."""

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile

from tools.base import tree
from tools.base.console import Failure
from tools.base.tree import ROOT
from tools.controlplane import binaries
from tools.images import files, oci, sbom, suite

VARIANTS = ("cert-manager", "self-issued", "hardened", "hardened-self-issued")
CLI = "nervexctl"
CHART = "charts/nervex"
IMAGES = "manifests/images/kustomization.yaml"
ONE_FILE = "manifests/nervex-manager.yaml"
KUBE_SCHEDULER = "registry.k8s.io/kube-scheduler"
# The program with the libraries and the loader that it was linked with: it runs on every distribution, independent of the
# machine's own libraries. It is there under each name that has a meaning, and not as a link: krew unpacks none.
LAUNCHER = """\
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/lib/{loader}" --argv0 "$0" --library-path "$here/lib" "$here/lib/{cli}" "$@"
"""


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def images(releases, folder, httplib):
    """One archive for each image, with all architectures that have programs; and its lists of contents. `releases`:
    one suite.Release for each architecture. Returns lines for the user."""
    lines = []
    for name in suite.NAMES:
        matching = [release for release in releases if name in suite.names_for(release.architecture)]
        made = [suite.image(release, name) for release in matching]
        path = os.path.join(folder, f"{name}-{matching[0].version}.tar")
        digests = oci.write(made, path)
        for release, image, own in zip(matching, made, digests.manifests):
            listed = sbom.document(image, own, release, name, httplib.get(release.architecture.name) if name in suite.PROGRAMS else None)
            write(os.path.join(folder, f"{name}-{release.version}-{release.architecture.name}.spdx.json"), sbom.text(listed).encode())
        where = ", ".join(release.architecture.name for release in matching)
        lines.append(f"{made[0].reference:<40} {where:<13} {os.path.getsize(path) / 2**20:5.1f} MiB  {digests.archive}")
    return lines


def cli_files(release):
    """The CLI as the files of a folder."""
    program = os.path.join(release.bin, CLI)
    loader = os.path.basename(release.architecture.loader)
    found = [files.File(f"lib/{os.path.basename(one.path)}", one.content, one.mode)
             for one in suite.libraries([program], release.architecture) if isinstance(one, files.File)]
    with open(os.path.join(ROOT, "LICENSE"), "rb") as file:
        licence = file.read()
    launcher = LAUNCHER.format(loader=loader, cli=CLI).encode()
    return [*found, files.File(f"lib/{CLI}", suite.stripped(program, release.architecture), 0o755),
            *(files.File(name, launcher, 0o755) for name in (CLI, "kubectl-nervex", "kubectl_complete-nervex")),
            files.File("LICENSE", licence)]


def cli_archive(release):
    top = f"{CLI}-{release.version}-linux-{release.architecture.name}"
    inside = [files.File(f"{top}/{one.path}", one.content, one.mode) for one in cli_files(release)]
    return f"{top}.tar.gz", gzip.compress(files.tar(inside, release.epoch), 9, mtime=0)


def krew_manifest(version, downloads, archives):
    """The plugin for krew, as JSON, which YAML includes. `downloads`: the URL of the folder with the archives;
    `archives`: {architecture: (name, content)} as cli_archive() makes them."""
    platforms = [{"selector": {"matchLabels": {"os": "linux", "arch": architecture}},
                  "uri": f"{downloads.rstrip('/')}/{name}",
                  "sha256": hashlib.sha256(content).hexdigest(),
                  "files": [{"from": f"{name.removesuffix('.tar.gz')}/*", "to": "."}],
                  "bin": CLI} for architecture, (name, content) in sorted(archives.items())]
    plugin = {"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin",
              "metadata": {"name": "nervex"},
              "spec": {"version": f"v{version}",
                       "shortDescription": "Submit, follow and explain RL jobs",
                       "description": "Submits, follows, explains, scales and stops NerveXJobs, and says why a job waits.",
                       "platforms": platforms}}
    return json.dumps(plugin, indent=2) + "\n"


def kube_scheduler(wanted):
    """The image of the second kube-scheduler. `wanted`: a version of Kubernetes, or the user's own image."""
    if re.fullmatch(r"v?\d+\.\d+\.\d+", wanted):
        return f"{KUBE_SCHEDULER}:v{wanted.removeprefix('v')}"
    if re.fullmatch(r"\S+[:@]\S+", wanted):
        return wanted
    raise Failure(f"--kube-scheduler wants a version of Kubernetes (v1.33.5) or an image with its tag, not {wanted!r}")


def manifest(variant, version, registry="", scheduler=None):
    """A variant as one file, with the images of this version. `scheduler`: kube-scheduler's image, if different from
    manifests/images."""
    folder = os.path.join(ROOT, "manifests", "variants", variant)
    done = subprocess.run([binaries.kubectl_for_manifests(), "kustomize", folder], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"kubectl kustomize {os.path.relpath(folder, ROOT)}: {done.stderr.strip()}")
    return f"# NerveX batch scheduling {version}, variant {variant}. See docs/tasks/install.md.\n---\n" + with_images(done.stdout, version, registry, scheduler)


def with_images(text, version, registry, scheduler=None):
    """Our images from that registry, and kube-scheduler's. If one of ours has a version other than the release,
    manifests/images is wrong."""
    found = re.findall(r"image: (nervex\S*)", text)
    wrong = sorted({one for one in found if not one.endswith(":" + version)})
    if wrong or not found:
        raise Failure(f"manifests/images names other versions than {version}: {', '.join(wrong) or 'no image of ours'}")
    return with_registry(text, registry, scheduler)


def with_registry(text, registry, scheduler=None):
    text = re.sub(r"image: (nervex\S*)", rf"image: {registry}\1", text)
    if scheduler:
        text, changed = re.subn(rf"image: {re.escape(KUBE_SCHEDULER)}:\S+", lambda _: f"image: {scheduler}", text)
        if not changed:
            raise Failure(f"manifests/images names no {KUBE_SCHEDULER}")
    return text


def split_image(image):
    """Its name with the registry, its tag, its digest; a port of the registry is no tag."""
    name, _, digest = image.partition("@")
    before, _, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return f"{before}/{last}" if before else last, tag, digest


def readme(version, registry):
    """What the folder is, for a reader who has nothing else."""
    with open(os.path.join(ROOT, "tools", "release", "readme.md.in"), encoding="utf-8") as file:
        text = file.read()
    registry = registry.rstrip("/")
    where = f"The manifests and the chart look for them in `{registry}`." if registry else (
        "Write yours instead of `registry.example.com`:")
    example = f"in `{registry}`, too" if registry else "without a registry, too: change them if yours are in one"
    values = {"VERSION": version, "WHERE": where, "REGISTRY": registry or "registry.example.com", "EXAMPLE": example,
              "MOCK": suite.own_architecture()}
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


# Of the tree: with these the commands and links of the documentation work in the folder of a release, too.
SHIPPED = ("LICENSE", "SECURITY.md", "VERSION", "certs/*.yaml", "charts", "docs", "examples", "manifests", "sdk")


def shipped(registry="", scheduler=None):
    """(path, content) of what is copied from the tree, with the images of this release."""
    listed = shipped_paths()
    for path in listed:
        with open(os.path.join(ROOT, path), "rb") as file:
            content = file.read()
        if path.endswith(".md"):
            content = without_dead_links(path, content.decode(), listed).encode()
        elif path == f"{CHART}/values.yaml":
            content = with_default_images(content.decode(), registry, scheduler).encode()
        elif path == IMAGES:
            content = with_names(content.decode(), registry, scheduler).encode()
        elif path.endswith(".yaml") and (path.startswith("examples/") or path == ONE_FILE):
            content = with_registry(content.decode(), registry, scheduler if path == ONE_FILE else None).encode()
        yield path, content


def shipped_paths():
    """The chart has links to folders of the manifests: as in its package, their files take the place of the links."""
    found = set()
    for path in tree.git("ls-files", "-z", *SHIPPED).stdout.strip("\0").split("\0"):
        if os.path.isdir(os.path.join(ROOT, path)):
            found.update(os.path.relpath(os.path.join(where, name), ROOT)
                         for where, _, names in os.walk(os.path.join(ROOT, path)) for name in names)
        else:
            found.add(path)
    return sorted(found)


LINK = re.compile(r"(?<!!)\[([^]\[]*)\]\((?![a-z]+:)([^)#\s]+)(?:#[^)\s]*)?\)")


def without_dead_links(path, text, listed):
    """Links to what only developers have, for example tests, become plain text."""
    def kept(link):
        target = os.path.normpath(os.path.join(os.path.dirname(path), link[2]))
        return link[0] if any(f"{one}/".startswith(f"{target}/") for one in listed) else link[1]
    return LINK.sub(kept, text)


def with_names(text, registry, scheduler=None):
    """manifests/images, for that registry and kube-scheduler."""
    if registry:
        text = re.sub(r"(?m)^- name: (nervex\S*)$", rf"- name: \1\n  newName: {registry}\1", text)
    if scheduler:
        name, tag, digest = split_image(scheduler)
        version = f"  digest: {digest}" if digest else f"  newTag: {tag}"
        text, changed = re.subn(r"(?m)^  newName: registry.k8s.io/kube-scheduler\n  newTag: \S+$", f"  newName: {name}\n{version}", text)
        if not changed:
            raise Failure(f"{IMAGES} names no {KUBE_SCHEDULER}")
    return text


def example(version, registry):
    """The usual job and its aggregator as one file."""
    texts = []
    for name in ("nervex-mock-agconfig", "nervex-mock-nervexjob"):
        with open(os.path.join(ROOT, "examples", f"{name}.yaml"), encoding="utf-8") as file:
            texts.append(re.sub(r"^#.*\n", "", file.read(), flags=re.MULTILINE))
    return with_images("---\n".join(texts), version, registry)


def chart_archive(version, epoch, registry="", scheduler=None):
    """The Helm chart as `helm package` makes it, with the images of this release as its defaults. Helm takes the time
    from the files of the checkout; here each entry has the time of the commit, so that the same commit gives the same
    bytes."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([binaries.helm(), "package", os.path.join(ROOT, CHART), "--destination", folder],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"helm package {CHART}: {done.stderr.strip()}")
        name = f"{os.path.basename(CHART)}-{version}.tgz"
        if os.listdir(folder) != [name]:
            raise Failure(f"{CHART}/Chart.yaml is of another version than {version}: {', '.join(os.listdir(folder))}")
        with tarfile.open(os.path.join(folder, name)) as packed:
            inside = {one.name: packed.extractfile(one).read() for one in packed if one.isfile()}
    values = f"{os.path.basename(CHART)}/values.yaml"
    inside[values] = with_default_images(inside[values].decode(), registry, scheduler).encode()
    packed = files.tar([files.File(path, content) for path, content in inside.items()], epoch)
    return name, gzip.compress(packed, 9, mtime=0)


def with_default_images(values, registry, scheduler=None):
    """The chart's values.yaml with these images as defaults. `scheduler`: kube-scheduler's image, if it shall not follow
    the cluster's version."""
    defaults = [("image", "registry", registry.rstrip("/"))]
    if scheduler:
        name, tag, digest = split_image(scheduler)
        where, _, repository = name.rpartition("/")
        defaults += [("scheduler", name, value) for name, value in
                     (("registry", where), ("repository", repository), ("tag", tag), ("digest", digest))]
    for section, name, value in defaults:
        values, changed = re.subn(rf"(?ms)^({section}:\n(?:(?!^\S).)*?^ +{name}: )\S+$", lambda found: f'{found[1]}"{value}"',
                                  values, count=1)
        if not changed:
            raise Failure(f"{CHART}/values.yaml has no {section} with {name}")
    return values


def checksums(folder):
    """In the format of `sha256sum --check`."""
    lines = []
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                lines.append((os.path.relpath(path, folder), hashlib.sha256(file.read()).hexdigest()))
    return "".join(f"{sha}  {name}\n" for name, sha in sorted(lines))
