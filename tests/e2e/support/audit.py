"""The writes of our programs, from the API server's audit log."""

import collections
import json
import time

import pytest
from tools.cluster import control_plane, suite

ACCOUNT = "system:serviceaccount:nervex-system:nervex-"
CREDENTIAL = "authentication.kubernetes.io/credential-id"
VERBS = ("create", "update", "patch", "delete", "deletecollection")
QUIET = 2.0  # seconds without a write: longer than any of our programs puts a write off


class Audit:
    """Covers requests since its construction. The log is written before the API server answers (mode: blocking)."""

    def __init__(self, settings):
        self._settings, self._path = settings, control_plane.audit_log(settings)
        with open(self._path, "rb") as file:
            self._from = file.seek(0, 2)

    def _events(self):
        with open(self._path, "rb") as file:
            file.seek(self._from)
            lines = file.read().splitlines()
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:  # the last one, half written
                continue
            if event["verb"] in VERBS and event["user"]["username"].startswith(ACCOUNT):
                yield event

    def writes(self, namespace, about=lambda name: True):
        """Counter of (program, "create pods") for writes in that namespace that were not refused, on objects whose
        names match `about`. Our creates always name their object."""
        found = collections.Counter()
        for event in self._events():
            at = event.get("objectRef", {})
            is_about = at.get("namespace") == namespace and about(at.get("name", ""))
            if is_about and is_granted(event) and not is_dry_run(event):
                found[event["user"]["username"].removeprefix(ACCOUNT), kind_of(event)] += 1
        return found

    def dry_runs(self, namespace):
        """The same counter for dry-run requests in that namespace, refused or not."""
        return collections.Counter(
            (event["user"]["username"].removeprefix(ACCOUNT), kind_of(event)) for event in self._events()
            if event.get("objectRef", {}).get("namespace") == namespace and is_dry_run(event))

    def asked_by(self, program):
        """Counter of all requests of one program except reads, refused or not, stored or not: "create
        subjectaccessreviews"."""
        return collections.Counter(kind_of(event) for event in self._events()
                                   if event["user"]["username"] == ACCOUNT + program)

    def writes_when_quiet(self, namespace, timeout=120.0):
        """The same, after a quiet period, so that no pending write is missed."""
        deadline = time.monotonic() + timeout
        seen, since = self.writes(namespace), time.monotonic()
        while time.monotonic() - since < QUIET:
            if time.monotonic() > deadline:
                pytest.fail(f"still writing after {timeout:g} s: {seen}")
            time.sleep(0.1)
            now = self.writes(namespace)
            if now != seen:
                seen, since = now, time.monotonic()
        return seen

    def written_by(self, name):
        """Every write of the instance with that name ("controller-2") that was not refused. Events are left out:
        they report earlier actions."""
        token = suite.credential(self._settings, name)
        return [f"{kind_of(event)} {event['objectRef'].get('name', '')}" for event in self._events()
                if token in event["user"].get("extra", {}).get(CREDENTIAL, [])
                and event["objectRef"].get("resource") != "events" and is_granted(event)]


def is_granted(event):
    return event.get("responseStatus", {}).get("code", 0) < 400


def is_dry_run(event):
    return "dryRun=All" in event.get("requestURI", "")


def kind_of(event):
    at = event.get("objectRef", {})
    return f"{event['verb']} {at.get('resource')}" + (f"/{at['subresource']}" if at.get("subresource") else "")


def total(writes, program, without=("create events", "patch events", "update events")):
    """Number of one program's writes, without events."""
    return sum(count for (who, what), count in writes.items() if who == program and what not in without)
