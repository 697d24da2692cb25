#!/usr/bin/env python3
"""What do single verbs of nervexctl do, also while the API server fails? On the API server in memory of tests/sdk. Run by
ctest (cli_verbs_test), or by hand with the Python of scripts/setup:

    python3 tests/cli/verbs_test.py build/dev/bin/nervexctl [TEST...]
"""

import http.server
import json
import os
import socket
import ssl
import stat
import subprocess
import sys
import threading
import unittest

from with_server import JOB, POD, WEBHOOKS, WithServer, status

from support.background import wait_for
from support.fake_api import EVENTS, JOBS, NAMESPACE, PODS


class Verbs(WithServer):
    def test_wait_for_a_condition_ignores_the_status_of_the_old_spec(self):
        self.put_job(generation=2, status=status("Running", "Ready", observed=1))
        code, _, errors = self.run_verb("wait", "dqn", "--for=condition=Ready", "--timeout", "1s")
        self.assertEqual(code, 1, errors)
        self.put_job(generation=2, status=status("Running", "Ready", observed=2))
        self.assertEqual(self.run_verb("wait", "dqn", "--for=condition=Ready", "--timeout", "30s")[0], 0)

    def test_wait_for_running_ignores_a_job_that_is_being_suspended(self):
        self.put_job(generation=2, status=status("Running", observed=1), spec={**JOB["spec"], "suspend": True})
        self.assertEqual(self.run_verb("wait", "dqn", "--for=running", "--timeout", "1s")[0], 1)

    def test_submit_follows_the_job_although_the_first_list_fails(self):
        for flag in ("--wait", "--follow"):
            self.api.fail("GET " + JOBS, 503, times=2)
            submit = self.start("submit", self.write("job.yaml", json.dumps(JOB)), flag)
            wait_for(lambda: self.api.get(JOBS, "dqn") or submit.poll() is not None, "the job")
            self.put_job(status=status("Succeeded", "Succeeded"))
            out, errors = submit.communicate(timeout=60)
            self.assertEqual(submit.returncode, 0, errors)
            self.assertEqual(errors.count("trying again"), 1, errors)
            self.assertIn("dqn succeeded", errors)
            self.api.remove(JOBS, "dqn")

    def test_events_and_logs_follow_although_the_first_list_fails(self):
        self.put_job(status=status("Running", "Running"))
        self.api.fail(f"GET {EVENTS}?limit", 503)
        events = self.start("events", "dqn", "-w")
        wait_for(lambda: self.api.count_requests(r"events\?watch") or events.poll() is not None, "the watch")
        self.assertIsNone(events.poll())
        self.api.fail("nervexjobs?fieldSelector", 503)
        logs = self.start("logs", "dqn", "-f")
        wait_for(lambda: self.api.count_requests(r"nervexjobs\?fieldSelector.*watch") or logs.poll() is not None, "the watch")
        self.assertIsNone(logs.poll())

    def test_delete_ends_at_its_timeout_when_the_pods_cannot_be_read(self):
        self.put_job()
        self.api.delay(f"GET {PODS}", 2)
        code, _, errors = self.run_verb("delete", "dqn", "--wait", "--timeout", "1s")
        self.assertEqual(code, 1, errors)
        self.assertIn("could not be read", errors)

    def test_delete_names_the_pods_that_are_left(self):
        self.put_pod("dqn-coordinator", self.put_job())
        code, _, errors = self.run_verb("delete", "dqn", "--wait", "--timeout", "1s")
        self.assertEqual(code, 1)
        self.assertIn("1 pods still exist, the first is rl/dqn-coordinator", errors)

    def test_each_event_is_printed_when_it_comes(self):
        for output in ("json", "yaml", "table"):
            job = self.put_job(status=status("Running", "Running"))
            before = self.api.count_requests(r"events\?watch")
            events = self.start("events", "dqn", "-w", "-o", output)
            self.api.wait_for_request(r"events\?watch", before)
            self.api.put(EVENTS, f"e-{output}", involvedObject={"kind": "NerveXJob", "name": "dqn", "uid": job["metadata"]["uid"]},
                         reason="Planned", message="it came", lastTimestamp="2026-11-21T14:00:01Z", type="Normal")
            lines = []
            reader = threading.Thread(target=lambda: lines.extend(iter(events.stdout.readline, "")), daemon=True)
            reader.start()
            wait_for(lambda: any("it came" in line for line in list(lines)), f"the event as {output}: {lines}")
            events.terminate()
            self.assertEqual(events.wait(30), 130)

    def test_no_output_has_characters_that_control_a_terminal(self):
        name = "dqn\x1b[2J\x7f\u009b\u202e\u200f"
        self.put_job(name, status=status("Running", name))
        for words in (["list"], *(["list", "-o", one] for one in ("wide", "json", "yaml", "name")), ["explain", name]):
            code, out, errors = self.run_verb(*words)
            self.assertTrue("dqn" in out + errors, (words, code, errors))
            self.assertEqual(set(name[3:]) & set(out + errors) - set("[2J"), set(), words)
            if "json" in words:
                self.assertEqual(code, 0, errors)
                self.assertEqual(json.loads(out)["items"][0]["name"], name)

    def test_suspend_and_resume_skip_selected_jobs_that_have_ended(self):
        for verb, wanted in (("suspend", True), ("resume", False)):
            self.put_job("runs", status=status("Running"), spec={**JOB["spec"], "suspend": not wanted})
            self.put_job("ended", status=status("Succeeded"))
            code, out, errors = self.run_verb(verb, "--all")
            self.assertEqual(code, 0, errors)
            self.assertIn("ended has ended (Succeeded), skipped", errors)
            self.assertNotIn("nervexjob.nervex.sensetime.com/ended", out)
            self.assertEqual(self.api.get(JOBS, "runs")["spec"]["suspend"], wanted)
            self.assertEqual(self.run_verb(verb, "ended")[0], 1)

    def test_a_selected_job_that_is_deleted_meanwhile_is_no_failure(self):
        self.put_job("a", status=status("Running"))
        self.put_job("b", status=status("Running"))
        self.api.fail(f"PATCH {JOBS}/a", 404)
        code, out, errors = self.run_verb("suspend", "--all")
        self.assertEqual((code, out.count("suspended")), (0, 1), errors)

    def test_replace_takes_a_coordinator(self):
        seen = []

        class Server(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                seen.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"success": true, "data": {}}')

            def log_message(self, *_):
                pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Server)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        code, _, errors = self.run_verb("replicas", "replace", "--coordinator", "dqn-coordinator", "dqn-collector-x2b7k",
                                        "dqn-learner-x2b7k", "--server", f"127.0.0.1:{server.server_port}")
        self.assertEqual(code, 0, errors)
        self.assertEqual(seen, [{"namespace": NAMESPACE, "coordinator": "dqn-coordinator", "collectors": ["dqn-collector-x2b7k"],
                                 "learners": ["dqn-learner-x2b7k"]}])

    def test_scale_says_what_stays_removed_and_how_it_returns(self):
        base = [{"attempt": 1, "role": "collector", "ordinal": ordinal, "incarnation": 0, "removed": True, "id": ordinal, "replicas": 4}
                for ordinal in (2, 3)]
        collector = {"template": POD, "replicas": 4}
        self.put_job(status=status("Running"), spec={**JOB["spec"], "collector": collector, "requests": {"base": base}})
        code, out, errors = self.run_verb("scale", "dqn", "--collectors", "4")
        self.assertEqual((code, out), (0, "nervexjob.nervex.sensetime.com/dqn scaled: collectors 4, learners 0\n"), errors)
        self.assertIn("2 of these 4 collectors stay removed", errors)
        self.assertIn(f"`kubectl nervex scale dqn -n {NAMESPACE} --collectors 2`", errors)
        self.assertEqual(self.run_verb("scale", "dqn", "--collectors", "5")[2], "")

    def test_the_suite_is_found_in_another_namespace(self):
        self.api.put(WEBHOOKS, "nervex-mutating-webhook-configuration", webhooks=[
            {"name": "h", "clientConfig": {"service": {"namespace": "tools", "name": "nervex-webhook-service"}}}])
        self.api.put("", "version", gitVersion="v1.36.0")
        self.write("bin/kubectl", f'#!/bin/sh\necho "$@" >"{self.folder}/said"\nexit 1\n', stat.S_IRWXU)
        for words, wanted in (([], "tools"), (["--system-namespace", "mine"], "mine")):
            self.run_verb("doctor", *words)
            self.assertTrue(self.api.count_requests(f"namespaces/{wanted}/deployments"), self.api.requests)
            code, _, errors = self.run_verb("replicas", "get", *words)
            self.assertEqual(code, 1)
            self.assertIn(f"namespace {wanted}", errors)
            with open(f"{self.folder}/said", encoding="utf-8") as file:
                self.assertIn(f"-n {wanted} service/nervex-server", file.read())

    def test_without_a_right_the_suite_is_in_its_usual_namespace(self):
        self.api.put("", "version", gitVersion="v1.36.0")
        self.api.fail(WEBHOOKS, 403, times=2)
        _, _, errors = self.run_verb("doctor")
        self.assertTrue(self.api.count_requests("namespaces/nervex-system/deployments"))
        self.assertIn("you may not read the webhook's configuration, so the suite is expected in namespace nervex-system", errors)
        self.assertIn("--system-namespace NAME, or the variable NERVEX_SYSTEM_NAMESPACE", errors)
        _, _, errors = self.run_verb("replicas", "get")
        self.assertIn("namespace nervex-system", errors)
        self.assertIn("--system-namespace or NERVEX_SYSTEM_NAMESPACE", errors)

    def test_a_variable_names_the_namespace_of_the_suite(self):
        self.api.put("", "version", gitVersion="v1.36.0")
        self.env["NERVEX_SYSTEM_NAMESPACE"] = "mine"
        _, _, errors = self.run_verb("doctor")
        self.assertTrue(self.api.count_requests("namespaces/mine/deployments"))
        self.assertEqual(errors, "")
        self.assertIn("namespace mine", self.run_verb("replicas", "get")[2])


