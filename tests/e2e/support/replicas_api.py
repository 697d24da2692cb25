"""nervex-server as a client sees it: plain HTTP, no abstraction."""

import http.client
import json
import urllib.parse


class Reply:
    def __init__(self, status, text, content_type):
        self.status, self.text, self.content_type = status, text, content_type

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def data(self):
        return self.json["data"]

    def __repr__(self):
        return f"{self.status} {self.text}"


class ReplicasApi:
    """Calls as one coordinator would make them."""

    PATH = "/v1alpha1/replicas"
    FAILED = PATH + "/failed"

    def __init__(self, url):
        self.address = urllib.parse.urlsplit(url).netloc

    def call(self, method, path=PATH, body=None, headers=None, **query):
        """`body` is sent as JSON, or unchanged if it is text. Without a Content-Type unless given."""
        if query:
            path += "?" + urllib.parse.urlencode(query)
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            connection.request(method, path, text, headers or {})
            response = connection.getresponse()
            return Reply(response.status, response.read().decode(), response.headers.get("Content-Type"))
        finally:
            connection.close()

    def get(self, **query):
        return self.call("GET", **query)

    def add(self, namespace, coordinator, **groups):
        """add("rl", "dqn-coordinator", collectors=2, learners={"replicas": 1, "gpus": 1})"""
        return self.call("POST", body=body_of(namespace, coordinator, groups))

    def remove(self, namespace, coordinator, **groups):
        """remove("rl", "dqn-coordinator", collectors=1)"""
        return self.call("DELETE", body=body_of(namespace, coordinator, groups))

    def replace(self, namespace, coordinator, **names):
        """replace("rl", "dqn-coordinator", collectors=["dqn-collector-x2b7k"], learners=[url])"""
        return self.call("POST", self.FAILED, {"namespace": namespace, "coordinator": coordinator, **names})


def body_of(namespace, coordinator, groups):
    groups = {role: {"replicas": ask} if isinstance(ask, int) else ask for role, ask in groups.items()}
    return {"namespace": namespace, "coordinator": coordinator, **groups}


def pod_of(url):
    """"<pod>.<namespace>:<port>" as the client parses it."""
    return url.split(".")[0]
