"""An API server in memory, over real HTTP: lists, watches with history, writes, logs, and faults."""

import contextlib
import http.server
import json
import re
import threading
import time
import urllib.parse
import uuid

import kubernetes

from support.background import wait_for

COLLECTIONS = ("nervexjobs", "podgroups", "pods", "events", "poddisruptionbudgets", "queues", "simulations", "nodes")
NAMESPACE = "rl"
JOBS = f"/apis/nervex.sensetime.com/v1alpha1/namespaces/{NAMESPACE}/nervexjobs"
GROUPS = f"/apis/nervex.sensetime.com/v1alpha1/namespaces/{NAMESPACE}/podgroups"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"


class Cut(Exception):
    """The connection breaks here."""


class FakeApi:
    """`requests`: "METHOD path?query" of each, in order; `heads`: their headers. `lie`: bytes that answer every request, or a
    function that makes them. `halves`: replies break off in the middle."""

    def __init__(self):
        self.requests, self.heads, self.lie, self.halves, self._faults = [], [], None, False, []
        self._objects, self._history, self._logs = {}, [], {}
        self._version, self._compacted, self._epoch = 100, 0, 0
        self.changed = threading.Condition()
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each reply takes 40 ms

            def log_message(self, *_):
                pass

            def do_GET(self):
                api.answer(self)

            do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that has closed its connection

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.cut()
        self._server.shutdown()
        self._server.server_close()

    def client(self):
        settings = kubernetes.client.Configuration()
        settings.host = f"http://127.0.0.1:{self._server.server_port}"
        return kubernetes.client.ApiClient(settings)

    # -- what tests do

    def put(self, path, name, uid=None, **fields):
        """Creates or changes an object; `fields` replace its top-level fields."""
        with self.changed:
            self._version += 1
            old = self._objects.get((path, name))
            metadata = {**(old or {}).get("metadata", {"uid": uid or uuid.uuid4().hex, "namespace": NAMESPACE, "name": name,
                                                       "creationTimestamp": "2026-11-21T14:00:00Z", "generation": 1}),
                        **fields.pop("metadata", {}), "resourceVersion": str(self._version)}
            if uid:
                metadata["uid"] = uid
            one = {**(old or {}), **fields, "metadata": metadata}
            self._objects[path, name] = one
            self._history.append((self._version, "MODIFIED" if old else "ADDED", path, one))
            self.changed.notify_all()
            return one

    def remove(self, path, name):
        with self.changed:
            self._version += 1
            one = self._objects.pop((path, name))
            self._history.append((self._version, "DELETED", path, {
                **one, "metadata": {**one["metadata"], "resourceVersion": str(self._version)}}))
            self.changed.notify_all()

    def get(self, path, name):
        return self._objects.get((path, name))

    def log(self, pod, *lines, end=False):
        """Adds (time, text) lines to the pod's log; `end`: it is complete, and streams end."""
        with self.changed:
            log = self._logs.setdefault(pod, {"lines": [], "end": False})
            log["lines"] += lines
            log["end"] = end
            self.changed.notify_all()

    def cut(self):
        """Breaks all connections that stream."""
        with self.changed:
            self._epoch += 1
            self.changed.notify_all()

    def compact(self):
        """Older versions than now are expired."""
        with self.changed:
            self._version += 1
            self._compacted = self._version

    def fail(self, match, status, times=1, after=False, **headers):
        """The next requests that contain `match` are answered with this status; 0: the connection breaks. `after`:
        the request has taken effect then."""
        self._faults.append({"match": match, "status": status, "times": times, "after": after, "headers": headers, "seconds": 0})

    def delay(self, match, seconds, times=1):
        """The next requests that contain `match` are answered this much later."""
        self._faults.append({"match": match, "status": None, "times": times, "after": False, "headers": {}, "seconds": seconds})

    def count_requests(self, pattern):
        return sum(bool(re.search(pattern, one)) for one in list(self.requests))

    def wait_for_request(self, pattern, more_than=0):
        """A cut() after this breaks the connection of the request, too."""
        wait_for(lambda: self.count_requests(pattern) > more_than, f"more than {more_than} requests {pattern}: {self.requests}")

    # -- how requests are answered

    def answer(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        length = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(length)) if length else None
        epoch, request = self._epoch, f"{handler.command} {handler.path}"
        self.heads.append(handler.headers)
        self.requests.append(request)
        fault = next((one for one in self._faults if one["match"] in request and one["times"] > 0), None)
        try:
            if self.lie is not None:
                return self.send_bytes(handler, 200, self.lie() if callable(self.lie) else self.lie)
            if fault:
                fault["times"] -= 1
                time.sleep(fault["seconds"])
            if fault and fault["status"] is not None:
                if fault["after"]:
                    self.serve(handler.command, url.path, query, body)
                if fault["status"] == 0:
                    raise Cut
                return self.send(handler, fault["status"], self.status(fault["status"], "injected"), fault["headers"])
            if url.path.endswith("/log"):
                return self.stream(handler, self.log_lines(url.path.split("/")[-2], query, epoch))
            if query.get("watch"):
                return self.stream(handler, self.events(url.path, query, epoch))
            code, body = self.serve(handler.command, url.path, query, body)
            if self.halves:
                self.send_half(handler, json.dumps(body).encode())
            self.send(handler, code, body)
        except (Cut, OSError):
            handler.close_connection = True
            with contextlib.suppress(OSError):
                handler.connection.shutdown(2)

    def serve(self, method, path, query, body):
        folder, _, name = path.rpartition("/")
        with self.changed:
            if method == "POST":
                metadata = body.get("metadata") or {}
                name = metadata.get("name") or metadata.get("generateName", "") + uuid.uuid4().hex[:5]
                body = {**body, "metadata": {**metadata, "name": name}}
                if (path, name) in self._objects:
                    return 409, self.status(409, f"{name} exists", "AlreadyExists")
                if body.get("spec", {}).get("cleanPodPolicy") == "hello":
                    return 422, self.status(422, "is invalid", "Invalid", [
                        {"field": "spec.cleanPodPolicy", "message": "Unsupported value"}])
                if query.get("dryRun"):
                    return 201, {**body, "metadata": {**body["metadata"], "uid": uuid.uuid4().hex, "namespace": NAMESPACE}}
                return 201, self.put(path, name, **body)
            if name in COLLECTIONS or method == "GET" and path.endswith(COLLECTIONS):
                wanted = query.get("fieldSelector", "").partition("metadata.name=")[2]
                items = [one for (where, each), one in sorted(self._objects.items())
                         if where == path and wanted in ("", each)]
                return 200, {"metadata": {"resourceVersion": str(self._version)}, "items": items}
            found = self._objects.get((folder, name))
            if not found:
                return 404, self.status(404, f"{name} not found", "NotFound")
            uid = (body or {}).get("preconditions", {}).get("uid") or (body or {}).get("metadata", {}).get("uid")
            if uid and uid != found["metadata"]["uid"]:
                return 409, self.status(409, "uid differs", "Conflict")
            if method == "DELETE":
                self.remove(folder, name)
            if method == "PATCH":
                return 200, self.put(folder, name, spec=merge(found.get("spec", {}), body.get("spec", {})))
            return 200, found

    def events(self, path, query, epoch):
        wanted = query.get("fieldSelector", "").partition("metadata.name=")[2]
        seen = int(query["resourceVersion"])
        if seen < self._compacted:
            yield json.dumps({"type": "ERROR", "object": self.status(410, "too old", "Expired")})
            return
        yield from map(json.dumps, self.follow(epoch, float(query.get("timeoutSeconds", 300)), lambda: [
            (version, {"type": kind, "object": one}) for version, kind, where, one in self._history
            if where == path and wanted in ("", one["metadata"]["name"])], seen))

    def log_lines(self, pod, query, epoch):
        since = query.get("sinceTime", "")[:19]
        log = self._logs.setdefault(pod, {"lines": [], "end": False})
        yield from self.follow(epoch, 60, lambda: [
            (number, f"{when} {text}") for number, (when, text) in enumerate(log["lines"], 1) if when[:19] >= since], 0,
            lambda: log["end"] or "follow" not in query)

    def follow(self, epoch, seconds, read, seen, ended=lambda: False):
        """Items of `read` with a number above `seen`, as they come."""
        deadline = time.monotonic() + seconds
        while True:
            with self.changed:
                if self._epoch != epoch:
                    raise Cut
                found = [(number, item) for number, item in read() if number > seen]
                if not found:
                    if ended() or not self.changed.wait(max(0, deadline - time.monotonic())):
                        return
                    continue
            for seen, item in found:
                yield item

    @staticmethod
    def stream(handler, lines):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for line in lines:
            data = line.encode() + b"\n"
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        handler.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def send_half(handler, data):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:len(data) // 2])
        raise Cut

    @staticmethod
    def send(handler, code, body, headers=None):
        FakeApi.send_bytes(handler, code, json.dumps(body).encode(), headers)

    @staticmethod
    def send_bytes(handler, code, data, headers=None):
        handler.send_response(code)
        for name, value in (headers or {}).items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    @staticmethod
    def status(code, message, reason="", causes=()):
        return {"kind": "Status", "code": code, "message": message, "reason": reason, "details": {"causes": list(causes)}}


def merge(old, new):
    merged = dict(old)
    for name, value in new.items():
        merged[name] = merge(old.get(name) or {}, value) if isinstance(value, dict) else value
    return merged
