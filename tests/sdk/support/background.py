"""Calls that run beside a test, which waits for conditions. Deadlines are for failures alone: a busy machine meets them."""

import threading
import time

TIMEOUT = 60.0


def wait_for(condition, what):
    """Returns the first true value of `condition()`."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {TIMEOUT:g} s for {what}")
        time.sleep(0.01)


class Call:
    """Runs a function in a thread. `result()` waits for it and returns its value or raises its error."""

    def __init__(self, function, *arguments, **options):
        self._value, self._error = None, None

        def run():
            try:
                self._value = function(*arguments, **options)
            except BaseException as error:  # raised again by result()
                self._error = error
        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def result(self):
        self._thread.join(TIMEOUT)
        if self._thread.is_alive():
            raise AssertionError(f"the call has not returned within {TIMEOUT:g} s")
        if self._error:
            raise self._error
        return self._value


class Reader(Call):
    """Reads an iterator of lines to its end; `result()` is all of them."""

    def __init__(self, lines):
        self.lines = []
        super().__init__(self._read, lines)

    def _read(self, lines):
        for line in lines:
            self.lines.append(line)
        return self.lines

    def wait_for(self, text):
        wait_for(lambda: any(text in line for line in list(self.lines)) or self._error, f"a line with {text!r}: {self.lines}")
