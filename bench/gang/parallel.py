"""Many requests to the API server at once, each thread over a connection that it keeps."""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor

from tools.base.console import Failure


class Requests:
    def __init__(self, api, workers):
        self._api, self._workers, self._local = api, workers, threading.local()

    def send_all(self, requests, allowed=()):
        """Sends [(method, path, body)] in this order, several at a time. Error statuses in `allowed` pass. Failure
        at the first request that is refused or gets no answer."""
        with ThreadPoolExecutor(self._workers) as pool:
            list(pool.map(lambda one: self._send(*one, allowed), requests))

    def _send(self, method, path, body, allowed):
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._api.connect(timeout=120)
        try:
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            connection.request(method, path, body, {"Content-Type": kind})
            reply = connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException) as error:
            self._local.connection = None
            connection.close()
            raise Failure(f"{method} {path}: {error!r}") from error
        if reply.status // 100 != 2 and reply.status not in allowed:
            raise Failure(f"{method} {path}: {reply.status} {text.decode('utf-8', 'replace')[:500]}")


def create(path, one):
    """The body as text, so that nothing is encoded during the measurement."""
    return "POST", path, json.dumps(one).encode()


def delete(path, options=None):
    return "DELETE", path, json.dumps(options or {}).encode()
