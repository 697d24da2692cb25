"""A small client of the Kubernetes API as administrator: JSON over one HTTPS connection per call.
The scripts need a dozen calls, and starting kubectl for each would take longer than the calls."""

import http.client
import json
import ssl
import urllib.parse

import yaml


class ApiError(Exception):
    def __init__(self, status, method, path, body):
        super().__init__(f"{method} {path}: {status} {body.get('message', body)}")
        self.status = status
        self.body = body


class Api:
    """`kubeconfig` must use client certificate files, as the one that kwokctl writes does."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        context = next(c["context"] for c in config["contexts"] if c["name"] == config["current-context"])
        cluster = next(c["cluster"] for c in config["clusters"] if c["name"] == context["cluster"])
        user = next(u["user"] for u in config["users"] if u["name"] == context["user"])
        self.server = cluster["server"]
        self.certificate_authority = cluster["certificate-authority"]
        self._address = urllib.parse.urlsplit(self.server)
        self._tls = ssl.create_default_context(cafile=self.certificate_authority)
        self._tls.load_cert_chain(user["client-certificate"], user["client-key"])

    def connect(self, timeout=30.0):
        return http.client.HTTPSConnection(
            self._address.hostname, self._address.port, context=self._tls, timeout=timeout)

    def call(self, method, path, body=None, content_type="application/json"):
        """The decoded answer; ApiError for any status except 2xx; text that is not JSON is returned as a str."""
        connection = self.connect()
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": content_type, "Accept": "application/json, */*"})
            response = connection.getresponse()
            text = response.read().decode("utf-8")
        finally:
            connection.close()
        is_json = response.getheader("Content-Type", "").startswith("application/json")
        answer = json.loads(text) if is_json else text
        if response.status // 100 != 2:
            raise ApiError(response.status, method, path, answer if is_json else {"message": text})
        return answer

    def watch(self, path, timeout=30.0):
        """The events of a watch, one dict each, until the API server ends it. OSError or HTTPException if
        the connection breaks or nothing came for `timeout` seconds."""
        connection = self.connect(timeout)
        try:
            connection.request("GET", path, headers={"Accept": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise ApiError(response.status, "GET", path, {"message": response.read().decode("utf-8", "replace")})
            while line := response.readline():
                yield json.loads(line)
        finally:
            connection.close()

    def changes(self, path, version, stop, query=""):
        """The events of the collection at `path` from that version on, over as many watches as it takes, until `stop`, an
        Event, is set; no bookmarks. ValueError if the API server cannot continue, else as watch(): some may be missed."""
        while not stop.is_set():
            target = f"{path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=300{query}"
            for event in self.watch(target, 310):
                if stop.is_set():
                    return
                if event["type"] == "ERROR":
                    raise ValueError(event["object"])
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    yield event

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body):
        return self.call("POST", path, body)

    def patch(self, path, body):
        return self.call("PATCH", path, body, "application/merge-patch+json")
