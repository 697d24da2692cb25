"""The cluster that is measured on: a control plane without anybody's programs, and nodes that are made as they are needed."""

import contextlib
import signal

from harness import cluster
from harness.console import Failure, warn
from harness.settings import Settings

from gang import programs

ATTEMPTS = 3


def binaries():
    """The folder of our programs."""
    return Settings.from_environment().bin


@contextlib.contextmanager
def running(name, keep=False):
    """Up, with nothing of ours running; down again at the end, unless it is to be kept."""
    signal.signal(signal.SIGTERM, _interrupted)
    settings = Settings(name=name, gpu_nodes=0, cpu_nodes=0, bin=binaries(), audit=True, measured=True)
    if cluster.Cluster.load(name):
        cluster.down(name)
    try:
        up = _started(settings)
        programs.Ours(up, {}).stop()
        yield up
    finally:
        if not keep and cluster.Cluster.load(name):
            cluster.down(name)


def _started(settings):
    """A cluster whose control plane is complete."""
    for _ in range(ATTEMPTS):
        up = cluster.up(settings)
        ended = programs.ended_components(up)
        if not ended:
            return up
        warn(f"{', '.join(ended)} ended while the cluster started: once more")
        cluster.down(settings.name)
    raise Failure(f"cluster {settings.name} was not well after {ATTEMPTS} starts")


def _interrupted(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)
