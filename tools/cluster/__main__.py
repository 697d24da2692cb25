"""python -m tools.cluster up|down|restart, called by the scripts of the same names."""

import sys

from tools.base import entry
from tools.base.console import Failure, say
from tools.cluster import lifecycle, suite
from tools.cluster.cluster import Cluster
from tools.cluster.settings import Settings


def restart(settings, programs):
    unknown = set(programs) - set(suite.PROGRAMS)
    if unknown:
        raise Failure(f"no such program: {', '.join(sorted(unknown))}; there are {', '.join(suite.PROGRAMS)}")
    with lifecycle.locked(settings):
        present = Cluster.load(settings.name)
        if not present:
            raise Failure(f"there is no cluster {settings.name}: make up CLUSTER={settings.name}")
        for program in programs or present.programs:
            present.restart(program)
            say(f"{program}: pid {present.programs[program]['pid']}")


def act(settings):
    verb, *rest = sys.argv[1:]
    if verb == "up":
        lifecycle.up(settings)
    elif verb == "down":
        lifecycle.down(settings.name)
    elif verb == "restart":
        restart(settings, rest)
    else:
        raise Failure(f"unknown verb {verb}")


if __name__ == "__main__":
    sys.exit(entry.run(Settings.from_environment, act))
