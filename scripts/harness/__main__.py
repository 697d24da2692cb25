"""python -m harness up|down|restart|demo, called by the scripts of the same names."""

import os
import signal
import sys

from harness import cluster, suite
from harness.console import Failure, say
from harness.control_plane import show_logs
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


def interrupted(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    verb, *rest = sys.argv[1:]
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    try:
        settings = Settings.from_environment()
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
    except Failure as failure:
        logs = [moved_log(settings, path) for path in failure.logs]
        if logs:
            print(show_logs(logs), file=sys.stderr)
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def moved_log(settings, path):
    """A failed `up` removes the cluster's folder but keeps its logs beside it."""
    kept = os.path.join(settings.folder + ".failed", os.path.basename(path))
    return path if os.path.exists(path) else kept


if __name__ == "__main__":
    sys.exit(main())
