"""What goes into an image: entries of a file tree, as values. The order is that of their paths, not the order
in which they were listed, so that the same list always makes the same bytes."""

import contextlib
import dataclasses
import functools
import hashlib
import io
import os
import tarfile


@dataclasses.dataclass(frozen=True)
class File:
    path: str  # in the image, without the first slash
    content: bytes = dataclasses.field(repr=False)
    mode: int = 0o644
    source: str = ""  # on this machine; tells the package it is from

    @functools.cached_property
    def sha256(self):
        return hashlib.sha256(self.content).hexdigest()

    @functools.cached_property
    def sha1(self):
        return hashlib.sha1(self.content).hexdigest()


@dataclasses.dataclass(frozen=True)
class Stored:
    """A file that is too large to be kept in memory: read when it is written."""
    path: str
    source: str
    mode: int = 0o644


@dataclasses.dataclass(frozen=True)
class Link:
    path: str
    target: str


@dataclasses.dataclass(frozen=True)
class Folder:
    path: str
    mode: int = 0o755


def copy(source, path, mode=0o644):
    """A file of this machine; follows symbolic links."""
    with open(source, "rb") as file:
        return File(path.lstrip("/"), file.read(), mode, os.path.realpath(source))


def stored(folder):
    """Every file below that folder, as a file of its name."""
    return [Stored(os.path.relpath(os.path.join(above, name), folder), os.path.join(above, name))
            for above, _, names in os.walk(folder) for name in names]


def with_parents(entries):
    """The entries and every folder above them, by path. Two entries of one path must be the same."""
    found = {}
    for entry in entries:
        if found.setdefault(entry.path, entry) != entry:
            raise ValueError(f"/{entry.path} is in the list twice, with different contents")
    for path in list(found):
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            parent = "/".join(parts[:depth])
            if not isinstance(found.setdefault(parent, Folder(parent)), Folder):
                raise ValueError(f"/{path} is below /{parent}, which is no folder")
    return [found[path] for path in sorted(found)]


def tar(entries, epoch):
    """The tree as a tar archive: everything belongs to root and has one time."""
    out = io.BytesIO()
    write_tar(entries, epoch, out)
    return out.getvalue()


def write_tar(entries, epoch, out):
    with contextlib.ExitStack() as opened, tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry in with_parents(entries):
            one = tarfile.TarInfo(entry.path)
            one.mtime = epoch
            content = None
            if isinstance(entry, File):
                one.size, one.mode, content = len(entry.content), entry.mode, io.BytesIO(entry.content)
            elif isinstance(entry, Stored):
                content = opened.enter_context(open(entry.source, "rb"))
                one.size, one.mode = os.path.getsize(entry.source), entry.mode
            elif isinstance(entry, Link):
                one.type, one.linkname, one.mode = tarfile.SYMTYPE, entry.target, 0o777
            else:
                one.type, one.mode = tarfile.DIRTYPE, entry.mode
            archive.addfile(one, content)


def write_tree(entries, folder):
    """The same as files below an empty folder of this machine."""
    for entry in with_parents(entries):
        path = os.path.join(folder, entry.path)
        if isinstance(entry, Folder):
            os.makedirs(path, exist_ok=True)
            os.chmod(path, entry.mode)
        elif isinstance(entry, Link):
            os.symlink(entry.target, path)
        else:
            with open(path, "wb") as file:
                file.write(entry.content)
            os.chmod(path, entry.mode)
