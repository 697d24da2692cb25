"""More or fewer workers for a running job: a client of nervex-server's replicas API, for the coordinator inside a job.
Needs nothing but the standard library.

    replicas = ReplicasClient.from_environment()
    added = replicas.add(collectors=4, learners=Ask(1, gpus=8))
    for change in replicas.watch():
        connect(change.added.collectors)
"""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union

from nervex.errors import NervexError, ReplicasRefused, ReplicasUnavailable

Json = Dict[str, Any]

PATH = "/v1alpha1/replicas"
CONNECTION_TRIES = 5
PAUSE = 1.0  # between tries
TRY_TIMEOUT = 30.0


@dataclass(frozen=True)
class Ask:
    """So many replicas of a role. What is not given keeps the template's value."""

    replicas: int
    cpus: Optional[Union[str, float]] = None
    gpus: Optional[int] = None
    memory: Optional[Union[str, int]] = None

    def to_body(self) -> Json:
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Replicas:
    """Sorted addresses by role, as <pod>.<namespace>:<port>."""

    collectors: Tuple[str, ...] = ()
    learners: Tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.collectors or self.learners)

    def without(self, others: Replicas) -> Replicas:
        return Replicas(tuple(one for one in self.collectors if one not in others.collectors),
                        tuple(one for one in self.learners if one not in others.learners))


@dataclass(frozen=True)
class Change:
    """What watch() saw: the replicas that came and went, and all that are there now."""

    added: Replicas
    removed: Replicas
    now: Replicas


class ReplicasClient:
    """The replicas of one job.

    server       address of nervex-server: "nervex-server.nervex-system:8080"
    coordinator  name of any pod of the job
    token        returns the bearer token; called for each try, since tokens are renewed
    timeout      seconds in which a call must have succeeded; None: it is repeated without end

    A call is repeated while the server answers that it cannot carry it out now, and up to 5 times on a lost connection.
    All tries have one Idempotency-Key, so it takes effect once. Any other answer raises ReplicasRefused.
    """

    def __init__(self, server: str, namespace: str, coordinator: str, *, token: Callable[[], str] = lambda: "",
                 timeout: Optional[float] = 120.0) -> None:
        self.server = server if "://" in server else f"http://{server}"
        self.namespace, self.coordinator = namespace, coordinator
        self._token, self._timeout = token, timeout
        # The server is inside the cluster: no proxy, even if the environment names one.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    @classmethod
    def from_environment(cls, *, timeout: Optional[float] = 120.0) -> ReplicasClient:
        """In a pod of a job, by its environment."""
        return cls(need("KUBERNETES_SERVER_URL", "KUBERNETES_NERVEX_SERVER_URL"), need("KUBERNETES_POD_NAMESPACE"),
                   need("KUBERNETES_POD_NAME"), token=read_token, timeout=timeout)

    def list(self) -> Replicas:
        """The replicas whose pods exist and have not ended."""
        query = urllib.parse.urlencode({"namespace": self.namespace, "coordinator": self.coordinator})
        return read_replicas(self.call("GET", f"{PATH}?{query}"))

    def add(self, *, collectors: Union[int, Ask] = 0, learners: Union[int, Ask] = 0) -> Replicas:
        """Adds replicas; those of one role start together as soon as there is capacity. Returns their addresses, which
        are final: list() has them when their pods exist."""
        return read_replicas(self.call("POST", PATH, self._body(collectors=collectors, learners=learners)))

    def remove(self, *, collectors: int = 0, learners: int = 0) -> Replicas:
        """Removes the newest replicas. Returns what was removed: fewer if there are fewer."""
        return read_replicas(self.call("DELETE", PATH, self._body(collectors=collectors, learners=learners)))

    def replace(self, *, collectors: Sequence[str] = (), learners: Sequence[str] = ()) -> Replicas:
        """Replaces failed replicas, by name or address. Returns their successors."""
        body = {"namespace": self.namespace, "coordinator": self.coordinator, "collectors": list(collectors),
                "learners": list(learners)}
        return read_replicas(self.call("POST", f"{PATH}/failed", body))

    def watch(self, interval: float = 1.0) -> Iterator[Change]:
        """What is there now, and then each change, without end. Asks the server each `interval` seconds."""
        before: Optional[Replicas] = None
        while True:
            now = self.list()
            if now != before:
                known = before or Replicas()
                yield Change(now.without(known), known.without(now), now)
                before = now
            time.sleep(interval)

    def call(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None) -> Any:
        """`data` of the answer."""
        call_key = uuid.uuid4().hex
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        while True:
            answer = self.call_once(method, path, body, call_key)
            if answer.get("success"):
                return answer.get("data")
            if deadline is not None and time.monotonic() + PAUSE > deadline:
                raise ReplicasUnavailable(f"{method} {path}: {answer.get('message')}")
            time.sleep(PAUSE)

    def call_once(self, method: str, path: str, body: Optional[Mapping[str, Any]], call_key: str) -> Json:
        """The answer, a success or not; repeats lost connections alone."""
        for left in reversed(range(CONNECTION_TRIES)):
            try:
                return self._send(method, path, body, call_key)
            except urllib.error.HTTPError as error:
                with error:
                    raise ReplicasRefused(f"{method} {path}: {error.code} {message_of(error.read())}", error.code) from error
            except (OSError, ValueError, http.client.HTTPException) as error:
                if not left:
                    raise ReplicasUnavailable(f"{method} {path}: {error} ({CONNECTION_TRIES} tries)") from error
                time.sleep(PAUSE)
        raise AssertionError("unreachable")

    def _send(self, method: str, path: str, body: Optional[Mapping[str, Any]], call_key: str) -> Json:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        if method != "GET":
            request.add_header("Idempotency-Key", call_key)
        token = self._token()
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        with self._opener.open(request, timeout=TRY_TIMEOUT) as response:
            answer = json.load(response)
        if not isinstance(answer, dict):
            raise ValueError("the answer is not a JSON object")
        return answer

    def _body(self, **groups: Union[int, Ask]) -> Json:
        asks = {role: Ask(ask) if isinstance(ask, int) else ask for role, ask in groups.items()}
        return {"namespace": self.namespace, "coordinator": self.coordinator,
                **{role: ask.to_body() for role, ask in asks.items() if ask.replicas}}


def read_replicas(data: Mapping[str, Any]) -> Replicas:
    return Replicas(tuple(sorted(data.get("collectors") or ())), tuple(sorted(data.get("learners") or ())))


def read_token() -> str:
    """The pod's token for nervex-server, if the server asks for one."""
    path = os.environ.get("KUBERNETES_NERVEX_SERVER_TOKEN_FILE")
    if not path:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError as error:
        raise NervexError(f"cannot read the token: {error}") from error


def need(*names: str) -> str:
    """The first of these variables that is set."""
    for name in names:
        if os.environ.get(name):
            return os.environ[name]
    raise NervexError(f"the environment has no {' or '.join(names)}: is this a pod of a NerveXJob?")


def message_of(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]
