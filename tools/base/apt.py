"""Debian packages as files: fetched and unpacked without being installed."""

import subprocess

from tools.base.console import Failure

OPTIONS = ("-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3")


def run(folder, *command):
    """Runs it in that folder. Returns its output."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command[:4])} ...: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def get(folder, *arguments):
    """apt-get, in that folder. Fetches the lists of packages first on a machine that has none."""
    if subprocess.run(["apt-cache", "show", "libc6"], capture_output=True).returncode != 0:
        run(folder, "apt-get", *OPTIONS, "update")
    return run(folder, "apt-get", *OPTIONS, *arguments)
