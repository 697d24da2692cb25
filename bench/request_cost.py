#!/usr/bin/env python3
"""What does a request cost a build of the programs, compared with another build?

    bench/request_cost.py before=OLD/bin now=build/release/bin

Starts nervex-webhook, nervex-extender and nervex-server of each build against an API server that has nothing but the
OpenAPI document, and sends them small and large requests as their callers do, one after the other, on one kept
connection each. In interleaved rounds: the program's CPU time for each request (its process clock: user and system, all
threads) and the caller's latency. Programs have one processor and the caller another: sharing one, or not, makes a
factor of two and stays so for the life of a process. With --instructions N also the instructions for each of N
requests, counted once by valgrind's callgrind: exact where time is noisy, but without the system's part. What the
webhook would ask the API server is switched off. Prints a table and one JSON line; ratios are to the build named first,
medians of the rounds.
"""

import argparse
import http.server
import json
import os
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

OPENAPI = Path(__file__).resolve().parent.parent / "schemas/pod-template.json"
STATUS = b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no"}'
PROGRAMS = ("webhook", "extender", "server")
WARM_UP = 50
PROCESSORS = sorted(os.sched_getaffinity(0))  # the first one is the caller's, the last one the programs'
QUIET_WEBHOOK = ["--dry-run-namespace", "", "--pod-access", "off", "--capacity", "off"]


def main():
    options = parse_options()
    os.sched_setaffinity(0, {PROCESSORS[0]})
    with tempfile.TemporaryDirectory() as folder, ApiServer() as api:
        files = Files(Path(folder), api.port)
        kinds = [kind for kind in request_kinds() if kind.program in options.programs]
        measured = {kind.name: {build: Figures() for build, _ in options.builds} for kind in kinds}
        for program in options.programs:
            own = [kind for kind in kinds if kind.program == program]
            if options.rounds:
                measure_times(options, files, program, own, measured)
            if options.instructions:
                for build, binaries in options.builds:
                    count_instructions(options, files, program, own, (build, binaries), measured)
    report(options, measured)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", metavar="NAME=FOLDER", type=lambda text: tuple(text.split("=", 1)),
                        help="folders with the programs; the first is what the others are compared with")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--rounds", type=int, default=61, help="0: no times")
    parser.add_argument("--calls", type=int, default=300, help="per round and kind of request; a tenth of large ones")
    parser.add_argument("--instructions", type=int, default=0, metavar="N", help="0: they are not counted")
    parser.add_argument("--keep", type=Path, help="folder for callgrind's files, for callgrind_annotate")
    return parser.parse_args()


# ---- what is sent


class Kind:
    def __init__(self, program, name, head, body="", share=1.0):
        self.program, self.name, self.share = program, name, share
        if body:
            head += f"Content-Length: {len(body)}\r\n"
        request = (head + "\r\n" + body).encode()
        # Go's net/http writes what is longer than its buffer of 4 KiB in two pieces.
        self.pieces = [piece for piece in (request[:4096], request[4096:]) if piece]


def request_kinds():
    """With the headers that kube-apiserver, kube-scheduler and a coordinator send."""
    review = ("Host: nervex-webhook.nervex-system.svc:443\r\nUser-Agent: kube-apiserver-admission\r\n"
              "Accept: application/json, */*\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n")
    scheduler = ("Host: 127.0.0.1:8888\r\nUser-Agent: Go-http-client/1.1\r\nContent-Type: application/json\r\n"
                 "Accept-Encoding: gzip\r\n")
    coordinator = ("Host: nervex-server.nervex-system:8080\r\nUser-Agent: python-requests/2.32.3\r\n"
                   "Accept-Encoding: gzip, deflate\r\nAccept: */*\r\nConnection: keep-alive\r\n")
    mutate = f"POST /mutate-nervex-sensetime-com-v1alpha1-nervexjob HTTP/1.1\r\n{review}"
    validate = f"POST /validate-nervex-sensetime-com-v1alpha1-nervexjob HTTP/1.1\r\n{review}"
    filter_pod = f"POST /filter HTTP/1.1\r\n{scheduler}"
    list_replicas = f"GET /v1alpha1/replicas?namespace=team-a HTTP/1.1\r\n{coordinator}"
    return [
        Kind("webhook", "mutate, 4 kB", mutate, review_of(4_200)),
        Kind("webhook", "validate, 4 kB", validate, review_of(4_200)),
        Kind("webhook", "validate, 250 kB", validate, review_of(250_000), 0.1),
        Kind("extender", "filter, 1 node", filter_pod, filter_args(1)),
        Kind("extender", "filter, 750 nodes", filter_pod, filter_args(750)),
        Kind("server", "list replicas", list_replicas),
    ]


