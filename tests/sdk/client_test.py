"""Does the client submit, wait and follow as it says, also over lost connections? On an API server in memory."""

import os
import tempfile
import threading
import time
import unittest
from unittest import mock

from support.fake_api import EVENTS, GROUPS, JOBS, NAMESPACE, PODS, FakeApi
import nervex
from nervex import api as kubernetes_api
from nervex.kubeflow import TrainingClient

BLOCKED = {"name": "base", "planned": False, "reason": "Unschedulable", "message": "learner: too large",
           "since": "2026-11-21T14:00:02Z", "cause": {"code": "NeverFits", "role": "learner"},
           "remedy": {"code": "AskForLess"}}
WAITING = {**BLOCKED, "message": "learner: others hold it", "remedy": {"code": "Wait"},
           "cause": {"code": "InsufficientCapacity", "role": "learner"}}


class WithApi(unittest.TestCase):
    def setUp(self):
        self.api = FakeApi()
        self.addCleanup(self.api.close)
        self.client = nervex.Client(NAMESPACE, api_client=self.api.client(), outage_timeout=5)

    def job(self, phase="", reason="", uid="job-uid", **status):
        return self.api.put(JOBS, "dqn", uid=uid, spec={}, status={"phase": phase, "reason": reason, "attempt": 1, **status})

    def group(self, gang):
        self.api.put(GROUPS, "dqn-1", metadata={"ownerReferences": [{"uid": "job-uid"}]},
                     spec={"gangs": [{"name": "base", "kind": "Base", "members": [
                         {"name": "learner", "role": "learner", "slots": [{"ordinal": 0, "count": 2}]}]}]},
                     status={"observedGeneration": 1, "gangs": [gang]})

    def pod(self, name="dqn-coordinator", uid="pod-uid", phase="Running", restarts=0, role="coordinator", **state):
        return self.api.put(PODS, name, uid=uid, metadata={
            "labels": {"replica-type": role, "nervexjob-name": "dqn"}, "ownerReferences": [{"uid": "job-uid"}]},
            spec={"containers": [{"name": "nervex-container"}]},
            status={"phase": phase, "containerStatuses": [
                {"name": "nervex-container", "restartCount": restarts, "state": state or {"running": {}}}]})

    def later(self, *steps, pause=0.15):
        """Runs the steps in the background, each a little later."""
        def run():
            for step in steps:
                time.sleep(pause)
                step()
        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)


class Submit(WithApi):
    JOB = nervex.Job("dqn", coordinator=nervex.Role("trainer:1"))

    def test_a_job_is_created_in_the_namespace_of_the_client(self):
        run = self.client.submit(self.JOB)
        self.assertEqual((run.namespace, run.name), (NAMESPACE, "dqn"))
        self.assertEqual(self.api.get(JOBS, "dqn")["kind"], "NerveXJob")

    def test_a_name_that_is_taken_is_an_error(self):
        self.client.submit(self.JOB)
        self.assertRaises(nervex.AlreadyExists, self.client.submit, self.JOB)

    def test_a_lost_answer_does_not_look_like_a_taken_name(self):
        self.api.fail("POST", 0, after=True)
        self.assertEqual(self.client.submit(self.JOB)._uid, self.api.get(JOBS, "dqn")["metadata"]["uid"])

    def test_a_wrong_job_names_its_fields(self):
        with self.assertRaises(nervex.Refused) as caught:
            self.client.submit({**self.JOB.to_manifest(), "spec": {"cleanPodPolicy": "hello"}})
        self.assertEqual(caught.exception.causes, ("spec.cleanPodPolicy: Unsupported value",))

    def test_a_call_is_repeated_while_the_api_server_is_away(self):
        self.api.fail("POST", 503, times=1)
        self.api.fail("POST", 429, times=1, Retry_After="0")
        self.client.submit(self.JOB)

    def test_what_stays_away_is_an_error(self):
        self.client.api.outage_timeout = 0.3
        self.api.fail("nervexjobs", 503, times=99)
        self.assertRaises(nervex.Unavailable, self.client.submit, self.JOB)

    def test_a_user_without_the_right_is_denied(self):
        self.api.fail("POST", 403)
        self.assertRaises(nervex.Denied, self.client.submit, self.JOB)

    def test_the_job_is_deleted_at_the_end_of_a_with_statement(self):
        with self.client.submit(self.JOB):
            pass
        self.assertIsNone(self.api.get(JOBS, "dqn"))


