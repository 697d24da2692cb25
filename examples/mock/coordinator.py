#!/usr/bin/env python3
"""A stand-in for an RL coordinator: asks nervex-server for replicas, waits for them, works with them, ends.

It does what a coordinator does and nothing more, with Python's standard library and nervex.replicas of sdk/python, so
that it also runs outside of a pod with a pod's environment. Read README.md beside it.

Exit code: 0 success; 1 failure, and the last line says why; 2 wrong usage.
"""

import argparse
import logging
import os
import sys
import time

# The image has the package beside this file, a checkout in sdk/python.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))

from nervex.errors import NervexError  # noqa: E402
from nervex.replicas import ReplicaRequest, Replicas, ReplicasClient, read_variable  # noqa: E402

import exchange  # noqa: E402


class Failure(Exception):
    """Ends the run; its text is one sentence for people."""


def main() -> int:
    options = parse_options()
    logging.basicConfig(format="coordinator: %(message)s", stream=sys.stdout)  # retries
    try:
        run(ReplicasClient.from_environment(timeout=options.timeout), read_variable("COORDINATOR_PORT"), options)
    except (Failure, NervexError, exchange.ExchangeError) as failure:
        say(f"FAILED: {failure}")
        return 1
    say("done")
    return 0


def run(client, port, options) -> None:
    say(f"I am {client.namespace}/{client.coordinator}, listening on port {port}; server {client.server}")
    replicas = Replicas()
    if options.collectors or options.learners:
        replicas = request_replicas(client, options)
        say(f"waiting for {describe(replicas)}")
        client.wait(replicas, timeout=options.timeout)
        say("all replicas are there")
    say(f"training for {options.seconds:g} s with {describe(replicas)}")
    if options.exchange:
        # Where workers find this coordinator.
        address = os.environ.get("KUBERNETES_COORDINATOR_URL") or f"{client.coordinator}.{client.namespace}:{port}"
        train(client, address, replicas, options)
    else:
        time.sleep(options.seconds)


def train(client, address, replicas, options) -> None:
    """Connects to every replica and exchanges tasks with it. Half-way through collectors are given back, as a
    program does that has enough data."""
    work = exchange.Exchange(address, say)
    for one in replicas.collectors + replicas.learners:
        work.connect(one)
    work.wait_for_heartbeats()
    exchange_tasks(work, options.seconds / 2)
    for one in client.remove(collectors=options.drop).collectors if options.drop else ():
        say(f"given back: {one}")
        work.disconnect(one)
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


def request_replicas(client, options) -> Replicas:
    """One POST for both roles. Returns the addresses that the server promised."""
    counts = {"collectors": options.collectors, "learners": options.learners}
    resources = {"cpus": options.cpus or None, "gpus": options.gpus or None, "memory": options.memory or None}
    added = client.add(**{role: ReplicaRequest(count, **resources) for role, count in counts.items()})
    for role, count in counts.items():
        if len(getattr(added, role)) != count:
            raise Failure(f"asked for {count} {role}, the server named {len(getattr(added, role))}")
    for address in added.collectors + added.learners:
        say(f"promised: {address}")
    return added


def describe(replicas) -> str:
    return f"{len(replicas.collectors)} collectors and {len(replicas.learners)} learners"


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
    option("gpus", count, "0", "GPUs of each")
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
