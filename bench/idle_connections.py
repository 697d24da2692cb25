#!/usr/bin/env python3
"""What do idle connections cost, and do they slow an active caller?

Runs against the cluster whose environment file is given (make up, then .local/<name>/env). For each
program, in interleaved rounds, with and without IDLE connections that have made one request and are
kept open: the program's CPU time while nobody calls (from /proc, of all its threads), and the
latency of GET /healthz on one kept connection. Prints a table and one JSON line.
"""

import argparse
import json
import socket
import ssl
import statistics
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from environment import read_env

PROGRAMS = ("SERVER", "WEBHOOK", "EXTENDER", "CONTROLLER")
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n"


def main():
    options = parse_options()
    env = read_env(options.env)
    results = [measure(options, env, name) for name in PROGRAMS]
    report(options, results)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, default=Path(".local/nervex/env"))
    parser.add_argument("--idle", type=int, default=200, help="connections")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="of idling per round")
    parser.add_argument("--calls", type=int, default=1000, help="per round")
    return parser.parse_args()


def measure(options, env, name):
    # The controller serves nothing but its metrics and health.
    url = urlsplit(env.get(f"NERVEX_{name}_URL") or env[f"NERVEX_{name}_METRICS_URL"])
    pid = env[f"NERVEX_{name}_PID"]
    context = ssl.create_default_context(cafile=env["NERVEX_WEBHOOK_CA"]) if url.scheme == "https" \
        else None
    server_name = env.get("NERVEX_WEBHOOK_SERVER_NAME")

    def connect():
        connection = socket.create_connection((url.hostname, url.port), timeout=10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(connection, server_hostname=server_name) if context \
            else connection

    rounds = {0: [], options.idle: []}
    for _ in range(options.rounds):
        for idle, figures in rounds.items():
            figures.append(one_round(options, pid, connect, idle))
    return name.lower(), {idle: summary(figures) for idle, figures in rounds.items()}


def one_round(options, pid, connect, idle):
    connections = [connect() for _ in range(idle)]
    for connection in connections:
        call(connection)
    active = connect()
    for _ in range(50):
        call(active)
    before = cpu_seconds(pid)
    started = time.monotonic()
    time.sleep(options.seconds)
    cpu = (cpu_seconds(pid) - before) / (time.monotonic() - started)
    latencies = sorted(call(active) for _ in range(options.calls))
    for connection in connections:
        call(connection)  # still there
        connection.close()
    active.close()
    return cpu, latencies[len(latencies) // 2] * 1e6, latencies[len(latencies) * 99 // 100] * 1e6


def call(connection):
    """Returns the seconds that it took."""
    started = time.perf_counter()
    connection.sendall(REQUEST)
    reply = connection.recv(4096)
    if not reply.startswith(b"HTTP/1.1 200"):
        sys.exit(f"GET /healthz was answered {reply[:60]!r}")
    return time.perf_counter() - started


def cpu_seconds(pid):
    """CPU time of all live threads; schedstat counts nanoseconds."""
    return sum(int(task.read_text().split()[0])
               for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def summary(figures):
    cpu, median, p99 = (list(column) for column in zip(*figures))
    return {"idle_cpu_percent": round(statistics.median(cpu) * 100, 3),
            "idle_cpu_percent_range": [round(min(cpu) * 100, 3), round(max(cpu) * 100, 3)],
            "p50_us": round(statistics.median(median)), "p99_us": round(statistics.median(p99)),
            "p50_us_range": [round(min(median)), round(max(median))]}


def report(options, results):
    print(f"{'program':<12}{'idle':>6}{'CPU % idle':>12}{'p50 us':>9}{'p99 us':>9}{'p50 ratio':>11}")
    for name, by_idle in results:
        for idle, figures in by_idle.items():
            ratio = figures["p50_us"] / by_idle[0]["p50_us"]
            print(f"{name:<12}{idle:>6}{figures['idle_cpu_percent']:>12.3f}{figures['p50_us']:>9}"
                  f"{figures['p99_us']:>9}{ratio:>11.2f}")
    print(json.dumps({"idle": options.idle, "rounds": options.rounds,
                      "programs": {name: {str(idle): figures for idle, figures in by_idle.items()}
                                   for name, by_idle in results}}))


if __name__ == "__main__":
    main()
