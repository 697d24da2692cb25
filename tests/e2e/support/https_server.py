"""An HTTPS server of this process on loopback, with a certificate of its own, for what the API server asks others."""

import http.server
import os
import ssl
import subprocess
import threading


class HttpsHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


def start_https(handler, folder):
    """Serves in the background; end it with shutdown() and server_close(). `folder`: for its certificate."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*make_certificate(folder))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


def make_certificate(folder):
    key, certificate = os.path.join(folder, "server.key"), os.path.join(folder, "server.crt")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=localhost", "-days", "1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    return certificate, key
