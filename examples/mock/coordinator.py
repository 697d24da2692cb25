#!/usr/bin/env python3
"""A stand-in for an RL coordinator: asks nervex-server for replicas, waits for them, works with them, ends.

It does what a real client does and nothing more, with Python's standard library alone, so that it
runs in any image and, with a pod's environment, also outside of one. Read README.md beside it.

Exit code: 0 all went well; 1 it did not, and the last line says why; 2 it was called wrongly.
"""

import argparse
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import exchange

ROLES = ("collectors", "learners")
CONNECTION_TRIES = 5  # as the RL framework's client does it


class Failure(Exception):
    """Ends the run; its text is one sentence for people."""


def main() -> int:
    options = parse_options()
    try:
        me = Identity.from_environment()
        run(me, Server(me.server_url), options)
    except (Failure, exchange.ExchangeError) as failure:
        say(f"FAILED: {failure}")
        return 1
    say("done")
    return 0


def run(me, server, options) -> None:
    say(f"I am {me.namespace}/{me.pod}, listening on port {me.port}; server {server.address}")
    wanted = {"collectors": [], "learners": []}
    if options.collectors or options.learners:
        wanted = ask_for_replicas(me, server, options)
        wait_until_listed(me, server, wanted, options.timeout)
    say(f"training for {options.seconds:g} s with {describe(wanted)}")
    if options.exchange:
        train(me, server, wanted, options)
    else:
        time.sleep(options.seconds)


def train(me, server, wanted, options) -> None:
    """Connects to every replica and exchanges tasks with it. Half-way through collectors are given back, as a
    program does that has enough data."""
    work = exchange.Exchange(me.address, say)
    for role in wanted:
        for address in wanted[role]:
            work.connect(address)
    work.wait_for_heartbeats()
    exchange_tasks(work, options.seconds / 2)
    for address in drop_collectors(me, server, options) if options.drop else []:
        work.disconnect(address)
    exchange_tasks(work, options.seconds / 2)
    say(f"{work.finished} tasks are done")
    work.close()


def exchange_tasks(work, seconds) -> None:
    """For so long, but at least one round."""
    deadline = time.monotonic() + seconds
    while True:
        work.round()
        left = deadline - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(1, left))


class Identity:
    """Who this coordinator is: what the controller put into its environment."""

    def __init__(self, namespace, pod, port, server_url, address=""):
        self.namespace, self.pod, self.port, self.server_url = namespace, pod, port, server_url
        self.address = address or f"{pod}.{namespace}:{port}"  # where workers find this coordinator

    @classmethod
    def from_environment(cls):
        def need(*names):
            for name in names:
                if os.environ.get(name):
                    return os.environ[name]
            raise Failure(f"the environment has no {' or '.join(names)}")

        return cls(
            namespace=need("KUBERNETES_POD_NAMESPACE"),
            pod=need("KUBERNETES_POD_NAME"),
            port=need("COORDINATOR_PORT"),
            server_url=need("KUBERNETES_SERVER_URL", "KUBERNETES_NERVEX_SERVER_URL"),
            address=os.environ.get("KUBERNETES_COORDINATOR_URL", ""),
        )


class Server:
    """nervex-server as a client sees it: one call, retried only where that is allowed."""

    def __init__(self, url):
        self.address = url if "://" in url else f"http://{url}"

    def call(self, method, path, body=None, deadline=None):
        """The reply's data. Retries lost connections a few times and `success: false` for ever
        (until `deadline`); any status but 200 is final, as it is for real clients."""
        lost = 0
        while True:
            try:
                reply = self._once(method, path, body)
            except urllib.error.HTTPError as error:
                raise Failure(f"{method} {path}: {error.code} {message_of(error.read())}") from error
            except (OSError, ValueError, http.client.HTTPException) as error:
                lost += 1
                if lost >= CONNECTION_TRIES:
                    raise Failure(f"{method} {path}: {error} ({lost} tries)") from error
                say(f"{method} {path}: {error}; trying again")
            else:
                if reply.get("success"):
                    return reply["data"]
                say(f"{method} {path}: not now: {reply.get('message')}; trying again")
            if deadline is not None and time.monotonic() > deadline:
                raise Failure(f"{method} {path}: no success in time")
            time.sleep(1)

    def _once(self, method, path, body):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        if token := read_token():
            request.add_header("Authorization", f"Bearer {token}")
        # No proxies: the server is inside the cluster, even if the environment names one.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as response:
            return json.load(response)


