"""The frame around the verbs of a tool: signals, errors with their logs, the exit status."""

import os
import signal
import sys

from tools.base.console import Failure, show_logs


def interrupted(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


def run(make_settings, act):
    """Calls act(settings). The status: what it returns or 0, 1 after a Failure, 130 if it was interrupted."""
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    settings = None
    try:
        settings = make_settings()
        return act(settings) or 0
    except Failure as failure:
        logs = [moved_log(settings, path) for path in failure.logs]
        if logs:
            print(show_logs(logs), file=sys.stderr)
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def moved_log(settings, path):
    """A failed `up` removes its folder but keeps its logs beside it."""
    kept = os.path.join(settings.folder + ".failed", os.path.basename(path))
    return path if os.path.exists(path) else kept
