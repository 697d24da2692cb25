"""Calls of the Kubernetes API as plain JSON, retried while the API server is unavailable, and watches that resume after a
lost connection. The only file that uses the `kubernetes` package."""

from __future__ import annotations

import json
import logging
import math
import os
import time
import urllib.parse
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type

import kubernetes
import urllib3

from nervex.errors import AlreadyExists, ApiError, Forbidden, Invalid, NervexError, NotFound, Unavailable

Json = Dict[str, Any]
Query = Sequence[Tuple[str, str]]

MERGE_PATCH = "application/merge-patch+json"
IN_CLUSTER_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
CALL_TIMEOUT = 30.0  # seconds for one try
RECOVERY = 30.0  # seconds after an outage, in which 401 and 403 may be temporary
REFRESH = 30.0  # a watch yields at least this often
PAGE = 500
MOST_PAGES = 10_000  # more are no list of an API server

LOG = logging.getLogger("nervex")


class Deadline:
    """When an operation times out; None: never."""

    def __init__(self, seconds: Optional[float] = None) -> None:
        self._at = math.inf if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float:
        return max(0.0, self._at - time.monotonic())

    def expired(self) -> bool:
        return self.remaining() <= 0


class Backoff:
    """Exponential back-off between tries, until `timeout` seconds have passed without a success."""

    def __init__(self, timeout: float, initial: float = 0.2, limit: float = 5.0, first_level: int = logging.WARNING) -> None:
        self._timeout, self._initial, self._limit, self._first_level = timeout, initial, limit, first_level
        self.reset()

    def reset(self) -> None:
        """After a success."""
        self._next = self._initial
        self._deadline: Optional[Deadline] = None

    def wait(self, error: Unavailable) -> None:
        """Raises the error if the timeout has expired. The first failure is logged at `first_level`."""
        level = logging.DEBUG
        if self._deadline is None:
            self._deadline, level = Deadline(self._timeout), self._first_level
        if self._deadline.expired():
            raise error
        LOG.log(level, "retried for up to %.0f s: %s", self._deadline.remaining(), error)
        time.sleep(min(max(self._next, error.retry_after), self._deadline.remaining()))
        self._next = min(2 * self._next, self._limit)


class Stalled(Unavailable):
    """An endless answer has sent nothing for so long that its connection may be lost."""


class Api:
    """The Kubernetes API as one user. `outage_timeout`: how long a call is retried while the API server is unavailable."""

    def __init__(self, client: Any, outage_timeout: float = 120.0) -> None:
        self._client, self.outage_timeout = client, outage_timeout
        self._last_outage = -math.inf

    def close(self) -> None:
        self._client.rest_client.pool_manager.clear()

    def call(self, method: str, path: str, body: Optional[Json] = None, query: Query = (),
             deadline: Optional[Deadline] = None) -> Json:
        """Retries while the API server is unavailable: the call must be idempotent."""
        backoff = Backoff(min(self.outage_timeout, deadline.remaining() if deadline else math.inf))
        while True:
            try:
                return self.call_once(method, path, body, query)
            except Unavailable as error:
                backoff.wait(error)

    def call_once(self, method: str, path: str, body: Optional[Json] = None, query: Query = ()) -> Json:
        response = self._send(method, path, body, query, CALL_TIMEOUT)
        try:
            answer: Json = json.loads(response.data)
            return answer
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"{method} {path}: {error}") from error
        except ValueError as error:
            raise ApiError(f"{method} {path}: the answer is not JSON") from error
        finally:
            response.release_conn()

    def get(self, path: str, query: Query = (), deadline: Optional[Deadline] = None) -> Json:
        return self.call("GET", path, query=query, deadline=deadline)

    def find(self, path: str, deadline: Optional[Deadline] = None) -> Optional[Json]:
        """None: it does not exist."""
        try:
            return self.get(path, deadline=deadline)
        except NotFound:
            return None

    def list(self, path: str, query: Query = (), deadline: Optional[Deadline] = None) -> List[Json]:
        """All items, page by page."""
        items: List[Json] = []
        more = ""
        for _ in range(MOST_PAGES):
            page = self.get(path, [*query, ("limit", str(PAGE)), *([("continue", more)] if more else [])],
                            deadline)
            items += page.get("items") or []
            more = page["metadata"].get("continue", "")
            if not more:
                return items
        raise ApiError(f"GET {path}: the list has not ended after {MOST_PAGES} pages")

    def lines(self, path: str, query: Query, timeout: float, backoff: Optional[Backoff] = None) -> Iterator[bytes]:
        """The lines of an endless answer. Its headers reset the back-off. Raises Stalled after `timeout` seconds without
        a byte: a lost connection may give no other sign."""
        response = self._send("GET", path, None, query, timeout)
        if backoff:
            backoff.reset()
        rest = b""
        try:
            for chunk in response.stream(1 << 16, decode_content=False):
                *whole, rest = (rest + chunk).split(b"\n")
                yield from whole
            if rest:
                yield rest
        except urllib3.exceptions.ReadTimeoutError as error:
            raise Stalled(f"GET {path}: {error}") from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Unavailable(f"GET {path}: {error}") from error
        finally:
            response.close()

    def watch(self, path: str, name: str, deadline: Deadline) -> Iterator[Optional[Json]]:
        """The object of this name in a collection: now, even if the deadline has expired; then after each change, and
        at least once in REFRESH seconds. None while it does not exist. Ends at the deadline. Resumes after 410, 429 and
        lost connections."""
        selector = ("fieldSelector", f"metadata.name={name}")
        backoff = Backoff(self.outage_timeout)
        version, latest, yielded = "", None, False
        while True:
            if not version:
                answer = self.get(path, [selector], deadline)
                version, latest = answer["metadata"]["resourceVersion"], next(iter(answer.get("items") or []), None)
                yielded = False
            if not yielded:
                yield latest
                yielded = True
            if deadline.expired():
                return
            seconds = math.ceil(min(REFRESH, max(1.0, deadline.remaining())))
            try:
                query = [selector, ("watch", "true"), ("allowWatchBookmarks", "true"), ("resourceVersion", version),
                         ("timeoutSeconds", str(seconds))]
                for line in self.lines(path, query, seconds + 5, backoff):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise error_from_status(event["object"], f"watch {path}")
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        latest = None if event["type"] == "DELETED" else event["object"]
                        yield latest
                yielded = False  # refresh
            except Stalled:
                yielded = False
            except Unavailable as error:
                backoff.wait(error)
            except ValueError:  # a line that was cut off when the connection was lost
                version = ""
            except ApiError as error:
                if error.status != 410:
                    raise
                version = ""

    def _send(self, method: str, path: str, body: Optional[Json], query: Query, timeout: float) -> Any:
        """The answer, unread. Of the official client only connections and credentials are used: its calls differ between
        versions."""
        settings = self._client.configuration
        headers = {"Accept": "*/*", "User-Agent": "nervex-python",
                   "Content-Type": MERGE_PATCH if method == "PATCH" else "application/json"}
        for one in settings.auth_settings().values():  # refreshes an expired token
            headers[one["key"]] = one["value"]
        url = settings.host + path + ("?" + urllib.parse.urlencode(query) if query else "")
        try:
            response = self._client.rest_client.pool_manager.request(
                method, url, body=None if body is None else json.dumps(with_integers(body)), headers=headers, preload_content=False,
                redirect=False, retries=False, timeout=urllib3.Timeout(connect=10.0, read=timeout))
            if 200 <= response.status < 300:
                return response
            answer = error_from_answer(response, f"{method} {path}")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            self._last_outage = time.monotonic()
            raise Unavailable(f"{method} {path}: {error}") from error
        if isinstance(answer, Unavailable):
            self._last_outage = time.monotonic()
        elif isinstance(answer, Forbidden) and time.monotonic() < self._last_outage + RECOVERY:
            # An API server that starts does not know all accounts and roles yet.
            raise Unavailable(str(answer), answer.status, answer.reason)
        raise answer