def pod_spec(size):
    one = len('{"name":"VARIABLE_1000","value":"what it is set to"},')
    variables = [{"name": f"VARIABLE_{1000 + i}", "value": "what it is set to"} for i in range(size // one)]
    return {"containers": [{"name": "nervex-container", "image": "registry.example/image:v1", "env": variables,
                            "resources": {"limits": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}},
                            "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
            "volumes": [{"name": "data", "emptyDir": {}}]}


def review_of(size):
    kind = {"group": "nervex.sensetime.com", "version": "v1alpha1", "kind": "NerveXJob"}
    job = {"apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob",
           "metadata": {"name": "dqn", "namespace": "team-a"},
           "spec": {"aggregator": "OnDemand", "coordinator": {"template": {"spec": pod_spec(size - 900)}}}}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": kind, "name": "dqn", "namespace": "team-a",
        "operation": "CREATE", "userInfo": {"username": "admin", "groups": ["system:authenticated"]},
        "object": job, "oldObject": None, "dryRun": False}}, separators=(",", ":"))


def filter_args(nodes):
    pod = {"metadata": {"name": "worker-0", "namespace": "team-a", "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
                        "labels": {"app": "worker"}}, "spec": pod_spec(2_500)}
    names = [f"node-{i:05}.cluster.example" for i in range(nodes)]
    return json.dumps({"Pod": pod, "Nodes": None, "NodeNames": names}, separators=(",", ":"))


# ---- what the programs need


class ApiServer:
    """Every list is empty, every watch is silent; writes are accepted and discarded."""

    def __enter__(self):
        document = OPENAPI.read_bytes()
        ended = self.ended = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if self.path.startswith("/openapi/v3/api/v1"):
                    self.reply(200, document)
                elif "sendInitialEvents=" in self.path:
                    self.reply(422, STATUS)  # as an API server that does not know streaming lists
                elif "watch=" in self.path:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.end_headers()
                    ended.wait()
                    self.close_connection = True
                elif "/leases/" in self.path:
                    self.reply(404, STATUS)
                else:
                    self.reply(200, b'{"kind":"List","metadata":{"resourceVersion":"1"},"items":[]}')

            def do_POST(self):
                written = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                written.get("metadata", {})["resourceVersion"] = "1"
                self.reply(201 if self.command == "POST" else 200, json.dumps(written).encode())

            do_PUT = do_PATCH = do_POST

            def reply(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()


class Files:
    """The programs' input files and logs."""

    def __init__(self, folder, api_port):
        self.folder, self.logs = folder, 0
        self.kubeconfig, self.cert, self.key = folder / "kubeconfig", folder / "tls.crt", folder / "tls.key"
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{api_port}"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", self.key, "-out", self.cert], check=True, capture_output=True)

    def new_log(self, program):
        self.logs += 1
        return self.folder / f"{program}-{self.logs}.log"