class Submit(WithServer):
    def test_a_dry_run_creates_nothing(self):
        file = self.write("job.yaml", json.dumps(JOB))
        code, out, errors = self.run_verb("submit", file, "--dry-run")
        self.assertEqual((code, out), (0, "nervexjob.nervex.sensetime.com/dqn created (dry run)\n"), errors)
        self.assertIsNone(self.api.get(JOBS, "dqn"))
        self.assertIn(f"POST {JOBS}?dryRun=All", self.api.requests)
        for flag in ("--wait", "--follow"):
            self.assertEqual(self.run_verb("submit", file, "--dry-run", flag)[0], 2)

    def test_it_prints_the_job_as_it_is_stored(self):
        file = self.write("job.yaml", json.dumps(JOB))
        code, out, errors = self.run_verb("submit", file, "-o", "json")
        self.assertEqual(code, 0, errors)
        self.assertEqual(json.loads(out), self.api.get(JOBS, "dqn"))
        self.assertEqual(self.run_verb("submit", file, "--set", "name=a", "-o", "name")[1], "nervexjob.nervex.sensetime.com/a\n")
        self.assertIn("kind: NerveXJob", self.run_verb("submit", file, "--set", "name=b", "--dry-run", "-o", "yaml")[1])


class Kubeconfig(WithServer):
    def test_it_acts_as_another_user(self):
        self.connect({"token": "t", "as": "ann", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"scope": ["x", "y"]}})
        self.assertEqual(self.run_verb("list")[0], 0)
        head = self.api.heads[-1]
        self.assertEqual([head["Impersonate-User"], head["Impersonate-Uid"], sorted(head.get_all("Impersonate-Group")),
                          sorted(head.get_all("Impersonate-Extra-scope")), head["Authorization"]],
                         ["ann", "7", ["a", "b"], ["x", "y"], "Bearer t"])

    def test_a_watch_acts_as_that_user_too(self):
        self.connect({"as": "ann"})
        self.put_job(status=status("Created"))
        wait = self.start("wait", "dqn")
        self.api.wait_for_request("watch=true")
        self.put_job(status=status("Succeeded"))
        wait.communicate(timeout=60)
        self.assertEqual({head["Impersonate-User"] for head in self.api.heads}, {"ann"})

    def test_it_names_a_proxy(self):
        tunnels = []
        proxy = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(proxy.close)

        def pump(source, sink):
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

        def serve():
            while True:
                try:
                    client, _ = proxy.accept()
                except OSError:
                    return
                head = b""
                while b"\r\n\r\n" not in head:
                    head += client.recv(1)
                tunnels.append(head.decode())
                host, _, port = head.split()[1].decode().rpartition(":")
                server = socket.create_connection((host, int(port)))
                for one in (client, server):
                    self.addCleanup(one.close)
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()
        threading.Thread(target=serve, daemon=True).start()
        self.connect(**{"proxy-url": f"http://me:p%40ss@127.0.0.1:{proxy.getsockname()[1]}"})
        code, _, errors = self.run_verb("list")
        self.assertEqual(code, 0, errors)
        self.assertRegex(tunnels[0], r"^CONNECT 127.0.0.1:\d+ HTTP/1.1\r\n")
        self.assertIn("Proxy-Authorization: Basic bWU6cEBzcw==\r\n", tunnels[0])

    def test_a_proxy_that_refuses_is_named(self):
        host = self.api.client().configuration.host
        self.connect(**{"proxy-url": host})  # the API server itself: it knows no CONNECT
        code, _, errors = self.run_verb("list")
        self.assertEqual(code, 1)
        self.assertIn("proxy: refused: HTTP/1.1 501", errors)

    def test_other_proxies_are_refused_with_what_to_do(self):
        for url in ("socks5://127.0.0.1:1", "https://127.0.0.1:1"):
            self.connect(**{"proxy-url": url})
            code, _, errors = self.run_verb("list")
            self.assertEqual(code, 1)
            self.assertIn("proxy-url", errors)
            self.assertIn("run kubectl proxy", errors)

    def test_verification_can_be_switched_off(self):
        subprocess.run([WithServer.nervexctl, "certs", "--out", self.folder], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{self.folder}/tls.crt", f"{self.folder}/tls.key")
        self.api._server.socket = context.wrap_socket(self.api._server.socket, server_side=True)
        https = self.api.client().configuration.host.replace("http:", "https:")
        self.connect(server=https)
        self.assertIn("certificate not accepted", self.run_verb("list")[2])
        self.connect(server=https, **{"insecure-skip-tls-verify": True})
        self.assertEqual(self.run_verb("list")[0], 0)


if __name__ == "__main__":
    WithServer.nervexctl = os.path.abspath(sys.argv.pop(1))
    unittest.main()