def with_integers(value: Any) -> Any:
    """With 36 in place of 36.0, as kubectl sends it: the API server keeps the latter as a float, and refuses it with "invalid
    data, expected int, got float64"."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: with_integers(one) for name, one in value.items()}
    return [with_integers(one) for one in value] if isinstance(value, (list, tuple)) else value


def error_from_answer(response: Any, what: str) -> ApiError:
    try:
        body = json.loads(response.data)
    except ValueError:
        body = None
    status = body if isinstance(body, dict) else {"message": response.reason}
    if 300 <= response.status < 400:
        status = {**status, "message": "the server redirects; redirects are not followed"}
    found = error_from_status({**status, "code": response.status}, what)
    if isinstance(found, Unavailable):
        try:
            found.retry_after = float(response.headers.get("Retry-After", 0))
        except ValueError:
            pass  # a date
    return found


KINDS: Dict[int, Type[ApiError]] = {400: Invalid, 401: Forbidden, 403: Forbidden, 404: NotFound, 422: Invalid,
                                    429: Unavailable, 500: Unavailable, 502: Unavailable, 503: Unavailable,
                                    504: Unavailable}


def error_from_status(status: Json, what: str) -> ApiError:
    """From a v1 Status object."""
    code, reason = int(status.get("code") or 0), str(status.get("reason") or "")
    causes = [": ".join(filter(None, [one.get("field", ""), one.get("message", "")]))
              for one in (status.get("details") or {}).get("causes") or []]
    kind = AlreadyExists if (code, reason) == (409, "AlreadyExists") else KINDS.get(code, ApiError)
    return kind(f"{what}: {code} {status.get('message', '')}", code, reason, causes)


def connect(kubeconfig: Optional[str] = None, context: Optional[str] = None) -> Tuple[Any, str]:
    """The official client, and the user's namespace: from the kubeconfig; in a pod without one, from the pod's
    ServiceAccount."""
    settings = kubernetes.client.Configuration()
    default = os.path.expanduser("~/.kube/config")
    kubeconfig = kubeconfig or os.environ.get("KUBECONFIG")  # now: the official client reads it when it is imported
    if kubeconfig or context or os.path.exists(default):
        try:
            kubernetes.config.load_kube_config(kubeconfig, context, settings)
            contexts, active = kubernetes.config.list_kube_config_contexts(kubeconfig)
        except kubernetes.config.ConfigException as error:
            raise NervexError(f"kubeconfig {kubeconfig or default}: {error}") from error
        chosen = next((one for one in contexts if one["name"] == context), active)
        namespace = chosen["context"].get("namespace") or "default"
    else:
        try:
            kubernetes.config.load_incluster_config(settings)
        except kubernetes.config.ConfigException as error:
            raise NervexError("no kubeconfig (KUBECONFIG, ~/.kube/config), and this is not a pod") from error
        with open(IN_CLUSTER_NAMESPACE, encoding="utf-8") as file:
            namespace = file.read().strip()
    return kubernetes.client.ApiClient(settings), namespace