class Wait(WithApi):
    def test_a_job_that_succeeds_ends_the_wait(self):
        self.job("Created", "Queued")
        self.later(lambda: self.job("Running", "Running"), lambda: self.job("Succeeded", "Completed"))
        self.assertTrue(self.client.job("dqn").wait(timeout=10).succeeded)

    def test_running_is_enough_if_asked_for(self):
        self.job("Created", "Queued")
        self.later(lambda: self.job("Running", "Running"))
        self.assertEqual(self.client.job("dqn").wait("running", timeout=10).phase, "Running")

    def test_a_job_that_may_start_is_waited_for_and_says_why(self):
        self.job("Created", "Unschedulable")
        self.group(WAITING)
        said = []
        self.later(lambda: self.job("Running", "Running"))
        self.client.job("dqn").wait("running", timeout=10, progress=said.append)
        self.assertEqual([(one.advice, one.waits[0].remedy) for one in said[:1]], [("WaitForCapacity", "Wait")])
        self.assertEqual(dict(said[0].waits[0].pods), {"learner": 2})

    def test_a_job_that_cannot_start_is_an_error_with_the_explanation(self):
        self.job("Created", "Unschedulable")
        self.group(BLOCKED)
        with self.assertRaises(nervex.CannotStart) as caught:
            self.client.job("dqn").wait(timeout=10, grace=0.2)
        self.assertEqual(caught.exception.explanation.advice, "AskForLess")
        self.assertIn("learner: too large", str(caught.exception))

    def test_one_that_can_start_after_all_is_waited_for(self):
        self.job("Created", "Unschedulable")
        self.group(BLOCKED)
        self.later(lambda: self.group(WAITING), lambda: self.job("Running", "Running"))
        self.client.job("dqn").wait("running", timeout=10, grace=1)

    def test_a_job_that_fails_is_an_error(self):
        self.job("Running", "Running")
        self.later(lambda: self.job("Failed", "CoordinatorFailed", conditions=[
            {"type": "Failed", "status": "True", "reason": "CoordinatorFailed", "message": "exit code 3"}]))
        with self.assertRaises(nervex.JobFailed) as caught:
            self.client.job("dqn").wait(timeout=10)
        self.assertIn("exit code 3", str(caught.exception))

    def test_time_that_is_over_is_an_error_that_says_where_the_job_is(self):
        self.job("Created", "Unschedulable")
        self.group(WAITING)
        with self.assertRaises(TimeoutError) as caught:
            self.client.job("dqn").wait(timeout=0.3)
        self.assertEqual(caught.exception.explanation.advice, "WaitForCapacity")

    def test_time_is_over_also_while_the_api_server_is_away(self):
        self.job("Created", "Queued")
        self.client.api.outage_timeout = 60
        self.later(lambda: (self.api.fail("nervexjobs", 0, times=999), self.api.fail("podgroups", 0, times=999), self.api.cut()))
        begin = time.monotonic()
        self.assertRaises(nervex.WaitTimeout, self.client.job("dqn").wait, timeout=1.5)
        self.assertLess(time.monotonic() - begin, 8)

    def test_a_deleted_job_is_an_error(self):
        self.job("Created", "Queued")
        self.later(lambda: self.api.remove(JOBS, "dqn"))
        self.assertRaises(nervex.JobDeleted, self.client.job("dqn").wait, timeout=10)
        self.assertRaises(nervex.NotFound, self.client.job("dqn").wait, timeout=10)

    def test_another_job_of_the_same_name_is_not_this_one(self):
        run = self.client.submit(Submit.JOB)
        self.api.remove(JOBS, "dqn")
        self.job("Succeeded", "Completed")
        self.assertRaises(nervex.JobDeleted, run.wait, timeout=10)
        self.assertRaises(nervex.ApiError, run.delete)

    def test_a_wait_goes_on_after_cut_connections_and_expired_versions(self):
        self.job("Created", "Queued")
        self.api.fail("watch=true", 429, Retry_After="0")
        self.api.fail("watch=true", 410)

        def outage():
            self.api.fail("nervexjobs", 0, times=2)
            self.api.cut()
        self.later(outage, lambda: (self.api.compact(), self.api.cut()), lambda: self.job("Succeeded", "Completed"), pause=0.5)
        self.assertTrue(self.client.job("dqn").wait(timeout=20).succeeded)


