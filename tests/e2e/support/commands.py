"""Command-line programs, run against the test's cluster as a user runs them."""

import os
import signal
import subprocess
import threading

from tools.cluster.settings import Settings
from tools.controlplane import binaries

from support.wait import wait_for


def path_of(target):
    """PATH with our programs and the cluster's kubectl in front."""
    settings = target.cluster.settings if target.cluster else Settings.from_environment(os.environ)
    return os.pathsep.join([settings.bin, binaries.folder(), os.environ.get("PATH", "")])


def environment(target):
    return {**os.environ, "KUBECONFIG": target.kubeconfig, "PATH": path_of(target)}


def command(target, *first):
    """A function that runs `first` with more arguments, and text for stdin; returns the CompletedProcess."""
    def run(*words, body=None):
        return subprocess.run(["env", *first, *words], input=body, capture_output=True, text=True,
                              env=environment(target), timeout=60)
    return run


class Background:
    """A command that runs beside the test: with Background(target, "nervexctl", ...) as one. Its lines are in
    .lines and .errors while it runs."""

    def __init__(self, target, *words):
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                         env=environment(target))
        self.lines, self.errors = [], []
        self._readers = [threading.Thread(target=self._read, args=each, daemon=True) for each in
                         ((self._process.stdout, self.lines), (self._process.stderr, self.errors))]
        for one in self._readers:
            one.start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def interrupt(self):
        self._process.send_signal(signal.SIGINT)

    def wait(self, timeout=60):
        """The exit code. Meanwhile programs that lost their lease are restarted, as a kubelet does."""
        wait_for(lambda: (self._process.poll() is not None, self.errors[-3:]), "the command to end", timeout)
        for one in self._readers:
            one.join(timeout)
        return self._process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self.wait()
