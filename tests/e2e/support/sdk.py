"""The Python package of sdk/python, as the tests use it."""

import os
import sys
import threading

from tools.base.tree import ROOT
from support.wait import wait_for

SDK = os.path.join(ROOT, "sdk", "python")
sys.path.insert(0, SDK)
import nervex  # noqa: E402

TIMEOUT = 120.0  # seconds for a call that waits for several programs


def job(name="dqn", **fields):
    """A small nervex.Job with all roles. `collector` and `learner`: fields of these roles."""
    role = {"image": "nervex/nervex-mock:0.1.0", "cpu": "100m", "memory": "64Mi", "port": 80}
    collector, learner = ({**role, **fields.pop(name, {})} for name in ("collector", "learner"))
    return nervex.Job(name, coordinator=nervex.Role(**role), collector=nervex.Workers(**collector),
                      learner=nervex.Workers(**learner), **fields)


def lines_of(log):
    """The pod's lines of a followed log."""
    return [line for line in log if not isinstance(line, nervex.Notice)]


class Call:
    """Runs a function in a thread. While the test waits for its result, programs that ended are started again, as on a
    node (support/wait.py)."""

    def __init__(self, function, *arguments, **options):
        self._value, self._error = None, None

        def run():
            try:
                self._value = function(*arguments, **options)
            except BaseException as error:  # raised again by result()
                self._error = error
        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    @property
    def thread(self):
        return self._thread.name

    def is_done(self):
        return not self._thread.is_alive()

    def result(self, timeout=TIMEOUT):
        """Its value, or its error."""
        wait_for(self.is_done, "the call to return", timeout)
        if self._error:
            raise self._error
        return self._value


class Reader(Call):
    """Reads an iterator of lines to its end: `result()` is all of them."""

    def __init__(self, lines):
        self.lines = []
        super().__init__(self._read, lines)

    def _read(self, lines):
        for line in lines:
            self.lines.append(line)
        return self.lines

    def wait_for_line(self, text):
        wait_for(lambda: (any(text in line for line in self.lines), self.lines), f"a line with {text!r}", TIMEOUT)
