"""Does a coordinator call nervex-server as the contract says: what is retried, what is final, what takes effect once?"""

import http.server
import json
import os
import tempfile
import threading
import unittest
from unittest import mock

from support.background import Call, wait_for
import nervex
from nervex import replicas
from nervex.operator_server import OperatorServer, RequestFailed

EMPTY = {"collectors": [], "learners": []}


class FakeServer:
    """Sends the answers in order, and the last one to all later requests. (status, body) or (status, body, headers); None:
    a lost connection."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                length = int(self.headers.get("Content-Length") or 0)
                fake.requests.append((self.command, self.path, json.loads(self.rfile.read(length)) if length else None,
                                      dict(self.headers)))
                answer = fake.answers.pop(0) if len(fake.answers) > 1 else fake.answers[0]
                if answer is None:
                    return self.connection.close()
                status, body, *headers = answer
                self.send_response(status)
                for name, value in dict(*headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            do_POST = do_DELETE = do_GET

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_: None
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.address = f"127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def good(**data):
    return 200, {"success": True, "code": 0, "message": "ok", "data": {**EMPTY, **data}}


NOT_NOW = (200, {"success": False, "code": 1, "message": "the API server does not answer", "data": None})


class WithServer(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.object(replicas, "RETRY_INTERVAL", 0)
        patch.start()
        self.addCleanup(patch.stop)

    def serve(self, *answers):
        server = FakeServer(*answers)
        self.addCleanup(server.close)
        return server

    def client(self, *answers, **options):
        self.server = self.serve(*answers)
        return nervex.ReplicasClient(self.server.address, "rl", "dqn-coordinator", **options)

    def keys(self):
        return {headers.get("Idempotency-Key") for _, _, _, headers in self.server.requests}


class Calls(WithServer):
    def test_add_names_what_is_wanted(self):
        client = self.client(good(collectors=["dqn-collector-x2b7k.rl:80"]))
        added = client.add(collectors=2, learners=nervex.ReplicaRequest(1, gpus=8, memory="4Gi"))
        self.assertEqual(added, nervex.Replicas(("dqn-collector-x2b7k.rl:80",)))
        self.assertEqual(self.server.requests[0][:3], ("POST", "/v1alpha1/replicas", {
            "namespace": "rl", "coordinator": "dqn-coordinator", "collectors": {"replicas": 2},
            "learners": {"replicas": 1, "gpus": 8, "memory": "4Gi"}}))

    def test_the_other_calls(self):
        client = self.client(good())
        client.list()
        client.remove(collectors=1)
        client.replace(learners=["dqn-learner-2"])
        self.assertEqual([request[:3] for request in self.server.requests], [
            ("GET", "/v1alpha1/replicas?namespace=rl&coordinator=dqn-coordinator", None),
            ("DELETE", "/v1alpha1/replicas", {"namespace": "rl", "coordinator": "dqn-coordinator", "collectors": {"replicas": 1}}),
            ("POST", "/v1alpha1/replicas/failed", {"namespace": "rl", "coordinator": "dqn-coordinator", "collectors": [],
                                                   "learners": ["dqn-learner-2"]})])

    def test_what_cannot_be_done_now_is_repeated_under_one_key(self):
        self.client(NOT_NOW, None, NOT_NOW, good()).add(collectors=1)
        self.assertEqual((len(self.server.requests), len(self.keys())), (4, 1))

    def test_each_call_has_a_key_of_its_own(self):
        client = self.client(good())
        client.add(collectors=1)
        client.add(collectors=1)
        self.assertEqual(len(self.keys()), 2)

    def test_another_status_is_final(self):
        client = self.client((409, {"success": False, "message": "above maxReplicas"}), good())
        with self.assertRaises(nervex.ReplicasRefused) as caught:
            client.add(collectors=1)
        self.assertEqual(caught.exception.status, 409)
        self.assertIn("above maxReplicas", str(caught.exception))
        self.assertEqual(len(self.server.requests), 1)

    def test_a_redirect_is_final_and_its_target_gets_no_token(self):
        for status in (301, 302, 303, 307, 308):
            for call in (lambda client: client.list(), lambda client: client.add(collectors=1)):
                other = self.serve(good())
                client = self.client((status, {}, {"Location": f"http://{other.address}/v1alpha1/replicas"}), good(),
                                     token=lambda: "secret")
                with self.assertRaises(nervex.ReplicasRefused) as caught:
                    call(client)
                self.assertEqual(caught.exception.status, status)
                self.assertIn(f"redirects to 'http://{other.address}/v1alpha1/replicas'", str(caught.exception))
                self.assertEqual((len(self.server.requests), other.requests), (1, []))

    def test_a_server_that_is_away_is_tried_until_the_timeout(self):
        self.client(*[None] * 20, good()).add(collectors=1)
        self.assertEqual((len(self.server.requests), len(self.keys())), (21, 1))

    def test_an_answer_of_a_proxy_is_no_refusal(self):
        for status in (502, 503, 504):
            self.client((status, {}), (status, {}), good()).add(collectors=1)
            self.assertEqual((len(self.server.requests), len(self.keys())), (3, 1))
            with self.assertRaises(nervex.ReplicasUnavailable) as caught:
                self.client((status, {}), timeout=0).list()
            self.assertIn(str(status), str(caught.exception))

    def test_tries_end_at_the_timeout(self):
        for answer in (None, NOT_NOW):
            self.assertRaises(nervex.ReplicasUnavailable, self.client(answer, timeout=0.2).list)
            self.assertGreater(len(self.server.requests), 5)

    def test_a_change_is_not_retried_after_the_server_has_forgotten_its_key(self):
        with mock.patch.object(replicas, "KEY_LIFETIME", 0):
            self.assertRaises(nervex.ReplicasUnavailable, self.client(None, timeout=None).add, collectors=1)
            self.client(None, good(), timeout=None).list()  # a read can always be repeated

    def test_a_watch_reports_replicas_that_this_client_has_not_released(self):
        client = self.client(good(collectors=["a.rl:80", "b.rl:80", "c.rl:80", "d.rl:80"]), good(collectors=["a.rl:80"]), good(),
                             good(collectors=["d.rl:80"]))
        reclaimed = []
        changes = client.watch(interval=0, on_reclaim=reclaimed.append)
        next(changes)
        client.remove(collectors=1)
        client.replace(collectors=["b"])
        change = next(changes)
        self.assertEqual(change.removed.collectors, ("a.rl:80", "b.rl:80", "c.rl:80"))
        self.assertEqual(change.reclaimed.collectors, ("c.rl:80",))
        self.assertEqual(reclaimed, [change.reclaimed])

    def test_a_watch_waits_for_a_call_that_releases_replicas(self):
        """Its answer says which ones."""
        client = self.client(good(collectors=["a.rl:80"]), good())
        reclaimed = []
        changes = client.watch(interval=0, on_reclaim=reclaimed.append)
        next(changes)
        with client._releasing:  # as remove() until its answer has come
            call = Call(next, changes)
            wait_for(lambda: len(self.server.requests) == 2, "the list")
            client._released.add("a")
        self.assertFalse(call.result().reclaimed)
        self.assertEqual(reclaimed, [])

    def test_a_wait_ends_when_all_replicas_are_listed(self):
        wanted = nervex.Replicas(("a", "b"))
        self.client(good(), good(collectors=["a"]), good(collectors=["a", "b", "c"])).wait(wanted, interval=0)
        self.assertEqual(len(self.server.requests), 3)
        with self.assertRaises(nervex.ReplicasUnavailable) as caught:
            self.client(good(collectors=["a"])).wait(wanted, timeout=0, interval=0)
        self.assertIn("still missing: b", str(caught.exception))

    def test_retries_are_logged(self):
        with self.assertLogs("nervex", "WARNING") as logged:
            self.client(NOT_NOW, None, good()).list()
        self.assertEqual([("does not answer" in line) for line in logged.output], [True, False])

    def test_watch_yields_changes_but_for_the_order(self):
        client = self.client(good(collectors=["a", "c"]), good(collectors=["c", "a"]), good(collectors=["b", "c"]))
        changes = client.watch(interval=0.01)
        self.assertEqual(next(changes).added.collectors, ("a", "c"))
        change = next(changes)
        self.assertEqual((change.added.collectors, change.removed.collectors, change.now.collectors), (("b",), ("a",), ("b", "c")))

    def test_the_environment_of_a_pod_is_enough_and_the_token_is_read_again(self):
        server = self.serve(good())
        with tempfile.NamedTemporaryFile("w") as token:
            environment = {"KUBERNETES_SERVER_URL": server.address, "KUBERNETES_POD_NAMESPACE": "rl",
                           "KUBERNETES_POD_NAME": "dqn-coordinator", "KUBERNETES_NERVEX_SERVER_TOKEN_FILE": token.name}
            with mock.patch.dict(os.environ, environment):
                client = nervex.ReplicasClient.from_environment()
                for text in ("old", "new"):
                    token.seek(0)
                    token.write(text)
                    token.flush()
                    client.list()
        self.assertEqual([headers["Authorization"] for _, _, _, headers in server.requests], ["Bearer old", "Bearer new"])

    def test_outside_of_a_pod_it_says_what_is_missing(self):
        with mock.patch.dict(os.environ, clear=True), self.assertRaises(nervex.NervexError) as caught:
            nervex.ReplicasClient.from_environment()
        self.assertIn("KUBERNETES_SERVER_URL", str(caught.exception))


class DiEngine(WithServer):
    def operator_server(self, *answers):
        self.server = self.serve(*answers)
        host, _, port = self.server.address.partition(":")
        return OperatorServer(host, int(port), "v1alpha1", False, "rl", "dqn-coordinator")

    def test_the_calls_and_results_are_those_of_di_engine(self):
        server = self.operator_server(good())
        server.set_worker_type("coordinator")
        self.assertEqual(server.get_replicas(), (True, 0, "ok", EMPTY))
        server.get_replicas("dqn-learner-2")
        server.post_replicas({"collectors": {"replicas": 2}})
        server.post_replicas_failed(collectors=["a"])
        server.delete_replicas(n_learners=1)
        who = {"namespace": "rl", "coordinator": "dqn-coordinator"}
        self.assertEqual([request[:3] for request in self.server.requests], [
            ("GET", "/v1alpha1/replicas?namespace=rl&coordinator=dqn-coordinator", None),
            ("GET", "/v1alpha1/replicas?namespace=rl&name=dqn-learner-2", None),
            ("POST", "/v1alpha1/replicas", {**who, "collectors": {"replicas": 2}}),
            ("POST", "/v1alpha1/replicas/failed", {**who, "collectors": ["a"], "learners": []}),
            ("DELETE", "/v1alpha1/replicas", {**who, "collectors": {"replicas": 0}, "learners": {"replicas": 1}})])

    def test_a_call_that_the_framework_repeats_keeps_its_key_until_it_succeeds(self):
        server = self.operator_server(NOT_NOW, good())
        self.assertEqual(server.post_replicas({"collectors": {"replicas": 1}})[0], False)
        self.assertEqual(server.post_replicas({"collectors": {"replicas": 1}})[0], True)
        self.assertEqual(len(self.keys()), 1)
        server.post_replicas({"collectors": {"replicas": 1}})
        self.assertEqual(len(self.keys()), 2)

    def test_no_answer_and_a_refusal_raise(self):
        for answer in (None, (404, {"message": "no such coordinator"})):
            server = self.operator_server(answer)
            server.set_worker_type("coordinator")
            self.assertRaises(RequestFailed, server.get_replicas)

    def test_the_worker_type_must_be_known(self):
        server = self.operator_server(good())
        self.assertRaises(ValueError, server.get_replicas)
        self.assertRaises(ValueError, server.set_worker_type, "learner")


if __name__ == "__main__":
    unittest.main()
