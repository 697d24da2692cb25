"""Command-line programs, run against the test's cluster as a user runs them."""

import os
import subprocess

from tools.cluster.settings import Settings
from tools.controlplane import binaries


def path_of(target):
    """PATH with our programs and the cluster's kubectl in front."""
    settings = target.cluster.settings if target.cluster else Settings.from_environment(os.environ)
    return os.pathsep.join([settings.bin, binaries.folder(), os.environ.get("PATH", "")])


def command(target, *first):
    """A function that runs `first` with more arguments, and text for stdin; returns the CompletedProcess."""
    environment = {**os.environ, "KUBECONFIG": target.kubeconfig, "PATH": path_of(target)}

    def run(*words, body=None):
        return subprocess.run(["env", *first, *words], input=body, capture_output=True, text=True,
                              env=environment, timeout=60)
    return run