class Program:
    def __init__(self, files, program, binaries, under=()):
        self.log = files.new_log(program)
        self.tls = ssl.create_default_context(cafile=files.cert) if program == "webhook" else None
        command = [*under, str(Path(binaries).resolve() / f"nervex-{program}"), "--kubeconfig", str(files.kubeconfig),
                   "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]
        if self.tls:
            command += ["--tls-cert-file", str(files.cert), "--tls-key-file", str(files.key), *QUIET_WEBHOOK]
        plain = {name: value for name, value in os.environ.items() if not name.startswith("NERVEX_")}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=plain, cwd=files.folder,
                                            preexec_fn=lambda: os.sched_setaffinity(0, {PROCESSORS[-1]}))
        self.pid = self.process.pid
        deadline = time.monotonic() + 300
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                sys.exit(f"{command} is not ready: {self.log.read_text()[-2000:]}")
            time.sleep(0.1)
        self.connection = self.connect()

    def logged(self, key):
        found = re.search(rf" {key}=(\d+)", self.log.read_text())
        return int(found.group(1)) if found else 0

    def is_ready(self):
        port = self.logged("metrics_port")
        if not port:
            return False
        with socket.create_connection(("127.0.0.1", port), timeout=60) as ops:
            ops.sendall(b"GET /readyz HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
            return ops.recv(4096).startswith(b"HTTP/1.1 200")

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.logged("port")), timeout=120)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.tls.wrap_socket(connection, server_hostname="127.0.0.1") if self.tls else connection

    def call(self, kind):
        """Returns the seconds that it took."""
        started = time.perf_counter()
        for piece in kind.pieces:
            self.connection.sendall(piece)
        reply = self.connection.recv(65536)
        head, _, body = reply.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if not head.startswith(b"HTTP/1.1 200") or not length:
            sys.exit(f"{kind.name}: answered {reply[:300]!r}")
        left = int(length.group(1)) - len(body)
        while left > 0:
            left -= len(self.connection.recv(65536))
        return time.perf_counter() - started

    def cpu_seconds(self):
        """CPU time of the whole process, including ended threads: clock_getcpuclockid(3)."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def stop(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait()


# ---- measuring


class Figures:
    def __init__(self):
        self.cpu_us, self.p50_us, self.p99_us, self.instructions = [], [], [], None


def measure_times(options, files, program, kinds, measured):
    running = {build: Program(files, program, binaries) for build, binaries in options.builds}
    for kind in kinds:
        for started in running.values():
            for _ in range(WARM_UP):
                started.call(kind)
    for number in range(options.rounds):
        for kind in kinds:
            # Forth and back: none is always the first.
            for build in list(running)[:: -1 if number % 2 else 1]:
                one_round(options, running[build], kind, measured[kind.name][build])
    for started in running.values():
        started.stop()


def one_round(options, program, kind, figures):
    calls = max(int(options.calls * kind.share), 10)
    before = program.cpu_seconds()
    took = sorted(program.call(kind) for _ in range(calls))
    figures.cpu_us.append((program.cpu_seconds() - before) / calls * 1e6)
    figures.p50_us.append(took[calls // 2] * 1e6)
    figures.p99_us.append(took[calls * 99 // 100] * 1e6)


def count_instructions(options, files, program, kinds, build, measured):
    name, binaries = build
    out = files.folder / f"callgrind.{program}.{name}"
    started = Program(files, program, binaries, ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"])
    for number, kind in enumerate(kinds, start=1):
        calls = max(int(options.instructions * kind.share), 3)
        for _ in range(max(int(WARM_UP * kind.share), 3)):
            started.call(kind)
        callgrind_control(files, "--zero", started.pid)
        for _ in range(calls):
            started.call(kind)
        callgrind_control(files, "--dump", started.pid)
        dumped = Path(f"{out}.{number}")
        total = re.search(r"^(?:totals|summary): (\d+)", dumped.read_text(), re.MULTILINE)
        measured[kind.name][name].instructions = int(total.group(1)) / calls
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(dumped, options.keep / f"{name}-{kind.name.replace(', ', '-').replace(' ', '-')}")
    started.stop()


def callgrind_control(files, what, pid):
    subprocess.run(["callgrind_control", what, str(pid)], check=True, capture_output=True, cwd=files.folder)


# ---- the report


def report(options, measured):
    print(f"{'request':<19}{'build':<9}{'CPU us':>9}{'range':>16}{'ratio':>7}{'p50 us':>9}{'ratio':>7}{'p99 us':>9}"
          f"{'instructions':>14}{'ratio':>7}")
    result = {}
    for kind, by_build in measured.items():
        base = by_build[options.builds[0][0]]
        for build, figures in by_build.items():
            row = result.setdefault(kind, {})[build] = summary(figures, base)
            print(f"{kind:<19}{build:<9}" + "".join(f"{row.get(key, '-'):>{width}}" for key, width in (
                ("cpu_us", 9), ("cpu_us_range", 16), ("cpu_ratio", 7), ("p50_us", 9), ("p50_ratio", 7), ("p99_us", 9),
                ("instructions", 14), ("instructions_ratio", 7))))
    print(json.dumps({"rounds": options.rounds, "calls": options.calls, "requests": result}))


def summary(figures, base):
    row = {}
    if figures.cpu_us:
        cpu, p50 = statistics.median(figures.cpu_us), statistics.median(figures.p50_us)
        row = {"cpu_us": round(cpu, 1), "cpu_us_range": f"{min(figures.cpu_us):.1f}-{max(figures.cpu_us):.1f}",
               "cpu_ratio": ratio_of_rounds(figures.cpu_us, base.cpu_us), "p50_us": round(p50, 1),
               "p50_ratio": ratio_of_rounds(figures.p50_us, base.p50_us),
               "p99_us": round(statistics.median(figures.p99_us), 1)}
    if figures.instructions:
        row |= {"instructions": round(figures.instructions),
                "instructions_ratio": round(figures.instructions / base.instructions, 3)}
    return row


def ratio_of_rounds(figures, base):
    """The median of the ratios of single rounds: the machine's speed differs between rounds."""
    return round(statistics.median(one / other for one, other in zip(figures, base)), 3)


if __name__ == "__main__":
    main()
