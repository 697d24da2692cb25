"""Waiting with a deadline that tells, when it passes, what was seen last."""

import pprint
import time

import pytest


def wait_for(predicate, what, timeout=20.0, interval=0.1):
    """Calls `predicate` until it returns something true and returns that.

    On the deadline the test fails with what the predicate returned last, so let it return what it saw:
    an empty list or None while it is not there yet, or (False, state) to show more. An exception counts
    as "not yet" and is shown.
    """
    __tracebackhide__ = True
    deadline = time.monotonic() + timeout
    while True:
        try:
            seen = predicate()
            done, value = seen if isinstance(seen, tuple) and len(seen) == 2 and isinstance(seen[0], bool) else (bool(seen), seen)
        except Exception as error:  # an object that does not exist yet, a server that restarts
            done, value = False, error
        if done:
            return value
        if time.monotonic() > deadline:
            pytest.fail(f"waited {timeout:g} s for {what}; last seen: {shown(value)}")
        time.sleep(interval)


def always(predicate, what, seconds=1.0, interval=0.1):
    """Fails as soon as `predicate` is false within that time: for what must *not* happen."""
    __tracebackhide__ = True
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        seen = predicate()
        ok, value = seen if isinstance(seen, tuple) else (bool(seen), seen)
        if not ok:
            pytest.fail(f"{what} did not hold for {seconds:g} s; seen: {shown(value)}")
        time.sleep(interval)


def shown(value):
    return repr(value) if isinstance(value, Exception) else pprint.pformat(value, width=110, compact=True)[:4000]
