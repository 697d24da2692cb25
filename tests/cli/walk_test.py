#!/usr/bin/env python3
"""A walk through every verb of nervexctl, with an API server that is slow, fails or lies, and through the exit codes that
each documents. The verbs are those that the program lists: a new one without a case fails. Run by ctest (cli_walk_test),
or by hand with the Python of scripts/setup:

    python3 tests/cli/walk_test.py build/dev/bin/nervexctl [TEST...]
"""

import concurrent.futures
import contextlib
import http.server
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import typing
import unittest

from with_server import JOB, WithServer, status

from support.background import wait_for
from support.fake_api import NAMESPACE

FILE, NEW, WRONG = "FILE", "NEW", "WRONG"  # a job's file: of dqn, of a new job, of an invalid one
LIMIT = ("--timeout", "1s")
SIMULATIONS = f"/apis/nervex.sensetime.com/v1alpha1/namespaces/{NAMESPACE}/simulations"
QUEUES = "/apis/nervex.sensetime.com/v1alpha1/queues"


class Case(typing.NamedTuple):
    words: tuple  # a call that asks the API server
    about: str  # what an error must name
    well: tuple = ()  # a call that succeeds, if `words` do not
    waits: tuple = ()  # a call that goes on until Ctrl-C


CASES = {
    "submit": Case((NEW,), "create the job fresh in rl", waits=(NEW, "--wait")),
    "simulate": Case((FILE, *LIMIT), "dqn", well=(FILE,), waits=("--grow", "dqn=1", "--timeout", "60s")),
    "list": Case((), "list jobs of rl", waits=("-w",)),
    "explain": Case(("dqn",), "rl/dqn"),
    "logs": Case(("dqn",), "rl/dqn", waits=("dqn", "-f")),
    "events": Case(("dqn",), "rl/dqn", waits=("dqn", "-w")),
    "wait": Case(("dqn", *LIMIT), "dqn", well=("dqn", "--for=running"), waits=("dqn",)),
    "suspend": Case(("dqn",), "suspend rl/dqn"),
    "resume": Case(("dqn",), "resume rl/dqn"),
    "delete": Case(("dqn", "--wait", *LIMIT), "rl/dqn", well=("dqn",), waits=("dqn", "--wait")),
    "scale": Case(("dqn", "--collectors", "1"), "scale rl/dqn"),
    "replicas get": Case(("dqn",), "dqn"),
    "replicas add": Case(("dqn", "--collectors", "1"), "dqn"),
    "replicas remove": Case(("dqn", "--collectors", "1"), "dqn"),
    "replicas replace": Case(("dqn", "dqn-collector-x2b7k"), "dqn"),
    "queue": Case((), "nervexctl: read "),  # the queues, or the jobs that wait
    "top": Case((), "accelerators"),
    "validate": Case(("-f", FILE, "--server"), "dqn"),
    "doctor": Case((), "API server"),
    "certs": Case(("--install",), "install certificates", well=()),
}
MORE = [("list", ("-A", "-o", "json"), "all namespaces"), ("suspend", ("--all",), "jobs of rl"), ("resume", ("--all",), "jobs of rl"),
        ("delete", ("--all",), "jobs of rl"), ("queue", ("q",), "nervexctl: read "), ("submit", (NEW, "--dry-run", "-o", "json"), "fresh in rl")]
WITHOUT_SERVER = {"completion"}


def lie(**fields):
    return json.dumps(fields).encode()


def endless():
    """Each page names another one as the next."""
    number = itertools.count()
    return lambda: lie(metadata={"resourceVersion": "1", "continue": str(next(number))}, items=[])


def answered(body):
    def begin(api):
        api.lie = body
    return begin


def refused(code, times=1 << 30):
    return lambda api: api.fail("", code, times=times)


VERSION = "nervex.sensetime.com/v1alpha1"
FAULTS = {
    "503 once": refused(503, times=1), **{f"{code}": refused(code) for code in (401, 403, 404, 409, 429, 500, 503)},
    "no answer": refused(0), "half an answer": lambda api: setattr(api, "halves", True),
    "nothing": answered(b""), "an array": answered(b"[]"), "an empty object": answered(b"{}"), "null": answered(b"null"),
    "a page": answered(b"<html>log in</html>"), "half of it": answered(b'{"items": [{"met'), "no text": answered(bytes(range(128, 256))),
    "wrong types": answered(lie(metadata=7, items={"a": 1}, spec=[], status="x")),
    "wrong items": answered(b'{"metadata": {"resourceVersion": "1"}, "items": [7, null, {"metadata": {"name": 3}}]}'),
    "another kind": answered(lie(kind="ConfigMap", apiVersion="v1", metadata={"name": "dqn", "resourceVersion": "1"})),
    "another object": answered(lie(kind="NerveXJob", apiVersion=VERSION, metadata={"name": "other", "namespace": "rl", "uid": "u"})),
    "no name": answered(lie(kind="NerveXJob", apiVersion=VERSION, metadata={})),
    "a list without items": answered(lie(kind="NerveXJobList", apiVersion=VERSION, metadata={"resourceVersion": "1"})),
    "a page that is its own next": answered(lie(metadata={"resourceVersion": "1", "continue": "x"}, items=[])),
}
HIDDEN = {("doctor", "401"), ("doctor", "403")}  # what the user may not see is no failure