def read_token() -> str:
    """What proves to the server which job this is, if it asks (nervex-server --auth=token). The kubelet
    renews the file, so it is read for each call."""
    path = os.environ.get("KUBERNETES_NERVEX_SERVER_TOKEN_FILE")
    if not path:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError as error:
        raise Failure(f"cannot read the token: {error}") from error


def ask_for_replicas(me, server, options) -> dict:
    """One POST for both roles. Returns the addresses that the server promised."""
    body = {"namespace": me.namespace, "coordinator": me.pod}
    for role, count in (("collectors", options.collectors), ("learners", options.learners)):
        if count:
            body[role] = {"replicas": count, **resources(options)}
    deadline = time.monotonic() + options.timeout
    got = server.call("POST", "/v1alpha1/replicas", body, deadline)
    for role, count in (("collectors", options.collectors), ("learners", options.learners)):
        if len(got[role]) != count:
            raise Failure(f"asked for {count} {role}, the server named {len(got[role])}")
        for address in got[role]:
            say(f"promised: {address}")
    return {role: got[role] for role in ROLES}


def wait_until_listed(me, server, wanted, timeout) -> None:
    """Polls as real clients do, once a second, until every promised replica exists."""
    query = urllib.parse.urlencode({"namespace": me.namespace, "coordinator": me.pod})
    deadline = time.monotonic() + timeout
    missing = None
    while True:
        listed = server.call("GET", f"/v1alpha1/replicas?{query}", deadline=deadline)
        left = [a for role in wanted for a in wanted[role] if a not in listed[role]]
        if not left:
            say("all replicas are there")
            return
        if left != missing:
            say(f"waiting for {len(left)} of them")
            missing = left
        if time.monotonic() > deadline:
            raise Failure(f"after {timeout:g} s these replicas are still missing: {' '.join(left)}")
        time.sleep(1)


def drop_collectors(me, server, options) -> list:
    """One DELETE. Returns the addresses of those that go."""
    body = {"namespace": me.namespace, "coordinator": me.pod, "collectors": {"replicas": options.drop}}
    gone = server.call("DELETE", "/v1alpha1/replicas", body, time.monotonic() + options.timeout)["collectors"]
    for address in gone:
        say(f"given back: {address}")
    return gone


def resources(options) -> dict:
    asked = {"cpus": options.cpus, "gpus": options.gpus, "memory": options.memory}
    return {name: value for name, value in asked.items() if value}


def describe(wanted) -> str:
    return " and ".join(f"{len(wanted[role])} {role}" for role in ROLES)


def message_of(body: bytes) -> str:
    try:
        return json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]


def say(line: str) -> None:
    print(f"coordinator: {line}", flush=True)


def parse_options():
    """Flags, each with its default from the environment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])

    def option(name, kind, default, text):
        variable = f"NERVEX_MOCK_{name.upper()}"
        # argparse reads a default that is text as it reads the flag's value.
        parser.add_argument(
            f"--{name}", type=kind, default=os.environ.get(variable, default),
            help=f"{text} (default: ${variable}, else {default or 'what the template says'})")

    option("collectors", count, "1", "collectors to ask for")
    option("learners", count, "1", "learners to ask for")
    option("cpus", str, "", "CPUs of each")
    option("gpus", str, "", "GPUs of each")
    option("memory", str, "", "memory of each")
    option("seconds", float, "2", "how long to work")
    option("drop", count, "0", "collectors to give back half-way; needs --exchange")
    option("timeout", float, "120", "seconds to wait for the replicas")
    parser.add_argument("--exchange", action=argparse.BooleanOptionalAction, default=False,
                        help="connect to the replicas and give them tasks; where pods really run")
    return parser.parse_args()


def count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


if __name__ == "__main__":
    sys.exit(main())
