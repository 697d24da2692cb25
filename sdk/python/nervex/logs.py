"""The log of a pod of a job, followed over what happens to the connection, the container, the pod and the job."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from nervex.api import Backoff, Deadline
from nervex.errors import JobDeleted, NotFound, Refused, Unavailable
from nervex.explain import FINISHED, SETTLE_SECONDS, SETTLING
from nervex.job import main_container

if TYPE_CHECKING:
    from nervex.client import JobHandle

Json = Dict[str, Any]

SILENCE = 60.0  # seconds; a connection without a line for so long is opened again
PAUSE = 0.5  # seconds; before it is


class Notice(str):
    """A line that does not come from the pod."""


def notice(text: str) -> Notice:
    return Notice(f"# {text}")


def read(job: JobHandle, pod: str, follow: bool, tail: Optional[int], previous: bool,
         timestamps: bool) -> Iterator[str]:
    reader = Reader(job, pod, tail, timestamps)
    if not follow:
        yield from reader.read(previous)
        return
    uid = ""  # of the last pod whose log was read
    while True:
        found = None
        for seen in reader.wait_for_start(uid):
            if isinstance(seen, str):
                yield seen
            else:
                found = seen
        if found is None:
            return
        uid = found["metadata"]["uid"]
        yield from reader.follow(found)
        if found["metadata"]["labels"].get("replica-type") != "coordinator":
            return  # its successor, if there is one, has another name


class Reader:
    """Reads one pod's log."""

    def __init__(self, job: JobHandle, pod: str, tail: Optional[int], timestamps: bool) -> None:
        self._job, self._api, self._pod, self._timestamps = job, job.client.api, pod, timestamps
        self._pods = f"/api/v1/namespaces/{job.namespace}/pods"
        self._first = [("tailLines", str(tail))] if tail is not None else []
        self._said = ""
        self._last, self._repeats = "", 0  # time of the last line, and how many lines had it

    def read(self, previous: bool) -> Iterator[str]:
        pod = self._api.get(f"{self._pods}/{self._pod}")
        query = [("previous", "true")] if previous else []
        for line in self._lines(pod, [*query, *self._first]):
            yield self._shown(line)

    def wait_for_start(self, after: str) -> Iterator[Any]:
        """Notices, then the pod whose main container has started; nothing if the job ends without one. `after`: the
        uid of the pod that was read before."""
        settled = Deadline(SETTLE_SECONDS)
        while True:
            pod = self._find()
            if pod and pod["metadata"]["uid"] != after and has_started(pod):
                yield pod
                return
            try:
                for seen in self._job.watch(timeout=5.0):
                    pod = self._find()
                    if pod and pod["metadata"]["uid"] != after and has_started(pod):
                        break
                    if seen.phase in FINISHED:
                        yield from self._say(f"{self._job.name}: {seen.phase}, {seen.reason}")
                        return
                    is_settling = seen.advice in SETTLING and not settled.passed()
                    is_late = after and seen.phase == "Running"  # the job's status has not noticed the pod's end yet
                    if not is_settling and not is_late:
                        yield from self._say(f"{self._job.name}: {seen.advice}: {seen.summary()}")
            except (JobDeleted, NotFound) as error:
                yield from self._say(str(error))
                return

    def follow(self, pod: Json) -> Iterator[str]:
        """Until the pod ends or is deleted."""
        uid = pod["metadata"]["uid"]
        self._last, self._repeats = "", 0
        backoff = Backoff(self._api.outage_timeout)
        restarts = restart_count(pod)
        while True:
            try:
                for line in self._since_last(pod):
                    backoff.reset()
                    yield line
                backoff.reset()
            except Unavailable as error:
                yield from self._say(f"{self._pod}: the log is interrupted and read again: {error}")
                backoff.pause(error)
            except (NotFound, Refused):  # the pod was deleted, or its container is between two starts
                pass
            found = self._find()
            if found is None or found["metadata"]["uid"] != uid:
                yield notice(f"{self._pod}: the pod was deleted")
                return
            ended = end_of(found)
            if ended and found["status"].get("phase") in FINISHED:
                yield notice(f"{self._pod}: {ended}")
                return
            if restart_count(found) > restarts:
                restarts = restart_count(found)
                yield notice(f"{self._pod}: the container is started again ({restarts} restarts)")
            pod = found
            time.sleep(PAUSE)

    def _since_last(self, pod: Json) -> Iterator[str]:
        """New lines: the API repeats those of the last line's second."""
        query = [("sinceTime", self._last[:19] + "Z")] if self._last else self._first
        self._first, repeats = [], self._repeats
        for line in self._lines(pod, [("follow", "true"), *query]):
            stamp = line.partition(" ")[0]
            if (stamp == self._last and repeats > 0) or stamp < self._last:
                repeats -= stamp == self._last
                continue
            self._repeats = self._repeats + 1 if stamp == self._last else 1
            self._last = stamp
            yield self._shown(line)

    def _lines(self, pod: Json, query: List[Tuple[str, str]]) -> Iterator[str]:
        container = main_container(pod["spec"])["name"]
        for line in self._api.lines(f"{self._pods}/{self._pod}/log",
                                    [("container", container), ("timestamps", "true"), *query], SILENCE):
            yield line.decode("utf-8", "replace")

    def _shown(self, line: str) -> str:
        return line if self._timestamps else line.partition(" ")[2]

    def _find(self) -> Optional[Json]:
        return self._api.find(f"{self._pods}/{self._pod}", Deadline(self._api.outage_timeout))

    def _say(self, text: str) -> Iterator[str]:
        """Once."""
        if text != self._said:
            self._said = text
            yield notice(text)


def main_status(pod: Json) -> Json:
    name = main_container(pod["spec"])["name"]
    return next((one for one in pod.get("status", {}).get("containerStatuses", []) if one["name"] == name), {})


def has_started(pod: Json) -> bool:
    state = main_status(pod).get("state", {})
    return "running" in state or "terminated" in state or pod["status"].get("phase") in FINISHED


def restart_count(pod: Json) -> int:
    return int(main_status(pod).get("restartCount", 0))


def end_of(pod: Json) -> str:
    """"exit code 1 (Error): out of memory"; "" while the pod goes on."""
    ended = main_status(pod).get("state", {}).get("terminated")
    status = pod["status"]
    if not ended:
        return ": ".join(filter(None, [status.get("reason") or status.get("phase"), status.get("message")])) if (
            status.get("phase") in FINISHED) else ""
    text = f"exit code {ended.get('exitCode')}" + (f" ({ended['reason']})" if ended.get("reason") else "")
    return ": ".join(filter(None, [text, ended.get("message")]))
