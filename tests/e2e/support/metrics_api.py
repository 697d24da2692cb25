"""The metrics API (metrics.k8s.io) of simulated pods, as the metrics server offers it: an APIService whose HTTPS server
runs here. HorizontalPodAutoscalers of the cluster read it."""

import datetime
import json
import urllib.parse

from support.https_server import HttpsHandler, start_https
from support.wait import absent, wait_for

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
SERVICE = "metrics-of-simulated-pods"
PATH = f"/apis/{GROUP}/{VERSION}"


class MetricsApi:
    """While it is open, each running pod that a caller selects uses `millicores` of a CPU."""

    def __init__(self, api, folder):
        self.api, self.millicores = api, 0
        self.asked = set()  # the label selectors that callers used
        metrics = self

        class Handler(HttpsHandler):
            def do_GET(self):
                text = json.dumps(metrics.answer(urllib.parse.urlsplit(self.path))).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.server = start_https(Handler, folder)

    def __enter__(self):
        port = self.server.server_port
        self.api.call("POST", "/api/v1/namespaces/kube-system/services", {
            "metadata": {"name": SERVICE}, "spec": {"type": "ExternalName", "externalName": "localhost"}})
        self.api.call("POST", "/apis/apiregistration.k8s.io/v1/apiservices", {
            "metadata": {"name": f"{VERSION}.{GROUP}"},
            "spec": {"group": GROUP, "version": VERSION, "groupPriorityMinimum": 100, "versionPriority": 100,
                     "insecureSkipTLSVerify": True,
                     "service": {"namespace": "kube-system", "name": SERVICE, "port": port}}})
        wait_for(self.is_available, "the metrics API to be available")
        return self

    def __exit__(self, *_):
        # Before its server ends: a group that does not answer would keep namespaces from being deleted.
        self.api.call("DELETE", f"/apis/apiregistration.k8s.io/v1/apiservices/{VERSION}.{GROUP}")
        self.api.call("DELETE", f"/api/v1/namespaces/kube-system/services/{SERVICE}")
        wait_for(self.is_gone, "the metrics API to be gone")
        self.server.shutdown()
        self.server.server_close()

    def is_available(self):
        found = self.api.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{VERSION}.{GROUP}")
        conditions = found.get("status", {}).get("conditions", [])
        return any(one["type"] == "Available" and one["status"] == "True" for one in conditions), conditions

    def is_gone(self):
        try:
            self.api.get(f"{PATH}/pods")
            return False
        except Exception as error:  # noqa: BLE001
            if absent(error):
                return True
            raise

    def answer(self, url):
        if not url.path.startswith(f"{PATH}/namespaces/"):
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{VERSION}", "resources": [
                {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]}]}
        selector = urllib.parse.parse_qs(url.query).get("labelSelector", [""])[0]
        self.asked.add(selector)
        namespace = url.path.split("/")[5]
        pods = self.api.get(f"/api/v1/namespaces/{namespace}/pods?labelSelector={urllib.parse.quote(selector)}")["items"]
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"kind": "PodMetricsList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": [
            {"metadata": {"name": pod["metadata"]["name"], "namespace": namespace, "labels": pod["metadata"].get("labels")},
             "timestamp": now, "window": "0s", "containers": [
                 {"name": container["name"], "usage": {"cpu": f"{self.millicores}m", "memory": "10Mi"}}
                 for container in pod["spec"]["containers"]]}
            for pod in pods if pod.get("status", {}).get("phase") == "Running"]}
