"""Hostile objects by the hundred megabytes: of each kind that a program of ours lists and that a user with the role `edit`
may create, the ones that cost the most memory for the bytes that they take in the API server."""

import concurrent.futures
import http.client
import itertools
import json
import ssl
import threading
import urllib.parse

import yaml

from support.jobs import GROUP, VERSION, job

MB = 1 << 20
CUSTOM, CORE = f"apis/{GROUP}/{VERSION}", "api/v1"
NAME = "hostile-name"  # replaced in the text of each object
MOST_REFUSALS = 8


def pod(scheduler, meta=None, main=None, **spec):
    """With a gate, so that it is not planned."""
    return "pods", CORE, {"metadata": {"name": NAME, **(meta or {})}, "spec": {
        "schedulerName": scheduler, "schedulingGates": [{"name": "example.com/gate"}],
        "containers": [{"name": "main", "image": "i", **(main or {})}], **spec}}


def suspended_job():
    body = job(NAME, suspend=True)
    body["spec"]["collector"]["template"]["spec"]["containers"][0]["args"] = [""] * 150_000
    return "nervexjobs", CUSTOM, body


def waiting_job(tolerations):
    """Its PodGroup repeats them."""
    body = job(NAME)
    body["spec"]["coordinator"]["template"]["spec"].update(tolerations=tolerating(tolerations), nodeSelector={"no": "node"})
    return "nervexjobs", CUSTOM, body


def vast_job():
    return "nervexjobs", CUSTOM, job_of_pods(NAME, 5_000)


def job_of_pods(name, pods):
    """It fits no node. One pod is the coordinator, another one the aggregator."""
    body = job(name)
    body["spec"]["collector"]["replicas"] = min(pods - 2, 4_000)
    body["spec"]["learner"]["replicas"] = pods - 2 - body["spec"]["collector"]["replicas"]
    for role in ("coordinator", "collector", "learner"):
        body["spec"][role]["template"]["spec"]["nodeSelector"] = {"no": "node"}
    return body


def simulation():
    return "simulations", CUSTOM, {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Simulation", "metadata": {"name": NAME},
                                   "spec": {"job": {"x": [{}] * 400_000}}}


def tolerating(count):
    return [{"key": f"k{i}", "operator": "Exists"} for i in range(count)]


def with_affinity(count):
    terms = [{"matchExpressions": [{"key": f"k{i}", "operator": "Exists"}]} for i in range(count)]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def host_ports(count):
    return {"ports": [{"containerPort": 1 + i, "hostPort": 1 + i} for i in range(count)]}


def plain(plural, spec, labels=None):
    meta = {"name": NAME, "annotations": LONG, "labels": {**LABELS, **(labels or {})}}
    return plural, CORE, {"metadata": meta, "spec": spec}


OURS = "nervex-scheduler"
OUR_LABEL = {"group-name": GROUP}
LABELS = {f"k{i}": "" for i in range(60_000)}
LONG = {f"example.com/{i}": "x" * 25_000 for i in range(10)}
CLAIM = {"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}

# What makes (plural, group and version, object) of each kind.
KINDS = {
    "suspended jobs of empty arguments": suspended_job,
    "jobs that wait with tolerations": lambda: waiting_job(800),
    "jobs of 5,000 pods": vast_job,
    "pods with 20,000 tolerations": lambda: pod(OURS, tolerations=tolerating(20_000)),
    "pods with 2,000 tolerations": lambda: pod(OURS, tolerations=tolerating(2_000)),
    "pods with node affinity": lambda: pod(OURS, affinity=with_affinity(20_000)),
    "pods with host ports": lambda: pod("other", main=host_ports(40_000)),
    "pods of empty arguments": lambda: pod("other", main={"args": [""] * 400_000}),
    "pods with annotations": lambda: pod("other", {"annotations": LONG, "labels": OUR_LABEL}),
    "pods with labels": lambda: pod("other", {"labels": {**LABELS, **OUR_LABEL}}),
    "Simulations": simulation,
    "claims": lambda: plain("persistentvolumeclaims", CLAIM),
    "services": lambda: plain("services", {"ports": [{"port": 1}], "clusterIP": "None"}, OUR_LABEL),
}


class Caller:
    """Posts texts as a user, over one connection."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        cluster = config["clusters"][0]["cluster"]
        self.address = urllib.parse.urlsplit(cluster["server"])
        self.tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self.headers = {"Content-Type": "application/json", "Authorization": "Bearer " + config["users"][0]["user"]["token"]}
        self.connection = None

    def post(self, path, text):
        """(status, the beginning of the answer); status 0: no answer."""
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(
                self.address.hostname, self.address.port, context=self.tls, timeout=60)
        try:
            self.connection.request("POST", path, text.encode(), self.headers)
            reply = self.connection.getresponse()
            return reply.status, reply.read()[:600].decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            self.connection = None
            return 0, str(error)


class Fill:
    """Objects of one kind with so many bytes of JSON, created by some threads at once."""

    def __init__(self, user, kind, size):
        plural, group, body = KINDS[kind]()
        self.kubeconfig, self.path = user.kubeconfig, user.path(plural, group=group)
        self.text = json.dumps(body, separators=(",", ":"))
        self.prefix = "".join(one for one in kind.lower() if one.isalnum())[:40]
        self.numbers = itertools.count()
        self.wanted = max(1, size // len(self.text))
        self.stored, self.refusals = 0, []
        self.lock = threading.Lock()

    def run(self, threads=4):
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for one in [pool.submit(self.work) for _ in range(threads)]:
                one.result()
        return self

    def work(self):
        caller = Caller(self.kubeconfig)
        while (number := next(self.numbers)) < self.wanted and len(self.refusals) < MOST_REFUSALS:
            status, said = self.create(caller, f"{self.prefix}-{number}")
            with self.lock:
                if status in (201, 409):  # 409: the answer to an earlier try was lost
                    self.stored += 1
                else:
                    self.refusals.append((status, said))

    def create(self, caller, name):
        for _ in range(6):
            status, said = caller.post(self.path, self.text.replace(NAME, name, 1))
            if status not in (0, 429, 500, 503, 504):
                break
        return status, said

    @property
    def size(self):
        return self.stored * len(self.text)
