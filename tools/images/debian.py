"""Which Debian package is a file of this machine from, or of the libraries that scripts/setup has unpacked for
another architecture (`sysroot`, with a package database of its own)?"""

import dataclasses
import subprocess

from tools.base.console import Failure


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str
    source_version: str
    homepage: str

    @property
    def purl(self):
        version = self.version.replace(":", "%3A").replace("+", "%2B").replace("~", "~")
        return (f"pkg:deb/debian/{self.name}@{version}?arch={self.architecture}&distro=debian-12"
                f"&upstream={self.source}%40{self.source_version.replace(':', '%3A').replace('+', '%2B')}")


def _query(sysroot, *arguments):
    database = [f"--admindir={sysroot}/var/lib/dpkg"] if sysroot else []
    return subprocess.run(["dpkg-query", *database, *arguments], capture_output=True, text=True)


def owners(paths, sysroot=""):
    """{path: name of its package}. Debian has moved /lib below /usr, and dpkg still knows many files by the old name."""
    found = {}
    wanted = {}
    for path in paths:
        wanted[path] = path
        wanted[path.removeprefix("/usr") if path.startswith("/usr/") else "/usr" + path] = path
    if not paths:
        return found
    done = _query(sysroot, "--search", *wanted)
    for line in done.stdout.splitlines():  # libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6
        names, _, path = line.rpartition(": ")
        if path in wanted and not names.startswith("diversion by"):
            found[wanted[path]] = names.split(", ")[0]
    missing = sorted(set(paths) - set(found))
    if missing:
        raise Failure(f"from no Debian package: {', '.join(missing)}")
    return found


def packages(names, sysroot=""):
    """{name as asked: Package}"""
    names = sorted(set(names))
    if not names:
        return {}
    fields = ("Package", "Version", "Architecture", "source:Package", "source:Version", "Homepage")
    form = "\\t".join(f"${{{field}}}" for field in fields) + "\\n"
    found = {}
    for name in names:
        done = _query(sysroot, "--show", f"--showformat={form}", name)
        if done.returncode != 0:
            raise Failure(f"dpkg knows no package {name}: {done.stderr.strip()}")
        found[name] = Package(*done.stdout.splitlines()[0].split("\t"))
    return found