class Logs(WithApi):
    T = "2026-11-21T14:00:0{}.5Z".format

    def test_a_log_is_read(self):
        self.job("Running")
        self.pod()
        self.api.log("dqn-coordinator", (self.T(1), "one"), (self.T(2), "two"))
        self.assertEqual(list(self.client.job("dqn").logs()), ["one", "two"])
        self.assertEqual(list(self.client.job("dqn").logs(timestamps=True))[0], f"{self.T(1)} one")

    def test_a_followed_log_says_first_why_the_job_waits_and_last_how_the_pod_ended(self):
        self.job("Created", "Unschedulable")
        self.group(WAITING)
        self.api.log("dqn-coordinator", (self.T(1), "one"), end=True)

        def finish():
            self.pod(phase="Failed", terminated={"exitCode": 3, "reason": "Error", "message": "no data"})
            self.job("Failed", "CoordinatorFailed")
        self.later(finish)
        lines = list(self.client.job("dqn").logs(follow=True))
        self.assertIn("learner: others hold it", lines[0])
        self.assertEqual(lines[1:], ["one", "# dqn-coordinator: exit code 3 (Error): no data",
                                     "# dqn: Failed, CoordinatorFailed"])
        self.assertEqual([isinstance(line, nervex.Notice) for line in lines], [True, False, True, True])

    def test_a_followed_log_repeats_and_loses_no_line_over_a_lost_connection(self):
        self.job("Running")
        self.pod()
        self.api.log("dqn-coordinator", (self.T(1), "one"), (self.T(1), "same time"), (self.T(2), "two"))
        self.later(self.api.cut,
                   lambda: self.api.log("dqn-coordinator", (self.T(2), "same time as two"), (self.T(3), "three")),
                   lambda: (self.pod(phase="Succeeded", terminated={"exitCode": 0}), self.job("Succeeded", "Completed"),
                            self.api.log("dqn-coordinator", end=True)), pause=0.4)
        lines = list(self.client.job("dqn").logs(follow=True))
        self.assertEqual([line for line in lines if not isinstance(line, nervex.Notice)],
                         ["one", "same time", "two", "same time as two", "three"])

    def test_a_followed_log_goes_on_after_a_restart_of_the_container_and_a_retry_of_the_job(self):
        self.job("Running")
        self.pod()
        self.api.log("dqn-coordinator", (self.T(1), "first"), end=True)
        self.later(lambda: self.pod(restarts=1), lambda: self.api.log("dqn-coordinator", (self.T(2), "restarted"), end=True),
                   lambda: self.pod(uid="second", running={}),
                   lambda: self.api.log("dqn-coordinator", (self.T(3), "retried"), end=True),
                   lambda: (self.pod(uid="second", phase="Succeeded", terminated={"exitCode": 0}),
                            self.job("Succeeded", "Completed")), pause=0.6)
        lines = list(self.client.job("dqn").logs(follow=True))
        self.assertEqual([line for line in lines if not isinstance(line, nervex.Notice)][-1], "retried")
        self.assertIn("# dqn-coordinator: the container is started again (1 restarts)", lines)
        self.assertIn("# dqn-coordinator: the pod was deleted", lines)

    def test_a_worker_is_followed_to_its_end(self):
        self.job("Running")
        self.pod("dqn-collector-x2b7k", phase="Failed", role="collector", terminated={"exitCode": 1})
        self.api.log("dqn-collector-x2b7k", (self.T(1), "bad"), end=True)
        self.assertEqual(list(self.client.job("dqn").logs("dqn-collector-x2b7k", follow=True)),
                         ["bad", "# dqn-collector-x2b7k: exit code 1"])