def program_verbs():
    """The verbs that the program has, those of `replicas` included; with what each says of its exit codes."""
    page = subprocess.run([WithServer.nervexctl, "__reference"], capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^#+ (.+)\n", page, flags=re.M)
    found = {name: re.search(r"Exit status: (.*?)\.\n", text + "\n", re.S) for name, text in zip(parts[1::2], parts[2::2])}
    return {name: said[1].replace("\n", " ") for name, said in found.items() if said}


class Run(WithServer):
    """One command line with a server of its own."""

    def runTest(self):
        pass

    @classmethod
    @contextlib.contextmanager
    def new(cls):
        one = cls()
        one.setUp()
        try:
            one.files = {FILE: one.write("job.yaml", json.dumps(JOB)),
                         NEW: one.write("new.yaml", json.dumps({**JOB, "metadata": {"name": "fresh"}})),
                         WRONG: one.write("wrong.yaml", json.dumps({**JOB, "spec": {}}))}
            one.env["NERVEX_SERVER_URL"] = one.api.client().configuration.host
            job = one.put_job(status=status("Running", "Running"))
            one.put_pod("dqn-coordinator", job)
            one.api.put(QUEUES, "q", spec={})
            yield one
        finally:
            one.doCleanups()

    def words(self, verb, words):
        return [*verb.split(), *(self.files.get(word, word) for word in words)]


def run_each(calls, begin, timeout=60):
    """(verb, words, about, exit code, output, seconds) of each call, all at once, each with a server after `begin`."""
    def one(call):
        verb, words, about = call
        with Run.new() as run:
            begin(run.api)
            before = time.monotonic()
            process = run.start(*run.words(verb, words))
            try:
                out, errors = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                return verb, words, about, "it hangs", "", timeout
            return verb, words, about, process.returncode, out + errors, time.monotonic() - before
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def all_calls():
    return [(verb, case.words, case.about) for verb, case in CASES.items()] + MORE


class Faults(unittest.TestCase):
    def test_each_verb_of_the_program_has_a_case(self):
        self.assertEqual(set(CASES) | WITHOUT_SERVER, set(program_verbs()))

    def check(self, fault, results):
        for verb, words, about, code, output, _ in results:
            with self.subTest(fault=fault, call=" ".join((verb, *words))):
                wanted = 2 if verb == "validate" else 0 if (verb, fault) in HIDDEN else 1
                self.assertEqual(code, wanted, output)
                self.assertIn(about, output)
                self.assertNotIn("terminate called", output)

    def test_a_fault_is_a_failure_that_names_what_failed(self):
        for fault, begin in FAULTS.items():
            if fault != "503 once":
                self.check(fault, run_each(all_calls(), begin))

    def test_a_server_that_fails_once_fails_the_call_and_not_the_next(self):
        """Where more than one question is asked, the first is the one that tells whether the server is there."""
        calls = [call for call in all_calls() if call[0] not in ("simulate", "wait", "delete", "validate", "doctor", "certs")
                 and not call[0].startswith("replicas")]
        self.check("503 once", run_each(calls, FAULTS["503 once"]))
        for verb, words, _ in calls:
            with Run.new() as run, self.subTest(" ".join((verb, *words))):
                FAULTS["503 once"](run.api)
                self.assertEqual(run.run_verb(*run.words(verb, words))[0], 1)
                code, out, errors = run.run_verb(*run.words(verb, words))
                self.assertEqual(code, 0, out + errors)

    def test_a_server_that_never_answers_is_given_up(self):
        """At the verb's --timeout, else after the client's 30 s: twice for a dry run, which may be sent again."""
        results = run_each(all_calls(), lambda api: api.delay("", 120, times=1 << 30), timeout=100)
        self.check("never", results)
        for verb, words, _, _, output, seconds in results:
            with self.subTest(" ".join((verb, *words))):
                self.assertLess(seconds, 10 if "--timeout" in words else 75, output)
                self.assertRegex(output, "timed out|no answer within 1s")

    def test_a_list_without_end_is_given_up(self):
        def begin(api):
            api.lie = endless()
        for verb, words, _, code, output, _ in run_each([("list", (), "")], begin, 300):
            self.assertEqual(code, 1, (verb, words, output))
            self.assertIn("has not ended after 10000 pages", output)
        for *_, code, output, seconds in run_each([("wait", ("dqn", *LIMIT), "")], begin):
            self.assertEqual(code, 1, output)
            self.assertLess(seconds, 20, output)

    def test_with_a_server_that_is_slow_each_verb_ends_as_with_a_fast_one(self):
        calls = [(verb, case.well or case.words, case.about) for verb, case in CASES.items() if verb not in ("simulate", "doctor", "certs")
                 and not verb.startswith("replicas")]
        for verb, words, _, code, output, _ in run_each(calls, lambda api: api.delay("", 0.3, times=1 << 30)):
            self.assertEqual(code, 0, (verb, words, output))


class ReplicasServer:
    """nervex-server, in place of the API server's address."""

    def __init__(self, test):
        self.answer = (200, {"success": True, "code": 0, "message": "", "data": {
            "namespace": "rl", "coordinator": "dqn-coordinator", "collectors": [], "learners": []}})

        def answer(handler):
            handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            code, body = self.answer
            handler.send_response(code)
            handler.end_headers()
            handler.wfile.write(json.dumps(body).encode())

        class Handler(http.server.BaseHTTPRequestHandler):
            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"


class ExitCodes(unittest.TestCase):
    """Each that a verb documents is seen, and no other."""

    @staticmethod
    def documented(said):
        return {int(code) for code in re.findall(r"(?:^|[,;] )(\d+) ", said)}

    def succeed(self, verb):
        case = CASES.get(verb, Case((), ""))
        words = case.well or case.words
        with Run.new() as run:
            if verb.startswith("replicas"):
                run.env["NERVEX_SERVER_URL"] = ReplicasServer(self).url
            if verb == "certs":
                words = ()  # prints what --install stores
            if verb == "doctor":
                run.api.fail("", 403, times=1 << 30)
            if verb in WITHOUT_SERVER:
                words = ("bash",)
            if verb == "validate":
                words = ("-f", FILE)
            process = run.start(*run.words(verb, words))
            if verb == "simulate":
                wait_for(lambda: any(path == SIMULATIONS for path, _ in run.api._objects) or process.poll() is not None, "it asks")
                name = next(name for path, name in run.api._objects if path == SIMULATIONS)
                run.api.put(SIMULATIONS, name, status={"completionTime": "2026-11-21T14:00:01Z", "verdict": "Starts"})
            out, errors = process.communicate(timeout=60)
            return process.returncode, out + errors

    def fail_verb(self, verb):
        with Run.new() as run:
            if verb in WITHOUT_SERVER:  # what it prints is lost
                with open("/dev/full", "w", encoding="utf-8") as full:
                    return subprocess.run([WithServer.nervexctl, verb, "bash"], stdout=full, env=run.env).returncode
            run.api.fail("", 503, times=1 << 30)
            words = ("-f", WRONG) if verb == "validate" else CASES[verb].words
            return run.run_verb(*run.words(verb, words))[0]

    def interrupt(self, verb):
        with Run.new() as run:
            process = run.start(*run.words(verb, CASES[verb].waits))
            wait_for(lambda: run.api.count_requests("watch=true") or process.poll() is not None, f"{verb} to watch")
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
            return process.returncode, out + errors

    def test_each_documented_code_is_seen(self):
        for verb, said in program_verbs().items():
            with self.subTest(verb):
                code, output = self.succeed(verb)
                self.assertEqual(code, 0, output)
                self.assertEqual(self.fail_verb(verb), 1)
                with Run.new() as run:
                    self.assertEqual(run.run_verb(*verb.split(), "--no-such-flag")[0], 2)
                seen = {0, 1, 2}
                if verb in CASES and CASES[verb].waits:
                    code, output = self.interrupt(verb)
                    self.assertEqual(code, 130, output)
                    seen.add(130)
                self.assertEqual(self.documented(said), seen, said)

    def test_each_verb_that_can_wait_has_a_call_that_is_interrupted(self):
        page = subprocess.run([WithServer.nervexctl, "__reference"], capture_output=True, text=True, check=True).stdout
        parts = re.split(r"^#+ (.+)\n", page, flags=re.M)
        for verb, text in zip(parts[1::2], parts[2::2]):
            if re.search(r"`--(timeout|watch|follow)`", text):
                self.assertTrue(CASES[verb].waits, verb)


if __name__ == "__main__":
    WithServer.nervexctl = os.path.abspath(sys.argv.pop(1))
    unittest.main()
