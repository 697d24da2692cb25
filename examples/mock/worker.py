#!/usr/bin/env python3
"""A stand-in for a collector, a learner or an aggregator: serves a coordinator until it is ended. exchange.py says what
it is asked and what it answers. Python's standard library alone.

SIGTERM ends it at once, with exit code 0, as Kubernetes asks.
"""

import os
import signal
import sys
import threading

import exchange

ROLES = ("collector", "learner", "aggregator")


class Worker:
    def __init__(self, name, role):
        self.name, self.role = name, role
        self._lock = threading.Lock()
        self._coordinator, self._connection = None, None

    def answer(self, method, path, body):
        if (method, path) == ("GET", "/healthz"):
            return 200, {}
        if (method, path) == ("POST", "/connect"):
            return self.connect(body["coordinator"])
        if (method, path) == ("POST", "/task"):
            return self.work(body["id"], body["data"])
        if (method, path) == ("DELETE", "/connect"):
            return self.disconnect("let go")
        return 404, {"error": f"there is no {method} {path}"}

    def connect(self, coordinator):
        with self._lock:
            if self._coordinator not in (None, coordinator):
                return 409, {"error": f"connected to {self._coordinator}"}
            if self._coordinator is None:
                self._coordinator, self._connection = coordinator, threading.Event()
                threading.Thread(target=self._beat, args=(coordinator, self._connection), daemon=True).start()
                say(self.role, f"connected by {coordinator}")
        return 200, {"worker": self.name, "role": self.role}

    def disconnect(self, why):
        with self._lock:
            if self._coordinator is not None:
                self._connection.set()
                say(self.role, f"disconnected from {self._coordinator}: {why}")
                self._coordinator = None
        return 200, {}

    def work(self, task, data):
        with self._lock:
            coordinator = self._coordinator
        if coordinator is None:
            return 409, {"error": "not connected"}
        threading.Thread(target=self._finish, args=(coordinator, task, data), daemon=True).start()
        return 200, {}

    def _finish(self, coordinator, task, data):
        result = sum(one * one for one in data)
        try:
            exchange.call(coordinator, "PUT", "/task", {"id": task, "worker": self.name, "result": result})
            say(self.role, f"task {task}: {data} -> {result}")
        except (OSError, exchange.ExchangeError) as error:
            say(self.role, f"task {task}: the result did not arrive: {error}")

    def _beat(self, coordinator, ended):
        lost = 0
        while not ended.is_set():
            try:
                exchange.call(coordinator, "GET", f"/heartbeat?worker={self.name}")
                lost = 0
            except (OSError, exchange.ExchangeError) as error:
                lost += 1
                say(self.role, f"no heartbeat to {coordinator}: {error}")
                if lost == 10:
                    self.disconnect("it does not answer")
            ended.wait(1)


def say(role, line):
    print(f"{role}: {line}", flush=True)


def main() -> int:
    role = next((one for one in ROLES if os.environ.get(f"{one.upper()}_PORT")), None)
    if role is None:
        print(f"FAILED: the environment has none of {', '.join(one.upper() + '_PORT' for one in ROLES)}", flush=True)
        return 1
    name = os.environ.get("KUBERNETES_POD_NAME") or os.uname().nodename
    port = int(os.environ[f"{role.upper()}_PORT"])
    worker = Worker(name, role)

    class Handler(exchange.JsonHandler):
        def answer(self, method, path, query, body):
            return worker.answer(method, path, body)

    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    exchange.serve(port, Handler)
    say(role, f"I am {name}, listening on port {port}")
    ended.wait()
    worker.disconnect("told to end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
