"""The webhooks that are compared, and the stand-in for an API server that ours asks."""

import json
import re
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPENAPI = ROOT / "schemas/pod-template.json"
DRY_RUNS = ["--dry-run-namespace", "nervex-system"]
# Each question to the cluster that has a flag is off.
ALONE = ["--dry-run-namespace", "", "--pod-access", "off", "--capacity", "off"]
NODES = 1_000


class Setup:
    """The folders and files that all of them need."""

    def __init__(self, folder, ours, peers):
        self.folder, self.ours, self.peers = Path(folder), Path(ours), Path(peers)
        self.ca, self.key = self.folder / "tls.crt", self.folder / "tls.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", self.key, "-out", self.ca], check=True, capture_output=True)
        self.schema = self.folder / "schema.json"
        self.schema.write_text(json.dumps(job_schema()), encoding="utf-8")
        self.kubeconfig = self.folder / "kubeconfig"

    def point_to(self, cluster):
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{cluster.port}",
                                                   "certificate-authority": str(self.ca)}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}), encoding="utf-8")


class Program:
    """Runs until the end of a with block."""

    def __init__(self, setup, name, command):
        self.name, self.port = name, free_port()
        self._log = setup.folder / f"{name}.log"
        self._command = [str(part) for part in command(self.port)]
        self._ca = setup.ca

    def __enter__(self):
        with self._log.open("w") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not self._serves():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise SystemExit(f"error: {self.name} does not serve:\n{self._log.read_text()[-2000:]}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _serves(self):
        probe = b"GET /counts HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n"
        try:
            return bool(self.exchange(probe)) and not self.is_waiting()
        except OSError:
            return False

    def is_waiting(self):
        """Ours answers reviews after it has read the cluster's OpenAPI, which it logs."""
        return "nervex-webhook" in self._command[0] and "loaded the cluster's OpenAPI" not in self._log.read_text()

    def exchange(self, request):
        context = ssl.create_default_context(cafile=self._ca)
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as plain, \
                context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(request)
            reply = b""
            while piece := connection.recv(65536):
                reply += piece
            return reply

    def cpu_seconds(self):
        """User and system time of all threads, including ended ones."""
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def memory_mib(self):
        """(resident now, peak)"""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return tuple(int(re.search(rf"{key}:\s+(\d+)", status).group(1)) / 1024 for key in ("VmRSS", "VmHWM"))


def cluster(setup):
    return Program(setup, "cluster", lambda port: [setup.peers / "cluster", "-port", port, "-cert-dir", setup.folder,
                                                   "-openapi", OPENAPI, "-nodes", NODES])


def nervex(setup, name, flags):
    return Program(setup, name, lambda port: [
        setup.ours / "nervex-webhook", "--kubeconfig", setup.kubeconfig, "--listen", f"127.0.0.1:{port}",
        "--metrics-listen", "127.0.0.1:0", "--tls-cert-file", setup.ca, "--tls-key-file", setup.key, *flags])


def typed(setup):
    return Program(setup, "typed", lambda port: [setup.peers / "typed", "-port", port, "-cert-dir", setup.folder])


def openapi(setup):
    return Program(setup, "openapi", lambda port: [setup.peers / "openapi", "-port", port, "-cert-dir", setup.folder,
                                                   "-schema", setup.schema])


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


# ---- the schema, as a CRD has it that describes its templates: without references

PARTS = {"coordinator": ("coordinator", "template"), "collector": ("collector", "template"),
         "learner": ("learner", "template")}


def job_schema():
    schemas = json.loads(OPENAPI.read_text(encoding="utf-8"))["components"]["schemas"]
    schema = json.loads((ROOT / "schemas/nervexjob.json").read_text(encoding="utf-8"))
    spec = schema["properties"]["spec"]["properties"]
    for role, member in PARTS.values():
        spec[role]["properties"][member] = expand({"$ref": "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec"},
                                                  schemas)
    spec["volumes"]["items"] = expand({"$ref": "#/components/schemas/io.k8s.api.core.v1.Volume"}, schemas)
    return without(schema, ("description", "default", "x-kubernetes-validations"))


def expand(schema, schemas):
    if isinstance(schema, list):
        return [expand(one, schemas) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return expand(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    if len(schema.get("allOf", ())) == 1:
        return expand(schema["allOf"][0], schemas)
    return {key: expand(value, schemas) for key, value in schema.items()}


def without(schema, keywords, is_named=False):
    """`is_named`: its keys are field names."""
    if isinstance(schema, list):
        return [without(one, keywords) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without(value, keywords, key == "properties" and not is_named) for key, value in schema.items()
            if is_named or key not in keywords}
