"""The logs of simulated pods: a kubelet's HTTPS endpoint that the API server asks for them."""

import collections
import contextlib
import socket
import threading
import time
import urllib.parse

from support.https_server import HttpsHandler, start_https

LONGEST = 60.0  # seconds that a followed log stays open


class FakeKubelet:
    """Answers for all simulated nodes of a cluster; see PodLogs."""

    def __init__(self, api, folder):
        self._logs, self._ended, self._epoch, self.reads = {}, set(), 0, collections.Counter()
        self._changed = threading.Condition()
        kubelet = self

        class Handler(HttpsHandler):
            def do_GET(self):
                with contextlib.suppress(OSError):
                    kubelet.answer(self)

        self._server = start_https(Handler, folder)
        for node in api.get("/api/v1/nodes")["items"]:
            api.call("PATCH", f"/api/v1/nodes/{node['metadata']['name']}/status", {"status": {
                "daemonEndpoints": {"kubeletEndpoint": {"Port": self._server.server_port}}}}, "application/merge-patch+json")

    def close(self):
        self.cut()
        self._server.shutdown()
        self._server.server_close()

    def write(self, pod, *lines):
        with self._changed:
            now = time.time()
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e9):09d}Z"
            self._logs.setdefault(pod, []).extend((stamp, line) for line in lines)
            self._changed.notify_all()

    def end(self, pod):
        with self._changed:
            self._ended.add(pod)
            self._changed.notify_all()

    def cut(self):
        with self._changed:
            self._epoch += 1
            self._changed.notify_all()

    def answer(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        pod, since = tuple(url.path.split("/")[2:4]), query.get("sinceTime", "")[:19]
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        with self._changed:
            self.reads[pod] += 1
            sent, epoch, deadline = 0, self._epoch, time.monotonic() + LONGEST
        while True:
            with self._changed:
                lines = self._logs.get(pod, [])
                if sent == len(lines) and query.get("follow") and pod not in self._ended and epoch == self._epoch:
                    if self._changed.wait(max(0, deadline - time.monotonic())):
                        continue
                if epoch != self._epoch:
                    return handler.connection.shutdown(socket.SHUT_RDWR)  # without the last chunk
                new, sent = lines[sent:], len(lines)
            for stamp, line in new:
                if stamp[:19] >= since:
                    data = f"{stamp} {line}\n".encode()
                    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            if not new:
                return handler.wfile.write(b"0\r\n\r\n")


class PodLogs:
    """The logs of one namespace's pods, by the pod's name."""

    def __init__(self, kubelet, namespace):
        self._kubelet, self._namespace = kubelet, namespace

    def write(self, pod, *lines):
        self._kubelet.write((self._namespace, pod), *lines)

    def end(self, pod):
        """The log is complete: requests that follow it end."""
        self._kubelet.end((self._namespace, pod))

    def cut(self):
        """Breaks all connections."""
        self._kubelet.cut()

    def is_followed(self, pod):
        """Whether the log was requested."""
        return self._kubelet.reads[self._namespace, pod] > 0
