"""What our programs wrote, as the API server's audit log tells."""

import collections
import json

from harness import control_plane

ACCOUNT = "system:serviceaccount:nervex-system:nervex-"
VERBS = ("create", "update", "patch", "delete", "deletecollection")


class Audit:
    """From its construction on. The log is written before the API server answers (mode: blocking)."""

    def __init__(self, settings):
        self._path = control_plane.audit_log(settings)
        with open(self._path, "rb") as file:
            self._from = file.seek(0, 2)

    def writes(self, namespace):
        """Counter of (program, "create pods") for writes in that namespace that were not refused."""
        with open(self._path, "rb") as file:
            file.seek(self._from)
            lines = file.read().splitlines()
        found = collections.Counter()
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:  # the last one, half written
                continue
            at, account = event.get("objectRef", {}), event["user"]["username"]
            if (event["verb"] not in VERBS or at.get("namespace") != namespace or not account.startswith(ACCOUNT)
                    or event.get("responseStatus", {}).get("code", 0) >= 400):
                continue
            resource = at["resource"] + (f"/{at['subresource']}" if at.get("subresource") else "")
            found[account.removeprefix(ACCOUNT), f"{event['verb']} {resource}"] += 1
        return found


def total(writes, program, without=("create events", "patch events", "update events")):
    """How many of one program's, events left out."""
    return sum(count for (who, what), count in writes.items() if who == program and what not in without)
