"""One address for several replicas of a program, like a Service: each connection goes to the next replica, without
client affinity, which is the harder case. Replicas that do not answer are skipped."""

import contextlib
import itertools
import socket
import socketserver
import threading
from urllib.parse import urlsplit


class Balancer:
    """Serves from construction to close(); clients use .url."""

    def __init__(self, urls):
        self.addresses = [(urlsplit(url).hostname, urlsplit(url).port) for url in urls]
        self.taken = {address: 0 for address in self.addresses}  # connections that went there
        self._turns = itertools.cycle(self.addresses)
        self._lock = threading.Lock()
        balancer = self

        class Relay(socketserver.BaseRequestHandler):
            def handle(self):
                balancer._relay(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Relay)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _next(self):
        """A connection to the next replica; None if none answers."""
        for _ in self.addresses:
            with self._lock:
                address = next(self._turns)
            with contextlib.suppress(OSError):
                connection = socket.create_connection(address, timeout=5)
                connection.settimeout(None)
                with self._lock:
                    self.taken[address] += 1
                return connection
        return None

    def _relay(self, client):
        server = self._next()
        if server is None:
            return
        with server:
            back = threading.Thread(target=pump, args=(server, client), daemon=True)
            back.start()
            pump(client, server)
            back.join()


def pump(source, sink):
    """Relays bytes until one side has closed."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
