"""The images of this project: one for each program, and one of Python with examples/mock and sdk/python."""

import dataclasses
import glob
import os
import subprocess
import tempfile

from tools.base.console import Failure
from tools.base.tree import ROOT
from tools.images import debian, elf, files, oci

PROGRAMS = {
    "nervex-webhook": "Admission of NerveXJobs: checks them and fills in defaults",
    "nervex-extender": "Plans gangs of pods; filters nodes and binds pods for kube-scheduler",
    "nervex-controller": "Creates, replaces and deletes the pods of NerveXJobs",
    "nervex-server": "The HTTP API by which a running NerveXJob asks for replicas",
    "nervexctl": "Explains why jobs wait, changes replicas, issues certificates",
}
MOCK = "nervex-mock"
NAMES = (*PROGRAMS, MOCK)
USER, USER_NAME = 65532, "nonroot"

# Header-only libraries and static ones: in the program itself. scripts/setup builds cpp-httplib.
BUILT_IN = ("nlohmann-json3-dev", "libcli11-dev", "libprotozero-dev", "libvalijson-dev")
BUILT_IN_ALSO = {"nervex-webhook": ("libjemalloc-dev",)}

# Of Python's library what a small program never needs.
PYTHON = "3.11"
PYTHON_LEFT_OUT = ("__pycache__", "config-", "ctypes/macholib", "distutils", "ensurepip", "idlelib", "lib2to3",
                   "pydoc_data", "sqlite3", "tkinter", "turtle", "unittest", "venv", "test/")


@dataclasses.dataclass(frozen=True)
class Architecture:
    name: str  # as OCI has it
    triplet: str
    loader: str
    machine: str  # as readelf has it
    folders: tuple  # where libraries are, in this order
    sysroot: str = ""  # what stands before these folders: of another architecture than this machine's