class Verbs(WithApi):
    def test_scale_and_suspend_are_patches(self):
        self.job("Running")
        run = self.client.job("dqn")
        run.scale(collectors=4)
        run.suspend()
        self.assertEqual(self.api.get(JOBS, "dqn")["spec"], {"collector": {"replicas": 4}, "suspend": True})

    def test_a_job_is_resumed_when_the_controller_has_suspended_it(self):
        self.job("Running")
        run = self.client.job("dqn")
        run.suspend()
        with self.assertRaises(nervex.WaitTimeout):
            run.resume(timeout=0.2)
        self.later(lambda: self.api.put(JOBS, "dqn", status={"conditions": [{"type": "Suspended", "status": "True"}]}))
        run.resume()
        self.assertIs(self.api.get(JOBS, "dqn")["spec"]["suspend"], False)

    def test_jobs_are_listed_and_shown_in_a_notebook(self):
        self.job("Running", "Running", ready="2/3")
        listed = self.client.list(phase="Running")
        self.assertEqual([(one.name, one.ready) for one in listed], [("dqn", "2/3")])
        self.assertIn("<td>2/3</td>", listed._repr_html_())
        self.assertEqual(self.client.list(phase="Failed"), [])
        self.assertIn("NerveXJob rl/dqn", self.client.job("dqn")._repr_html_())

    def test_events_are_sorted(self):
        self.job("Running")
        for name, when in (("b", "2026-11-21T14:00:02Z"), ("a", "2026-11-21T14:00:01Z")):
            self.api.put(EVENTS, name, reason=name, lastTimestamp=when)
        self.assertEqual([one["reason"] for one in self.client.job("dqn").events()], ["a", "b"])

    def test_what_may_not_be_read_is_left_out_and_named(self):
        self.job("Created", "Queued")
        self.group(WAITING)
        self.api.fail("podgroups", 403)
        self.api.fail("/pods", 403)
        self.assertEqual([one.split(":")[0] for one in self.client.job("dqn").explain().left_out], ["the plan", "the pods"])

    def test_names_of_kubeflow_work(self):
        client = TrainingClient(NAMESPACE, api_client=self.api.client())
        client.create_job(Submit.JOB)
        self.later(lambda: self.job("Running", uid=None, conditions=[{"type": "Running", "status": "True"}]))
        seen = []
        client.wait_for_job_conditions("dqn", expected_conditions={"Running"}, wait_timeout=10, callback=seen.append)
        self.assertTrue(client.is_job_running("dqn"))
        self.assertEqual((seen[-1].phase, client.get_job("dqn").name, len(client.list_jobs())), ("Running", "dqn", 1))
        self.assertRaises(TimeoutError, client.wait_for_job_conditions, "dqn", wait_timeout=0.2)
        client.delete_job("dqn")
        self.assertRaises(nervex.NotFound, client.get_job, "dqn")


class Connect(unittest.TestCase):
    CONFIG = """{apiVersion: v1, kind: Config, current-context: here, users: [{name: u, user: {token: t}}],
      clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
      contexts: [{name: here, context: {cluster: c, user: u, namespace: rl}}, {name: there, context: {cluster: c, user: u}}]}"""

    def test_a_kubeconfig_names_the_namespace(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(self.CONFIG)
            file.flush()
            self.assertEqual(nervex.Client(kubeconfig=file.name).namespace, "rl")
            self.assertEqual(nervex.Client(kubeconfig=file.name, context="there").namespace, "default")
            self.assertEqual(nervex.Client("mine", kubeconfig=file.name).namespace, "mine")

    def test_a_pod_uses_its_service_account(self):
        with tempfile.NamedTemporaryFile("w") as file, mock.patch.dict(os.environ, {"HOME": "/nonexistent"}), \
                mock.patch("kubernetes.config.load_incluster_config") as load, \
                mock.patch.object(kubernetes_api, "IN_CLUSTER_NAMESPACE", file.name):
            os.environ.pop("KUBECONFIG", None)
            file.write("team-a")
            file.flush()
            self.assertEqual(nervex.Client().namespace, "team-a")
            load.assert_called_once()

    def test_outside_of_both_it_says_what_is_missing(self):
        with mock.patch.dict(os.environ, {"HOME": "/nonexistent"}, clear=True), self.assertRaises(nervex.NervexError) as caught:
            nervex.Client()
        self.assertIn("KUBECONFIG", str(caught.exception))


class Backoff(unittest.TestCase):
    def test_pauses_grow_until_the_time_is_over(self):
        backoff = kubernetes_api.Backoff(0.3, first=0.01, most=0.05)
        begin, error = time.monotonic(), nervex.Unavailable("away")
        with self.assertRaises(nervex.Unavailable):
            while True:
                backoff.pause(error)
        self.assertLess(abs(time.monotonic() - begin - 0.3), 0.25)


if __name__ == "__main__":
    unittest.main()
