"""Which shared libraries does a program need? Read from the ELF files with readelf, so that it works for programs of
another architecture too, which ldd would have to run."""

import os
import re
import subprocess

from tools.base.console import Failure


def read(path):
    """(path of the loader or "", names of the libraries it needs)"""
    done = subprocess.run(["readelf", "--dynamic", "--program-headers", "--wide", path], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    if done.returncode != 0 or "Error: Not an ELF file" in done.stderr:
        raise Failure(f"readelf cannot read {path}: {done.stderr.strip()}")
    loader = re.search(r"Requesting program interpreter: ([^\]]+)\]", done.stdout)
    return loader[1] if loader else "", re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", done.stdout)


def machine(path):
    """The name that `readelf --file-header` prints."""
    done = subprocess.run(["readelf", "--file-header", path], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    return re.search(r"Machine:\s+(.+)", done.stdout)[1].strip()


def closure(paths, folders):
    """{name: path} of every library that these files need, directly or not; and the loader's path. Takes a library
    from the first folder that has it, as the loader does."""
    found, loader, todo = {}, "", list(paths)
    while todo:
        path = todo.pop()
        asked, names = read(path)
        loader = loader or asked
        for name in names:
            if name in found:
                continue
            there = next((os.path.join(folder, name) for folder in folders if os.path.exists(os.path.join(folder, name))), None)
            if not there:
                raise Failure(f"{path} needs {name}, which is in none of {', '.join(folders)}")
            found[name] = there
            todo.append(there)
    return found, loader
