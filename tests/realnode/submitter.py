"""A user who submits jobs all the time, while something happens to the suite."""

import json
import threading
import time

from tools.base.console import wait_for
from tools.realnode import install
from jobs import STAYS, container, job, template

LABEL = "nervex-test/submitted"


class Submitter:
    """Creates one suspended job after the other. `refused`: what the user would have read instead; `refused_at`: when,
    by time.monotonic()."""

    def __init__(self, node):
        self._node, self._ended = node, threading.Event()
        self.accepted, self.refused, self.refused_at = [], [], []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        number = 0
        while not self._ended.is_set():
            number += 1
            one = job(f"submitted-{number}", suspend=True, coordinator=template(container(STAYS)))
            one["metadata"]["labels"] = {LABEL: "yes"}
            done = self._node.kubectl("create", "-f", "-", body=json.dumps(one), check=False)
            if done.returncode == 0:
                self.accepted.append(one["metadata"]["name"])
            else:
                self.refused.append(done.stderr.strip())
                self.refused_at.append(time.monotonic())

    def wait_for(self, more, timeout=60):
        """Waits until this many more were answered."""
        begin = self._answered()
        wait_for(lambda: (self._answered() >= begin + more, f"{self._answered() - begin} answered"),
                 f"{more} more jobs to be submitted", timeout, 0.1)

    def _answered(self):
        return len(self.accepted) + len(self.refused)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        """Each accepted job is there and the controller has seen it; then they go."""
        self._ended.set()
        self._thread.join(120)

        def look():
            found = {one["metadata"]["name"] for one in install.get(self._node, "nervexjobs", "-l", f"{LABEL}=yes")["items"]
                     if one.get("status", {}).get("phase") == "Created"}
            return found == set(self.accepted), f"not seen by the controller: {sorted(set(self.accepted) - found)}"
        try:
            wait_for(look, "every accepted job to be in the queue", 60, 0.5)
        finally:
            self._node.kubectl("delete", "nervexjobs", "-l", f"{LABEL}=yes")
