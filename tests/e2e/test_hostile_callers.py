"""Hostile or broken requests to the real nervex-server get a clear 4xx, memory stays flat, and the next request is
served. The whole table is in tests/server/http/hostile_input_test.cpp."""

import json
import re
import socket
import urllib.parse

import pytest
from support.jobs import job
from support.replicas_api import ReplicasApi
from support.wait import wait_for

PATH = ReplicasApi.PATH
COORDINATOR = "row-coordinator"
FAILED = PATH + "/failed"
ENDPOINTS = [("POST", PATH), ("DELETE", PATH), ("POST", FAILED)]


@pytest.fixture
def running(jobs, namespace):
    jobs.create(job("row"))
    jobs.wait_phase("row", "Running")
    return namespace


def good(namespace, **more):
    return json.dumps({"namespace": namespace, "coordinator": COORDINATOR, **more})


def bodies(namespace):
    start = good(namespace)[:-1]
    return {
        "nothing": "", "half an object": "{", "an array": "[]", "null": "null",
        "a zero byte": good(namespace) + "\0", "nesting": "[" * 100_000, "nesting below a key": start + ',"x":' + "[" * 50_000,
        "a group of another type": good(namespace, learners=1), "no coordinator": json.dumps({"namespace": namespace}),
        "a long name": json.dumps({"namespace": namespace, "coordinator": "a" * 100_000}),
        "a path": json.dumps({"namespace": namespace, "coordinator": "../../nodes"}),
        "a path as namespace": json.dumps({"namespace": f"{namespace}/pods/{COORDINATOR}", "coordinator": "log"}),
        "an escape sequence": json.dumps({"namespace": namespace, "coordinator": "\x1b[2J\n\x07"}),
        "another script": json.dumps({"namespace": namespace, "coordinator": "\u30b3\U0001f600"}),
    }


COUNTS = ["-1", "1.5", "1e400", "1e3", "18446744073709551616", '"2"', "true", "[]", "{}"]


def assert_refused(reply):
    assert reply.status // 100 == 4, reply
    assert reply.content_type == "application/json"
    answer = reply.json
    assert (answer["success"], answer["code"], answer["data"]) == (False, 1, None)
    assert answer["message"]


@pytest.mark.parametrize("method, path", ENDPOINTS)
def test_hostile_bodies_are_refused_and_the_next_request_is_served(running, jobs, replicas_api, method, path):
    hostile = list(bodies(running).values())
    if path == PATH:
        hostile += [good(running)[:-1] + f', "learners": {{"replicas": {count}}}}}' for count in COUNTS]
    for body in hostile:
        assert_refused(replicas_api.call(method, path, body))
    assert replicas_api.get(namespace=running, coordinator=COORDINATOR).status == 200
    assert not jobs.get("row")["spec"].get("requests", {}).get("entries")


@pytest.mark.parametrize("query", ["x=1", "namespace=a&namespace=b", "coordinator=c", "name=" + "a" * 254,
                                   "namespace=a&coordinator=..%2f..%2fnodes", "namespace=a%2fpods%2fb&coordinator=log",
                                   "name=%00", "name=%1b[2J", "name=%ff", "namespace=a&aggregator=%F0%9F%98%80"])
def test_hostile_queries_are_refused(replicas_api, query):
    assert_refused(replicas_api.call("GET", f"{PATH}?{query}"))
    assert replicas_api.get().status == 200


def send_10_megabytes(address, method, path, fill):
    """The first bytes of the answer, even if the server stopped reading long before we stopped writing."""
    host, port = address.rsplit(":", 1)
    body = fill * (10 * 1024 * 1024 // len(fill))
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        head = f"{method} {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            connection.sendall(head.encode() + body)
        except OSError:
            pass  # it has answered and closed
        try:
            return connection.recv(12)
        except ConnectionResetError:
            return b""


def test_large_and_deep_bodies_leave_no_memory_behind(programs, env, running, replicas_api):
    address = urllib.parse.urlsplit(env["NERVEX_SERVER_URL"]).netloc

    def resident():
        return programs.metrics("server")["process_resident_memory_bytes"]

    def round_of_abuse():
        for method, path in ENDPOINTS:
            start = send_10_megabytes(address, method, path, b'{"a":[1,2]},')
            assert start in (b"", b"HTTP/1.1 413")  # nothing, if the reset overtook the answer
            replicas_api.call(method, path, "[" * 1_000_000)
            replicas_api.call(method, path, good(running)[:-1] + ',"x":[' + "{}," * 300_000 + "1]")  # half a body
    round_of_abuse()
    before = resident()
    for _ in range(5):
        round_of_abuse()

    def is_flat():  # the last bodies may be at work still when their senders are gone
        now = resident()
        return now < before + 16 * 1024 * 1024, (before, now)
    wait_for(is_flat, "the memory that the bodies took to be given back", 20)
    assert replicas_api.get(namespace=running, coordinator=COORDINATOR).status == 200


def test_callers_cannot_inject_terminal_codes_into_the_log(target, replicas_api):
    if not target.cluster:
        pytest.skip("the log of this server is its owner's")
    path = target.logs()["server"]

    def log_with(name, text):
        """None while the line is missing: the log is limited to some lines per second, and others may have used
        them."""
        replicas_api.call("POST", body={"namespace": "rl", "coordinator": text})
        with open(path, "rb") as file:
            log = file.read().decode()
        return log if name in log else None

    for name, text in (("nobody-0", "\x1b[2Jnobody-0"), ("nobody-1", "\u009b31mnobody-1"),
                       ("nobody-2", "nobody-2\r\n2026-11-21 forged=line")):
        log = wait_for(lambda name=name, text=text: log_with(name, text), f"a line about {name}")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", log)
    assert "\n2026-11-21 forged" not in log
