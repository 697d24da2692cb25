"""The cluster that is measured on: a control plane on which no other programs run, with nodes that are made as they are needed."""

import contextlib
import signal

from tools.base.console import Failure, warn
from tools.cluster import lifecycle
from tools.cluster.cluster import Cluster
from tools.cluster.settings import Settings

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
    if Cluster.load(name):
        lifecycle.down(name)
    try:
        up = _started(settings)
        programs.Ours(up, {}).stop()
        yield up
    finally:
        if not keep and Cluster.load(name):
            lifecycle.down(name)


def _started(settings):
    """A cluster whose control plane is complete."""
    for _ in range(ATTEMPTS):
        up = lifecycle.up(settings)
        ended = programs.ended_components(up)
        if not ended:
            return up
        warn(f"{', '.join(ended)} ended while the cluster started: once more")
        lifecycle.down(settings.name)
    raise Failure(f"cluster {settings.name} was not well after {ATTEMPTS} starts")


def _interrupted(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)
