"""The coordinator's half of the exchange with its workers: it connects to each, gives it tasks, takes in the results and
the heartbeats, and lets it go. A small model of what RL programs do over HTTP; worker.py is the other half.

  coordinator -> worker   POST /connect {"coordinator": "host:port"}, POST /task {"id", "data"}, DELETE /connect
  worker -> coordinator   GET /heartbeat?worker=NAME once a second, PUT /task {"id", "worker", "result"}
"""

import http.client
import http.server
import json
import re
import threading
import time
import urllib.parse

CONNECT_PATIENCE = 120.0  # seconds for each address, one after another, as the RL framework's client has it
TASK_PATIENCE = 30.0


class ExchangeError(Exception):
    """One sentence: which worker, and what it did not do."""


def call(address, method, path, body=None, timeout=5.0):
    """The decoded answer of `host:port`; OSError or ExchangeError if there is none, or no good one."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
    except http.client.HTTPException as error:  # an answer that broke off
        raise ConnectionError(f"{address}: {error!r}") from error
    finally:
        connection.close()
    if response.status != 200:
        raise ExchangeError(f"{method} http://{address}{path}: {response.status} {text.decode(errors='replace')[:200]}")
    return json.loads(text or b"{}")


def name_of(address):
    """The pod's name, as real clients cut it out of `pod.namespace:port`."""
    return re.split("[.:]", address)[0]


class JsonHandler(http.server.BaseHTTPRequestHandler):
    """Answers with what `self.answer(method, path, query, body)` of a subclass returns: (status, value)."""

    def answer(self, method, path, query, body):
        raise NotImplementedError

    def _serve(self):
        length = int(self.headers.get("Content-Length") or 0)
        url = urllib.parse.urlsplit(self.path)
        try:
            body = json.loads(self.rfile.read(length) or b"{}")
            status, value = self.answer(self.command, url.path, dict(urllib.parse.parse_qsl(url.query)), body)
        except (KeyError, TypeError, ValueError) as error:
            status, value = 400, {"error": f"bad request: {error}"}
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # names that http.server asks for

    def log_message(self, format, *args):  # noqa: A002  its name in http.server
        """A line for each heartbeat would bury the rest."""


def serve(port, handler):
    """In threads of its own, on every address of this pod."""
    server = http.server.ThreadingHTTPServer(("0.0.0.0", port), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Exchange:
    """Of one coordinator, `address`, with the workers that it connected to."""

    def __init__(self, address, say):
        self._address, self._say = address, say
        self._changed = threading.Condition()
        self._results, self._beats = {}, {}
        self._workers, self._next = [], 0
        exchange = self

        class Handler(JsonHandler):
            def answer(self, method, path, query, body):
                if (method, path) == ("GET", "/heartbeat"):
                    return exchange._heartbeat(query["worker"])
                if (method, path) == ("PUT", "/task"):
                    return exchange._result(body["id"], body["worker"], body["result"])
                return 404, {"error": f"there is no {method} {path}"}

        self._server = serve(int(address.rpartition(":")[2]), Handler)

    def _heartbeat(self, worker):
        with self._changed:
            self._beats[worker] = self._beats.get(worker, 0) + 1
            self._changed.notify_all()
        return 200, {}

    def _result(self, task, worker, result):
        with self._changed:
            self._results[task] = (worker, result)
            self._changed.notify_all()
        return 200, {}

    def connect(self, address):
        """Tries until the name resolves and somebody answers."""
        begin, told = time.monotonic(), None
        while True:
            try:
                said = call(address, "POST", "/connect", {"coordinator": self._address})
                break
            except OSError as error:
                if time.monotonic() - begin > CONNECT_PATIENCE:
                    raise ExchangeError(f"no connection to {address}: {error}") from error
                if str(error) != told:
                    told = str(error)
                    self._say(f"{address} does not answer yet: {error}")
                time.sleep(0.5)
        self._workers.append(address)
        self._say(f"connected to {said['role']} {address} after {time.monotonic() - begin:.1f} s")

    def round(self):
        """One task for each worker; returns when every result is there and right."""
        wanted = {}
        for address in self._workers:
            self._next += 1
            data = [self._next, self._next + 1, self._next + 2]
            try:
                call(address, "POST", "/task", {"id": self._next, "data": data})
            except OSError as error:
                raise ExchangeError(f"{address} did not take task {self._next}: {error}") from error
            wanted[self._next] = (name_of(address), sum(one * one for one in data))
        self._wait(lambda: all(task in self._results for task in wanted), TASK_PATIENCE,
                   lambda: f"no result of {', '.join(name for task, (name, _) in wanted.items() if task not in self._results)}")
        for task, expected in wanted.items():
            if self._results[task] != expected:
                raise ExchangeError(f"task {task}: {self._results[task]} instead of {expected}")

    def wait_for_heartbeats(self):
        """Every worker has found this coordinator by its name."""
        def silent():
            return [one for one in self._workers if not self._beats.get(name_of(one))]
        self._wait(lambda: not silent(), TASK_PATIENCE, lambda: f"no heartbeat of {', '.join(silent())}")

    def _wait(self, done, timeout, why):
        with self._changed:
            if not self._changed.wait_for(done, timeout):
                raise ExchangeError(why())

    def disconnect(self, address):
        self._workers.remove(address)
        try:
            call(address, "DELETE", "/connect")
        except OSError as error:
            self._say(f"{address} is gone already: {error}")
            return
        self._say(f"let go of {address}")

    def close(self):
        for address in list(self._workers):
            self.disconnect(address)
        self._server.shutdown()
        self._server.server_close()

    @property
    def finished(self):
        """How many results came in."""
        return len(self._results)
