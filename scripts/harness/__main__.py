"""python -m harness up|down|restart|demo, called by the scripts of the same names."""

import os
import sys

from harness import cluster, entry, suite
from harness.console import Failure, say
from harness.settings import Settings


def restart(settings, programs):
    unknown = set(programs) - set(suite.PROGRAMS)
    if unknown:
        raise Failure(f"no such program: {', '.join(sorted(unknown))}; there are {', '.join(suite.PROGRAMS)}")
    with cluster.locked(settings):
        present = cluster.Cluster.load(settings.name)
        if not present:
            raise Failure(f"there is no cluster {settings.name}: make up CLUSTER={settings.name}")
        for program in programs or present.programs:
            present.restart(program)
            say(f"{program}: pid {present.programs[program]['pid']}")


def run_demo(settings):
    """The cluster goes with the demo, however that ends, unless KEEP=1."""
    from harness import demo

    keep = os.environ.get("KEEP") == "1"
    try:
        demo.run(settings)
    except BaseException as error:
        if os.path.isdir(settings.folder) and not keep:
            if isinstance(error, Failure):
                cluster.keep_logs(settings, settings.folder + ".failed")
            cluster.down(settings.name, keep_failed=True)
        raise
    if not keep:
        cluster.down(settings.name)
        say("KEEP=1 make demo would have left it up for you to look at.")
        return
    say(f"The cluster stays. In this shell:   . {settings.path('env')}")
    say("  kubectl get nvxjob,pods -o wide;  kubectl nervex explain gang-second")
    say(f"and at the end:   make down CLUSTER={settings.name}")


def act(settings):
    verb, *rest = sys.argv[1:]
    if verb == "up":
        cluster.up(settings)
    elif verb == "down":
        cluster.down(settings.name)
    elif verb == "demo":
        run_demo(settings)
    elif verb == "restart":
        restart(settings, rest)
    else:
        raise Failure(f"unknown verb {verb}")


if __name__ == "__main__":
    sys.exit(entry.run(Settings.from_environment, act))