ARCHITECTURES = {one.name: one for one in (
    Architecture("amd64", "x86_64-linux-gnu", "/lib64/ld-linux-x86-64.so.2", "Advanced Micro Devices X86-64",
                 ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu")),
    Architecture("arm64", "aarch64-linux-gnu", "/lib/ld-linux-aarch64.so.1", "AArch64",
                 ("/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu")),
)}


def architecture(name):
    """The architecture, with this machine's library folders."""
    if name == own_architecture():
        return ARCHITECTURES[name]
    done = subprocess.run([os.path.join(ROOT, "scripts", "setup"), "--architecture", name, "--print-sysroot"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(done.stderr.strip().removeprefix("error: "))
    sysroot = os.path.realpath(done.stdout.strip())
    if not os.path.exists(os.path.join(sysroot, "complete")):
        raise Failure(f"libraries of {name} are missing: scripts/setup --architecture {name} provides them")
    return below(ARCHITECTURES[name], sysroot)


def names_for(found):
    """The names of images: the mock is made of this machine's Python."""
    return [name for name in NAMES if name != MOCK or not found.sysroot]


def below(found, sysroot):
    return dataclasses.replace(found, sysroot=sysroot, folders=tuple(sysroot + folder for folder in found.folders))


def programs_folder(name):
    """Where scripts/build puts the programs of an architecture."""
    return os.path.join(ROOT, "build", "release" if name == own_architecture() else f"release-{name}", "bin")


@dataclasses.dataclass(frozen=True)
class Release:
    """Common data of all images of one run."""
    version: str
    bin: str = os.path.join(ROOT, "build", "release", "bin")
    architecture: Architecture = ARCHITECTURES["amd64"]
    registry: str = ""  # with a slash at its end, or nothing
    revision: str = "unknown"
    epoch: int = 0


def own_architecture():
    machine = os.uname().machine
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine) or _no_such(machine)


def _no_such(machine):
    raise Failure(f"there are no images for {machine} machines, only for {', '.join(ARCHITECTURES)}")


# What is in an image ------------------------------------------------------------------------------------

def certificates():
    """The certificate authorities of the package ca-certificates, without those added to this machine."""
    paths = sorted(glob.glob("/usr/share/ca-certificates/mozilla/*.crt"))
    if not paths:
        raise Failure("the package ca-certificates is missing: scripts/setup installs it")
    content = b""
    for path in paths:
        with open(path, "rb") as file:
            content += file.read().rstrip(b"\n") + b"\n"
    return [files.File("etc/ssl/certs/ca-certificates.crt", content, source=paths[0])]


def accounts():
    return [
        files.File("etc/passwd", f"root:x:0:0:root:/:/sbin/nologin\n{USER_NAME}:x:{USER}:{USER}:{USER_NAME}:/:/sbin/nologin\n".encode()),
        files.File("etc/group", f"root:x:0:\n{USER_NAME}:x:{USER}:\n".encode()),
    ]


def libraries(paths, architecture):
    """The shared libraries and the loader that these programs need, at the loader's paths."""
    for path in paths:
        if elf.machine(path) != architecture.machine:
            raise Failure(f"{path} is for {elf.machine(path)}, not for {architecture.name}")
    found, loader = elf.closure(paths, architecture.folders)
    if loader != architecture.loader:
        raise Failure(f"{paths[0]} asks for the loader {loader}; on {architecture.name} it is {architecture.loader}")
    name, where = os.path.basename(loader), f"usr/lib/{architecture.triplet}"
    found.setdefault(name, next(os.path.join(folder, name) for folder in architecture.folders
                                if os.path.exists(os.path.join(folder, name))))
    entries = [files.copy(path, f"{where}/{soname}", 0o755 if soname == name else 0o644) for soname, path in found.items()]
    top = loader.split("/")[1]  # lib or lib64
    entries += [files.Link(each, f"usr/{each}") for each in sorted({"lib", top})]
    entries.append(files.Link(f"usr/{top}/{name}", os.path.relpath(f"/{where}/{name}", f"/usr/{top}")))
    return entries


def stripped(path, architecture):
    """The program without its symbol table, which nothing reads at run time."""
    tool = f"{architecture.triplet}-strip" if architecture.sysroot else "strip"
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run([tool, "--strip-all", "-o", out.name, path], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{tool} {path}: {done.stderr.strip()}")
        with open(out.name, "rb") as file:
            return file.read()


def program_layers(release, name):
    path = os.path.join(release.bin, name)
    if not os.access(path, os.X_OK):
        raise Failure(f"not built yet: {path}. Run 'make build PRESET=release', or name the folder that has it.")
    return ((*libraries([path], release.architecture), *certificates(), *accounts()),
            (files.File(f"usr/bin/{name}", stripped(path, release.architecture), 0o755),))


def _python_files():
    done = subprocess.run(["dpkg-query", "--listfiles", f"python{PYTHON}-minimal", f"libpython{PYTHON}-minimal",
                           f"libpython{PYTHON}-stdlib"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"the packages of Python {PYTHON} are missing: scripts/setup installs them")
    folder = f"/usr/lib/python{PYTHON}/"
    return sorted({path for path in done.stdout.splitlines() if path.startswith(folder) and os.path.isfile(path)
                   and not any(path.startswith(folder + one) or f"/{one}/" in path for one in PYTHON_LEFT_OUT)})


def mock_layers(release):
    """Debian's Python with most of its library, examples/mock as /mock, and sdk/python as /mock/nervex."""
    if release.architecture.sysroot:
        raise Failure(f"{MOCK} is made of this machine's Python: only for {own_architecture()}")
    python = f"/usr/bin/python{PYTHON}"
    found = _python_files()
    modules = [path for path in found if path.endswith(".so")]
    base = [files.copy(python, python, 0o755), files.Link("usr/bin/python3", f"python{PYTHON}"),
            *(files.copy(path, path) for path in found),
            *libraries([python, *modules], release.architecture), *certificates(), *accounts()]
    mock = [files.copy(path, "mock/" + os.path.basename(path))
            for path in sorted(glob.glob(os.path.join(ROOT, "examples", "mock", "*.py")))]
    package = os.path.join(ROOT, "sdk", "python", "nervex")
    mock += [files.copy(path, "mock/nervex/" + os.path.basename(path))
             for path in sorted(glob.glob(os.path.join(package, "*.py")) + glob.glob(os.path.join(package, "*.json")))]
    return tuple(base), tuple(mock)


def image(release, name):
    layers = mock_layers(release) if name == MOCK else program_layers(release, name)
    return oci.Image(
        reference=f"{release.registry}{name}:{release.version}", layers=layers, entrypoint=entrypoint(name),
        architecture=release.architecture.name, user=f"{USER}:{USER}", labels=labels(release, name), epoch=release.epoch)


def entrypoint(name):
    return ("/usr/bin/python3",) if name == MOCK else (f"/usr/bin/{name}",)


def description(name):
    return PROGRAMS.get(name, "Python with the mock of a coordinator, for the examples")


def labels(release, name):
    """Labels as defined in opencontainers/image-spec, annotations.md."""
    prefix = "org.opencontainers.image."
    return {prefix + "title": name, prefix + "description": description(name), prefix + "version": release.version,
            prefix + "revision": release.revision, prefix + "licenses": "Apache-2.0",
            prefix + "created": oci.timestamp(release.epoch)}


def sources(image_made, sysroot=""):
    """{path in the image: its Debian package}; our own files have none."""
    copied = {entry.path: entry.source for entry in image_made.entries if isinstance(entry, files.File) and entry.source}
    found = {}
    if sysroot:
        inside = {path: source.removeprefix(sysroot) for path, source in copied.items() if source.startswith(sysroot + "/")}
        found = _owned(inside, sysroot)
    return {**found, **_owned({path: source for path, source in copied.items()
                               if path not in found and not source.startswith(ROOT + "/")})}


def _owned(copied, sysroot=""):
    owner = debian.owners(sorted(set(copied.values())), sysroot)
    known = debian.packages(owner.values(), sysroot)
    return {path: known[owner[source]] for path, source in copied.items()}
