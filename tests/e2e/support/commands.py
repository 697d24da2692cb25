"""Programs that people type, run against the test's cluster as they would run them."""

import os
import subprocess

from harness import control_plane
from harness.settings import Settings


def path_of(target):
    """PATH with our programs and the cluster's kubectl in front."""
    settings = target.cluster.settings if target.cluster else Settings.from_environment(os.environ)
    return os.pathsep.join([settings.bin, control_plane.programs_folder(), os.environ.get("PATH", "")])


def command(target, *first):
    """A function that runs `first` with more words, and text for stdin; returns the CompletedProcess."""
    environment = {**os.environ, "KUBECONFIG": target.kubeconfig, "PATH": path_of(target)}

    def run(*words, body=None):
        return subprocess.run(["env", *first, *words], input=body, capture_output=True, text=True,
                              env=environment, timeout=60)
    return run
