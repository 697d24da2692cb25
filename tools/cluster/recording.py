"""A recording of a cluster: every change of what nervex-extender watches, in the order of storage, as lines of JSON
{"at": seconds, "path": collection, "type": ADDED|MODIFIED|DELETED, "object": {...}}.

cycle_replay (tests/extender/replay) runs the planner on one, so that two versions can be compared decision by decision.

    python3 -m tools.cluster.recording KUBECONFIG FILE.jsonl     # until it gets SIGINT or SIGTERM

It bears no outage of the API server: then it ends with an error, since a recording with a gap is worth nothing."""

import json
import signal
import sys
import threading
import time

from tools.cluster.api import Api, ApiError

OURS = "/apis/nervex.sensetime.com/v1alpha1"
# As add_watches of extender/watches.cpp has them, so that the first state can be replayed in this order.
COLLECTIONS = ("/api/v1/nodes", "/api/v1/pods", "/api/v1/resourcequotas", "/api/v1/namespaces", f"{OURS}/queues",
               "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes", "/apis/resource.k8s.io/v1/deviceclasses",
               f"{OURS}/podgroups", "/apis/scheduling.x-k8s.io/v1alpha1/podgroups")


class Recording:
    """Runs from start() to stop(). The events stay in memory, as text."""

    def __init__(self, api):
        self._api, self._stopping, self._events = api, threading.Event(), []  # events: (version, at, line)
        self._listed = 0.0  # when all that existed at the start was read: a planner begins with all of it
        self.failed = []

    def start(self):
        for path in COLLECTIONS:
            try:
                listed = self._api.get(f"{path}?limit=0")
            except ApiError as error:
                if error.status == 404:  # the kind is not installed
                    continue
                raise
            kind, version = listed["kind"].removesuffix("List"), listed["apiVersion"]
            for one in listed["items"]:  # a list leaves both out of its items
                self._note(path, "ADDED", {"apiVersion": version, "kind": kind, **one})
            threading.Thread(target=self._follow, args=(path, listed["metadata"]["resourceVersion"]),
                             name=f"recording-{path}", daemon=True).start()
        self._listed = time.time()
        return self

    def stop(self):
        """The lines in order. A change that was seen after a later one gets the time of that one."""
        self._stopping.set()
        if self.failed:
            raise RuntimeError(self.failed[0])
        events, least, lines = sorted(self._events, key=lambda event: event[0]), float("inf"), []
        for _, at, line in reversed(events):
            least = min(least, max(at, self._listed))
            lines.append(f'{{"at":{least:.3f},{line}\n')
        return reversed(lines)

    def _follow(self, path, version):
        try:
            for event in self._api.changes(path, version, self._stopping):
                self._note(path, event["type"], event["object"])
        except Exception as error:  # pylint: disable=broad-exception-caught
            if not self._stopping.is_set():
                self.failed.append(f"the watch of {path} failed: {error!r}")

    def _note(self, path, what, one):
        one["metadata"].pop("managedFields", None)
        line = f'"path":"{path}","type":"{what}","object":{json.dumps(one, separators=(",", ":"))}}}'
        self._events.append((int(one["metadata"]["resourceVersion"]), time.time(), line))  # atomic


def main(kubeconfig, file):
    stop = threading.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: stop.set())
    recording = Recording(Api(kubeconfig)).start()
    while not stop.wait(1) and not recording.failed:
        pass
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(recording.stop())


if __name__ == "__main__":
    main(*sys.argv[1:])
