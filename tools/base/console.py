"""Output for users: one line per step with its duration; failures with their logs."""

import contextlib
import os
import sys
import time


class Failure(Exception):
    """An error for the user, without a Python traceback. `logs` are files with details."""

    def __init__(self, message, logs=()):
        super().__init__(message)
        self.logs = list(logs)


def say(text=""):
    """A closed pipe ('| head') must not prevent clean-up."""
    with contextlib.suppress(BrokenPipeError):
        print(text, flush=True)


def warn(text):
    print(f"warning: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def step(text):
    begin = time.monotonic()
    yield
    say(f"   {time.monotonic() - begin:5.1f} s  {text}")


def record_time(name, seconds):
    """Adds a line to the table that scripts/test prints at its end."""
    path = os.environ.get("NERVEX_TIMINGS")
    if path:
        with open(path, "a", encoding="utf-8") as table:
            table.write(f"{name}\t{int(seconds * 1000)}\n")


def tail(path, lines=20):
    try:
        with open(path, "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - 64 * 1024))
            text = log.read().decode("utf-8", "replace")
    except OSError as error:
        return f"(no log: {error})"
    return "\n".join(text.splitlines()[-lines:]) or "(empty)"


def show_logs(logs, lines=12):
    return "\n".join(f"--- {path}\n{tail(path, lines)}" for path in logs)


def timeout_factor():
    """Factor for time-outs, for example on an emulated machine."""
    return float(os.environ.get("NERVEX_TIMEOUT_FACTOR") or 1)


def wait_for(predicate, what, timeout, interval=0.05):
    """Calls `predicate` until it returns (True, value) and returns the value; on time-out the message contains the
    second part of the last answer. NERVEX_TIMEOUT_FACTOR multiplies `timeout`."""
    timeout *= timeout_factor()
    deadline = time.monotonic() + timeout
    while True:
        done, seen = predicate()
        if done:
            return seen
        if time.monotonic() > deadline:
            raise Failure(f"waited {timeout:g} s for {what}; last seen: {seen}")
        time.sleep(interval)
