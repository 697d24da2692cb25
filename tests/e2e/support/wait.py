"""Waiting with a deadline whose failure reports the last state seen.

An exception from the predicate ends the wait at once: it is the real cause, and a time-out would hide it.
Only the kinds that a caller names in `not_yet` mean "ask again":

    wait_for(lambda: core.read_namespaced_pod(...), "the pod", not_yet=[absent])
"""

import http.client
import pprint
import time

import kubernetes
import pytest
import urllib3
from tools.cluster.api import ApiError

# Deadlines are for failures alone: so long that a machine with other work does not fail a good test.
TIMEOUT = 60.0

# Called about once a second while a test waits: what a node would do meanwhile.
meanwhile = []


def status_of(error):
    """The HTTP status of an API server's refusal; None for any other exception."""
    return error.status if isinstance(error, (kubernetes.client.ApiException, ApiError)) else None


def absent(error):
    """404: the object does not exist yet."""
    return status_of(error) == 404


def conflict(error):
    """409: another client wrote in between."""
    return status_of(error) == 409


def away(error):
    """The server cannot be reached, or reports that it cannot answer now: while it starts, or while its etcd or a
    required webhook is down."""
    if status_of(error) is not None:
        return status_of(error) in (429, 500, 502, 503, 504)
    return isinstance(error, (OSError, http.client.HTTPException, urllib3.exceptions.HTTPError))


def verdict(seen):
    """(is it true, state seen) of a predicate's result: (bool, state), or the state alone."""
    if isinstance(seen, tuple) and len(seen) == 2 and isinstance(seen[0], bool):
        return seen
    return bool(seen), seen


def wait_for(predicate, what, timeout=TIMEOUT, interval=0.1, not_yet=()):
    """Calls `predicate` until it returns something true and returns that.

    On the deadline the test fails with what the predicate returned last, so let it return what it saw:
    an empty list or None while it is not there yet, or (False, state) to show more. `not_yet`: kinds of
    exceptions (absent, conflict, away) that mean the same."""
    __tracebackhide__ = True
    begin = time.monotonic()
    deadline, next_second = begin + timeout, begin + 1
    while True:
        if time.monotonic() > next_second:
            for act in meanwhile:
                act()
            next_second = time.monotonic() + 1
        try:
            done, value = verdict(predicate())
        except Exception as error:
            if not any(kind(error) for kind in not_yet):
                raise
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
        ok, value = verdict(predicate())
        if not ok:
            pytest.fail(f"{what} did not hold for {seconds:g} s; seen: {shown(value)}")
        time.sleep(interval)


def lasting(seconds):
    """Lets a fault last that long. Not a wait for a result: tests wait for the results of the fault separately."""
    time.sleep(seconds)


def shown(value):
    return repr(value) if isinstance(value, Exception) else pprint.pformat(value, width=110, compact=True)[:4000]
