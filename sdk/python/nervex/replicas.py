"""Scales a running job from inside: a client of nervex-server's replicas API, for coordinators. Needs only the standard
library.

    replicas = ReplicasClient.from_environment()
    replicas.add(collectors=4, learners=ReplicaRequest(1, gpus=8))
    for change in replicas.watch(on_reclaim=lambda lost: save(lost)):
        connect(change.added.collectors)
"""

from __future__ import annotations

import http.client
import json
import logging
import math
import os
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Set, Tuple, Union

from nervex.errors import NervexError, ReplicasRefused, ReplicasUnavailable

Json = Dict[str, Any]

PATH = "/v1alpha1/replicas"
CONNECTION_TRIES = 5  # of OperatorServer, whose callers retry themselves
RETRY_INTERVAL = 1.0  # seconds
TRY_TIMEOUT = 30.0  # seconds
KEY_LIFETIME = 540.0  # seconds in which a repeated change takes effect once: nervex-server remembers keys for 10 minutes
GATEWAY_ERRORS = (502, 503, 504)  # of a proxy: nervex-server was not reached, or its answer was lost

LOG = logging.getLogger("nervex")


@dataclass(frozen=True)
class ReplicaRequest:
    """A number of replicas of one role. A resource that is not given keeps the template's value."""

    replicas: int
    cpus: Optional[Union[str, float]] = None
    gpus: Optional[int] = None
    memory: Optional[Union[str, int]] = None

    def to_body(self) -> Json:
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Replicas:
    """Addresses by role, sorted, as <pod>.<namespace>:<port>."""

    collectors: Tuple[str, ...] = ()
    learners: Tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.collectors or self.learners)

    def without(self, others: Replicas) -> Replicas:
        return self.only(lambda one: one not in others.collectors and one not in others.learners)

    def only(self, matches: Callable[[str], bool]) -> Replicas:
        return Replicas(tuple(filter(matches, self.collectors)), tuple(filter(matches, self.learners)))


