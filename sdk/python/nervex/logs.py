"""The log of a pod of a job, followed across lost connections, restarts of the container and retries of the job."""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from nervex.api import Backoff, Deadline, Stalled
from nervex.errors import Invalid, JobDeleted, NotFound, Unavailable
from nervex.explain import SETTLE_SECONDS, SETTLING
from nervex.job import main_container
from nervex.view import FINISHED

if TYPE_CHECKING:
    from nervex.client import JobHandle

Json = Dict[str, Any]

STALLED_AFTER = 60.0  # seconds; a connection without a line for so long is opened again
REOPEN_INTERVAL = 0.5  # seconds between two connections

FRACTION = re.compile(r"\.\d+")  # of a second


class Notice(str):
    """A line that is not from the pod's log."""


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
        started = None
        for found in reader.wait_for_start(uid):
            if isinstance(found, Notice):
                yield found
            else:
                started = found
        if started is None:
            return
        uid = started["metadata"]["uid"]
        yield from reader.follow(started)
        if started["metadata"]["labels"].get("replica-type") != "coordinator":
            return  # a worker's replacement has another name


class Reader:
    """Reads one pod's log."""

    def __init__(self, job: JobHandle, pod: str, tail: Optional[int], timestamps: bool) -> None:
        self._job, self._api, self._pod, self._timestamps = job, job.client.api, pod, timestamps
        self._pods = f"/api/v1/namespaces/{job.namespace}/pods"
        self._first = [("tailLines", str(tail))] if tail is not None else []  # until there is a line
        self._last_notice = ""
        self._last, self._repeats = "", 0  # timestamp of the last line, and how many lines have it

    def read(self, previous: bool) -> Iterator[str]:
        pod = self._find()
        if pod is None:
            raise NotFound(f"pod {self._job.namespace}/{self._pod} does not exist: {self._job.explain().summary()}", 404)
        query = [("previous", "true")] if previous else []
        for line in self._lines(pod, [*query, *self._first]):
            yield self._shown(line)

    def wait_for_start(self, after: str) -> Iterator[Any]:
        """Notices, then the pod when its main container has started; no pod if the job ends without one. `after`: UID of
        the pod that was read before."""
        settled = Deadline(SETTLE_SECONDS)
        while True:
            pod = self._find()
            if pod and pod["metadata"]["uid"] != after and has_started(pod):
                yield pod
                return
            try:
                for explanation in self._job.watch(timeout=5.0):
                    pod = self._find()
                    if pod and pod["metadata"]["uid"] != after and has_started(pod):
                        break
                    if explanation.phase in FINISHED:
                        yield from self._notice_once(f"{self._job.name}: {explanation.phase}, {explanation.reason}")
                        return
                    is_settling = explanation.advice in SETTLING and not settled.expired()
                    is_stale = after and explanation.phase == "Running"  # the status does not have the pod's end yet
                    if not is_settling and not is_stale:
                        yield from self._notice_once(f"{self._job.name}: {explanation.advice}: {explanation.summary()}")
            except (JobDeleted, NotFound) as error:
                yield from self._notice_once(str(error))
                return

    def follow(self, pod: Json) -> Iterator[str]:
        """Until the pod has ended and its whole log was read, or it is deleted."""
        self._last, self._repeats = "", 0
        backoff = Backoff(self._api.outage_timeout, first_level=logging.DEBUG)  # a notice reports it
        while True:
            # Before the read: the log may grow between a lost connection and the end of the pod.
            ended, complete = has_ended(pod), True
            try:
                yield from self._new_lines(pod, [("follow", "true")], backoff)
            except Stalled:
                complete = False
            except Unavailable as error:
                complete = False
                yield from self._notice_once(f"{self._pod}: the log is interrupted and read again: {error}")
                backoff.wait(error)
            except (NotFound, Invalid):  # the pod was deleted, or its container is between two starts
                pass
            if ended and complete:
                yield notice(f"{self._pod}: {describe_end(pod)}")
                return
            latest = self._find()
            if latest is None or latest["metadata"]["uid"] != pod["metadata"]["uid"]:
                yield notice(f"{self._pod}: the pod was deleted")
                return
            if restart_count(latest) > restart_count(pod):
                if not complete:
                    yield from self._rest_of_previous(latest)
                yield notice(f"{self._pod}: the container is started again ({restart_count(latest)} restarts)")
            pod = latest
            if not has_ended(pod):
                time.sleep(REOPEN_INTERVAL)

    def _rest_of_previous(self, pod: Json) -> Iterator[str]:
        """What the container logged before its restart, while the connection was lost."""
        try:
            yield from self._new_lines(pod, [("previous", "true")])
        except (NotFound, Invalid, Unavailable):  # the kubelet has deleted it
            yield notice(f"{self._pod}: lines before the restart may be missing")

    def _new_lines(self, pod: Json, query: List[Tuple[str, str]], backoff: Optional[Backoff] = None) -> Iterator[str]:
        """Lines after the last one. The API takes whole seconds: it repeats the lines of the last line's second."""
        since = [("sinceTime", FRACTION.sub("", self._last))] if self._last else self._first
        repeats = self._repeats
        for line in self._lines(pod, [*query, *since], backoff):
            stamp = line.partition(" ")[0]
            if (stamp == self._last and repeats > 0) or stamp < self._last:
                repeats -= stamp == self._last
                continue
            self._repeats = self._repeats + 1 if stamp == self._last else 1
            self._last, self._first = stamp, []
            yield self._shown(line)

    def _lines(self, pod: Json, query: List[Tuple[str, str]], backoff: Optional[Backoff] = None) -> Iterator[str]:
        container = main_container(pod["spec"])["name"]
        for line in self._api.lines(f"{self._pods}/{self._pod}/log",
                                    [("container", container), ("timestamps", "true"), *query], STALLED_AFTER, backoff):
            yield line.decode("utf-8", "replace")

    def _shown(self, line: str) -> str:
        return line if self._timestamps else line.partition(" ")[2]

    def _find(self) -> Optional[Json]:
        return self._api.find(f"{self._pods}/{self._pod}", Deadline(self._api.outage_timeout))

    def _notice_once(self, text: str) -> Iterator[Notice]:
        if text != self._last_notice:
            self._last_notice = text
            yield notice(text)


def main_status(pod: Json) -> Json:
    name = main_container(pod["spec"])["name"]
    return next((one for one in pod.get("status", {}).get("containerStatuses", []) if one["name"] == name), {})


def has_started(pod: Json) -> bool:
    state = main_status(pod).get("state", {})
    return "running" in state or "terminated" in state or pod["status"].get("phase") in FINISHED


def restart_count(pod: Json) -> int:
    return int(main_status(pod).get("restartCount", 0))


def has_ended(pod: Json) -> bool:
    """The main container decides: a sidecar may still run."""
    never_restarts = pod["spec"].get("restartPolicy") == "Never"
    return pod["status"].get("phase") in FINISHED or (never_restarts and "terminated" in main_status(pod).get("state", {}))


def describe_end(pod: Json) -> str:
    """"exit code 1 (Error): out of memory"."""
    status, ended = pod["status"], main_status(pod).get("state", {}).get("terminated")
    if not ended:
        return ": ".join(filter(None, [status.get("reason") or status.get("phase"), status.get("message")]))
    text = f"exit code {ended.get('exitCode')}" + (f" ({ended['reason']})" if ended.get("reason") else "")
    return ": ".join(filter(None, [text, ended.get("message")]))