@dataclass(frozen=True)
class Change:
    """A change that watch() saw.

    added      new replicas
    removed    replicas that are no longer listed
    reclaimed  those of `removed` that this client has neither removed nor replaced
    now        all replicas
    """

    added: Replicas
    removed: Replicas
    reclaimed: Replicas
    now: Replicas


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: its target would get the token."""

    def redirect_request(self, *_: Any) -> None:
        return None


class ReplicasClient:
    """The replicas of one job.

    server       address of nervex-server: "nervex-server.nervex-system:8080"
    coordinator  name of any pod of the job
    token        returns the bearer token; called for each try, because tokens are renewed
    timeout      seconds within which a call must succeed; None: no limit

    A call is retried until its timeout while the server cannot be reached, answers that it cannot do it now, or a proxy
    answers for it with 502 to 504. All tries have the same Idempotency-Key, so the call takes effect once; a change whose
    answer was lost is retried for 9 minutes at most, because the server then forgets the key. Any other answer raises
    ReplicasRefused. Threads may share a client.
    """

    def __init__(self, server: str, namespace: str, coordinator: str, *, token: Callable[[], str] = lambda: "",
                 timeout: Optional[float] = 120.0) -> None:
        self.server = server if "://" in server else f"http://{server}"
        self.namespace, self.coordinator = namespace, coordinator
        self._token, self._timeout = token, timeout
        self._released: Set[str] = set()  # pods that this client has removed or replaced and that watch() still saw
        self._releasing = threading.Lock()  # held until the answer of such a call is in _released
        # The server is inside the cluster: no proxy, even if the environment names one.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects())

    @classmethod
    def from_environment(cls, *, timeout: Optional[float] = 120.0) -> ReplicasClient:
        """From the environment of a pod of the job."""
        return cls(read_variable("KUBERNETES_SERVER_URL", "KUBERNETES_NERVEX_SERVER_URL"), read_variable("KUBERNETES_POD_NAMESPACE"),
                   read_variable("KUBERNETES_POD_NAME"), token=read_token, timeout=timeout)

    def list(self) -> Replicas:
        """The replicas whose pods exist and neither terminate nor have ended."""
        query = urllib.parse.urlencode({"namespace": self.namespace, "coordinator": self.coordinator})
        return read_replicas(self.call("GET", f"{PATH}?{query}"))

    def add(self, *, collectors: Union[int, ReplicaRequest] = 0, learners: Union[int, ReplicaRequest] = 0) -> Replicas:
        """Adds replicas; those of one role start together as soon as they fit. Returns their addresses, which are final:
        list() has them when their pods exist."""
        return read_replicas(self.call("POST", PATH, self._body(collectors=collectors, learners=learners)))

    def remove(self, *, collectors: int = 0, learners: int = 0) -> Replicas:
        """Removes the newest replicas. Returns the removed ones: fewer than asked if there are fewer."""
        with self._releasing:
            removed = read_replicas(self.call("DELETE", PATH, self._body(collectors=collectors, learners=learners)))
            self._released.update(map(pod_name, removed.collectors + removed.learners))
        return removed

    def replace(self, *, collectors: Sequence[str] = (), learners: Sequence[str] = ()) -> Replicas:
        """Replaces failed replicas, by name or address. Returns their replacements."""
        body = {"namespace": self.namespace, "coordinator": self.coordinator, "collectors": list(collectors),
                "learners": list(learners)}
        with self._releasing:
            replacements = read_replicas(self.call("POST", f"{PATH}/failed", body))
            self._released.update(map(pod_name, [*collectors, *learners]))
        return replacements

    def wait(self, replicas: Replicas, timeout: Optional[float] = None, interval: float = 1.0) -> None:
        """Waits until all of them are listed: their pods exist. Raises ReplicasUnavailable after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            missing = replicas.without(self.list())
            if not missing:
                return
            if deadline is not None and time.monotonic() > deadline:
                names = " ".join(missing.collectors + missing.learners)
                raise ReplicasUnavailable(f"after {timeout:g} s these replicas are still missing: {names}")
            time.sleep(interval)

    def watch(self, interval: float = 1.0, on_reclaim: Optional[Callable[[Replicas], None]] = None) -> Iterator[Change]:
        """Yields all replicas, and then each change. Asks the server every `interval` seconds. Does not end.

        `on_reclaim` is called, before the change is yielded, with replicas that the cluster or a user took away: their
        pods were preempted, deleted or lost with a node, or have ended. nervex-server gives no notice in advance. A
        replica leaves its list when its pod starts to terminate: what remains is the pod's grace period.
        """
        before = Replicas()
        is_first = True
        while True:
            now = self.list()
            if now != before or is_first:
                change = self._compare(before, now)
                if change.reclaimed and on_reclaim:
                    on_reclaim(change.reclaimed)
                yield change
                before, is_first = now, False
            time.sleep(interval)

    def _compare(self, before: Replicas, now: Replicas) -> Change:
        removed = before.without(now)
        with self._releasing:
            reclaimed = removed.only(lambda one: pod_name(one) not in self._released)
            self._released.intersection_update(map(pod_name, now.collectors + now.learners))
        return Change(now.without(before), removed, reclaimed, now)

    def call(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None) -> Any:
        """Returns the answer's `data`."""
        call_key, logged = uuid.uuid4().hex, ""
        deadline = math.inf if self._timeout is None else time.monotonic() + self._timeout
        while True:
            try:
                answer = self._try(method, path, body, call_key, deadline - time.monotonic())
                if answer.get("success"):
                    return answer.get("data")
                failure = ReplicasUnavailable(f"{method} {path}: {answer.get('message')}")
            except ReplicasUnavailable as error:
                failure = error
                if method != "GET":
                    deadline = min(deadline, time.monotonic() + KEY_LIFETIME)
            if time.monotonic() + RETRY_INTERVAL > deadline:
                raise failure
            LOG.log(logging.DEBUG if str(failure) == logged else logging.WARNING, "retried: %s", failure)
            logged = str(failure)
            time.sleep(RETRY_INTERVAL)

    def call_once(self, method: str, path: str, body: Optional[Mapping[str, Any]], call_key: str) -> Json:
        """The answer, a success or not; retries only while there is none, up to 5 times."""
        for tries_left in reversed(range(CONNECTION_TRIES)):
            try:
                return self._try(method, path, body, call_key)
            except ReplicasUnavailable as error:
                if not tries_left:
                    raise ReplicasUnavailable(f"{error} ({CONNECTION_TRIES} tries)") from error
                LOG.warning("retried: %s", error)
                time.sleep(RETRY_INTERVAL)
        raise AssertionError("unreachable")

    def _try(self, method: str, path: str, body: Optional[Mapping[str, Any]], call_key: str, remaining: float = math.inf) -> Json:
        """The answer, a success or not. Raises ReplicasUnavailable if there is none, which may be lost."""
        try:
            return self._send(method, path, body, call_key, max(1.0, min(TRY_TIMEOUT, remaining)))
        except urllib.error.HTTPError as error:
            with error:
                said = describe_redirect(error.headers.get("Location", "")) if 300 <= error.code < 400 else message_of(error.read())
                text = f"{method} {path}: {error.code} {said}"
            if error.code in GATEWAY_ERRORS:
                raise ReplicasUnavailable(text) from error
            raise ReplicasRefused(text, error.code) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ReplicasUnavailable(f"{method} {path}: {error}") from error

    def _send(self, method: str, path: str, body: Optional[Mapping[str, Any]], call_key: str, timeout: float) -> Json:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        if method != "GET":
            request.add_header("Idempotency-Key", call_key)
        token = self._token()
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        with self._opener.open(request, timeout=timeout) as response:
            answer = json.load(response)
        if not isinstance(answer, dict):
            raise ValueError("the answer is not a JSON object")
        return answer

    def _body(self, **groups: Union[int, ReplicaRequest]) -> Json:
        requests = {role: ReplicaRequest(one) if isinstance(one, int) else one for role, one in groups.items()}
        return {"namespace": self.namespace, "coordinator": self.coordinator,
                **{role: one.to_body() for role, one in requests.items() if one.replicas}}


def read_replicas(data: Mapping[str, Any]) -> Replicas:
    return Replicas(tuple(sorted(data.get("collectors") or ())), tuple(sorted(data.get("learners") or ())))


def pod_name(address: str) -> str:
    """Of an address, or the name itself."""
    return re.split("[.:]", address)[0]


def read_token() -> str:
    """The pod's token for nervex-server; "" if the server asks for none."""
    path = os.environ.get("KUBERNETES_NERVEX_SERVER_TOKEN_FILE")
    if not path:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError as error:
        raise NervexError(f"cannot read the token: {error}") from error


def read_variable(*names: str) -> str:
    """The first of these variables that is set."""
    for name in names:
        if os.environ.get(name):
            return os.environ[name]
    raise NervexError(f"the environment has no {' or '.join(names)}: this is not a pod of a NerveXJob")


def describe_redirect(location: str) -> str:
    return f"the server redirects to {location[:200]!a}; redirects are not followed"


def message_of(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]
