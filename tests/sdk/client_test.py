"""Does the client submit, wait and follow as documented, also after lost connections? On an API server in memory."""

import os
import tempfile
import unittest
from unittest import mock

from support.background import Call, Reader, wait_for
from support.fake_api import BUDGETS, EVENTS, GROUPS, JOBS, NAMESPACE, PODS, FakeApi
import nervex
from nervex import api as kubernetes_api
from nervex.kubeflow import TrainingClient

BLOCKED = {"name": "base", "planned": False, "reason": "Unschedulable", "message": "learner: too large",
           "since": "2026-11-21T14:00:02Z", "cause": {"code": "NeverFits", "role": "learner"},
           "remedy": {"code": "AskForLess"}}
WAITING = {**BLOCKED, "message": "learner: others hold it", "remedy": {"code": "Wait"},
           "cause": {"code": "InsufficientCapacity", "role": "learner"}}


LIST = r"nervexjobs\?fieldSelector=metadata.name%3Ddqn$"
PLAN_LIST = r"podgroups\?"


class WithApi(unittest.TestCase):
    def setUp(self):
        self.api = FakeApi()
        self.addCleanup(self.api.close)
        self.client = nervex.Client(NAMESPACE, api_client=self.api.client(), outage_timeout=60)

    def job(self, phase="", reason="", uid="job-uid", **status):
        return self.api.put(JOBS, "dqn", uid=uid, spec={}, status={"phase": phase, "reason": reason, "attempt": 1, **status})

    def group(self, gang, generation=1):
        self.api.put(GROUPS, "dqn-1", metadata={"ownerReferences": [{"uid": "job-uid"}], "generation": generation},
                     spec={"gangs": [{"name": "base", "kind": "Base", "members": [
                         {"name": "learner", "role": "learner", "slots": [{"ordinal": 0, "count": 2}]}]}]},
                     status={"observedGeneration": 1, "gangs": [gang]})

    def pod(self, name="dqn-coordinator", uid="pod-uid", phase="Running", restarts=0, role="coordinator", **state):
        return self.api.put(PODS, name, uid=uid, metadata={
            "labels": {"replica-type": role, "nervexjob-name": "dqn"}, "ownerReferences": [{"uid": "job-uid"}]},
            spec={"containers": [{"name": "nervex-container"}]},
            status={"phase": phase, "containerStatuses": [
                {"name": "nervex-container", "restartCount": restarts, "state": state or {"running": {}}}]})

    def watched(self, function, *arguments, **options):
        """A call that has read the job and now watches it."""
        before = self.api.count_requests("watch=true")
        call = Call(function, *arguments, **options)
        self.api.wait_for_request("watch=true", more_than=before)
        return call


class Redirects(WithApi):
    def test_a_redirect_is_an_error_and_its_target_gets_no_request(self):
        other = FakeApi()
        self.addCleanup(other.close)
        for status in (301, 302, 307, 308):
            self.api.fail("nervexjobs", status, Location=other.client().configuration.host + "/x")
            with self.assertRaises(nervex.ApiError) as caught:
                self.client.api.get(JOBS)
            self.assertEqual(caught.exception.status, status)
            self.assertIn("redirects are not followed", str(caught.exception))
        self.assertEqual(other.requests, [])


class Submit(WithApi):
    JOB = nervex.Job("dqn", coordinator=nervex.Role("trainer:1"))

    def test_a_job_is_created_in_the_namespace_of_the_client(self):
        run = self.client.submit(self.JOB)
        self.assertEqual((run.namespace, run.name), (NAMESPACE, "dqn"))
        self.assertEqual(self.api.get(JOBS, "dqn")["kind"], "NerveXJob")

    def test_a_name_that_is_taken_is_an_error(self):
        self.client.submit(self.JOB)
        self.assertRaises(nervex.AlreadyExists, self.client.submit, self.JOB)

    def test_a_lost_answer_creates_no_second_job_of_a_generated_name(self):
        self.api.fail(f"POST {JOBS}", 0, after=True)
        manifest = {**self.JOB.to_manifest(), "metadata": {"generateName": "dqn-"}}
        run = self.client.submit(manifest)
        self.assertRegex(run.name, "^dqn-[a-z0-9]{5}$")
        self.assertEqual([one.name for one in self.client.list()], [run.name])
        self.assertNotIn("name", manifest["metadata"])
        self.assertNotEqual(self.client.submit(manifest).name, run.name)

    def test_a_generated_name_that_is_taken_is_replaced_by_another(self):
        self.job("Running")
        with mock.patch("nervex.client.generate_name", side_effect=["dqn", "dqn", "dqn-2"]):
            self.assertEqual(self.client.submit({**self.JOB.to_manifest(), "metadata": {"generateName": "dqn-"}}).name, "dqn-2")

    def test_a_whole_number_is_sent_as_an_integer(self):
        self.client.submit(nervex.Job("dqn", coordinator=nervex.Role("trainer:1"), ttl_seconds_after_finished=36.0))
        self.assertIs(type(self.api.get(JOBS, "dqn")["spec"]["ttlSecondsAfterFinished"]), int)
        self.client.job("dqn").patch({"spec": {"args": [1.0, 1.5, True]}})
        self.assertEqual([type(one) for one in self.api.get(JOBS, "dqn")["spec"]["args"]], [int, float, bool])

    def test_a_lost_answer_does_not_look_like_a_taken_name(self):
        self.api.fail("POST", 0, after=True)
        self.assertEqual(self.client.submit(self.JOB)._uid, self.api.get(JOBS, "dqn")["metadata"]["uid"])

    def test_a_wrong_job_names_its_fields(self):
        with self.assertRaises(nervex.Invalid) as caught:
            self.client.submit({**self.JOB.to_manifest(), "spec": {"cleanPodPolicy": "hello"}})
        self.assertEqual(caught.exception.causes, ("spec.cleanPodPolicy: Unsupported value",))

    def test_a_call_is_retried_while_the_api_server_is_unavailable(self):
        self.api.fail("POST", 503, times=1)
        self.api.fail("POST", 429, times=1, Retry_After="0")
        with self.assertLogs("nervex", "WARNING") as logged:
            self.client.submit(self.JOB)
        self.assertEqual(len(logged.output), 1)

    def test_an_outage_longer_than_the_timeout_is_an_error(self):
        self.client.api.outage_timeout = 0
        self.api.fail("nervexjobs", 503)
        self.assertRaises(nervex.Unavailable, self.client.submit, self.JOB)

    def test_a_dry_run_creates_nothing_for_good(self):
        self.client.submit(self.JOB, dry_run=True)
        self.assertIn("dryRun=All", self.api.requests[-1])

    def test_an_api_server_that_starts_does_not_know_the_users_rights_yet(self):
        for status in (503, 401, 403):
            self.api.fail("POST", status)
        with self.assertLogs("nervex", "WARNING"):
            self.client.submit(self.JOB)

    def test_a_cluster_without_nervex_is_named(self):
        for call in (lambda: self.client.submit(self.JOB), self.client.list):
            self.api.fail("nervexjobs", 404)
            with self.assertRaises(nervex.NotFound) as caught:
                call()
            self.assertIn("not installed", str(caught.exception))

    def test_a_user_without_the_right_is_forbidden(self):
        self.api.fail("POST", 403)
        self.assertRaises(nervex.Forbidden, self.client.submit, self.JOB)

    def test_the_job_is_deleted_at_the_end_of_a_with_statement(self):
        with self.client.submit(self.JOB):
            pass
        self.assertIsNone(self.api.get(JOBS, "dqn"))


class Wait(WithApi):
    def test_a_job_that_succeeds_ends_the_wait(self):
        self.job("Created", "Queued")
        call = self.watched(self.client.job("dqn").wait)
        self.job("Running", "Running")
        self.job("Succeeded", "Completed")
        self.assertTrue(call.result().succeeded)

    def test_running_is_enough_if_asked_for(self):
        self.job("Created", "Queued")
        call = self.watched(self.client.job("dqn").wait, "running")
        self.job("Running", "Running")
        self.assertEqual(call.result().phase, "Running")

    def test_a_condition_is_waited_for_until_it_is_true_for_the_current_spec(self):
        ready = [{"type": "Ready", "status": "True"}]
        self.job("Running", "Running", conditions=ready, observedGeneration=1)
        self.api.put(JOBS, "dqn", metadata={"generation": 2})
        call = self.watched(self.client.job("dqn").wait, "Ready")
        self.job("Running", "Running", conditions=ready, observedGeneration=2)
        self.assertTrue(call.result().observed)

    def test_a_condition_that_a_finished_job_does_not_have_is_an_error(self):
        self.job("Succeeded", "Completed")
        self.assertRaises(nervex.WaitTimeout, self.client.job("dqn").wait, "Ready")
        self.job("Failed", "CoordinatorFailed")
        self.assertRaises(nervex.JobFailed, self.client.job("dqn").wait, "Ready")
        self.assertRaises(ValueError, self.client.job("dqn").wait, "runing")

    def test_a_job_that_may_start_is_waited_for_and_says_why(self):
        self.job("Created", "Unschedulable")
        self.group(WAITING)
        progress = []
        call = self.watched(self.client.job("dqn").wait, "running", progress=progress.append)
        self.job("Running", "Running")
        call.result()
        self.assertEqual([(one.advice, one.waits[0].remedy) for one in progress[:1]], [("WaitForCapacity", "Wait")])
        self.assertEqual(dict(progress[0].waits[0].pods), {"learner": 2})

    def test_a_job_that_cannot_start_is_an_error_with_the_explanation(self):
        self.job("Created", "Unschedulable")
        self.group(BLOCKED)
        with self.assertRaises(nervex.CannotStart) as caught:
            self.client.job("dqn").wait(grace=0)
        self.assertEqual(caught.exception.explanation.advice, "AskForLess")
        self.assertIn("learner: too large", str(caught.exception))

    def test_a_plan_that_has_not_observed_its_spec_yet_is_read_again_although_the_job_does_not_change(self):
        self.job("Created", "Unschedulable")
        self.group(BLOCKED, generation=2)
        progress = []
        with mock.patch("nervex.client.SETTLE_SECONDS", 0.1), mock.patch("nervex.api.REFRESH", 3600):
            call = Call(self.client.job("dqn").wait, grace=0, progress=progress.append)
            wait_for(lambda: progress, "the explanation")
            self.group(BLOCKED)
            with self.assertRaises(nervex.CannotStart) as caught:
                call.result()
        self.assertEqual([progress[0].advice, caught.exception.explanation.advice], ["NotPlanned", "AskForLess"])

    def test_a_plan_that_is_not_observed_at_the_end_of_the_grace_period_is_no_error_yet(self):
        self.job("Created", "Unschedulable")
        self.group(BLOCKED)
        job, generations = self.client.job("dqn"), [1, 2]
        def explain(explain=job.explain):
            self.group(BLOCKED, generation=generations.pop())
            explanation = explain()
            self.group(BLOCKED)
            return explanation
        with mock.patch.object(job, "explain", explain), mock.patch("nervex.client.SETTLE_SECONDS", 0.1), \
                self.assertRaises(nervex.CannotStart) as caught:
            job.wait(grace=0)
        self.assertEqual((generations, caught.exception.explanation.advice), ([], "AskForLess"))

    def test_a_rule_of_the_queue_is_an_error_unless_it_may_end(self):
        self.job("Created", "QueueNotFound")
        for code, remedy, advice, is_blocked in (("QueueNotFound", "FixQueue", "FixQueue", True),
                                                 ("QueueStopped", "FixQueue", "FixQueue", False),
                                                 ("LimitExceeded", "AskForLess", "ExceedsLimit", True),
                                                 ("LimitExceeded", "Wait", "OverLimit", False)):
            self.group({**BLOCKED, "cause": {"code": code, "queue": "vision"}, "remedy": {"code": remedy}})
            explanation = self.client.job("dqn").explain()
            self.assertEqual((explanation.advice, explanation.blocked), (advice, is_blocked), code)

    def test_a_job_that_can_start_within_the_grace_period_is_waited_for(self):
        self.job("Created", "Unschedulable")
        self.group(BLOCKED)
        progress = []
        call = Call(self.client.job("dqn").wait, "running", grace=600, progress=progress.append)
        wait_for(lambda: progress, "the explanation")
        self.group(WAITING)
        self.job("Running", "Running")
        call.result()
        self.assertEqual(progress[0].advice, "AskForLess")

    def test_a_job_that_fails_is_an_error(self):
        self.job("Running", "Running")
        call = self.watched(self.client.job("dqn").wait)
        self.job("Failed", "CoordinatorFailed", conditions=[
            {"type": "Failed", "status": "True", "reason": "CoordinatorFailed", "message": "exit code 3"}])
        with self.assertRaises(nervex.JobFailed) as caught:
            call.result()
        self.assertIn("exit code 3", str(caught.exception))

    def test_a_timeout_is_an_error_with_the_explanation(self):
        self.job("Created", "Unschedulable")
        self.group(WAITING)
        with self.assertRaises(TimeoutError) as caught:
            self.client.job("dqn").wait(timeout=0)
        self.assertEqual(caught.exception.explanation.advice, "WaitForCapacity")

    def test_a_timeout_counts_during_an_outage(self):
        self.job("Created", "Queued")
        self.client.api.outage_timeout = 3600
        self.api.fail("watch=true", 0, times=10**6)
        self.assertRaises(nervex.WaitTimeout, Call(self.client.job("dqn").wait, timeout=0.5).result)
        self.api.fail("nervexjobs", 0, times=10**6)
        self.assertRaises(nervex.WaitTimeout, Call(self.client.job("dqn").wait, timeout=0.5).result)

    def test_a_deleted_job_is_an_error(self):
        self.job("Created", "Queued")
        call = self.watched(self.client.job("dqn").wait)
        self.api.remove(JOBS, "dqn")
        self.assertRaises(nervex.JobDeleted, call.result)
        self.assertRaises(nervex.NotFound, self.client.job("dqn").wait)

    def test_another_job_of_the_same_name_is_not_this_one(self):
        run = self.client.submit(Submit.JOB)
        self.api.remove(JOBS, "dqn")
        self.job("Succeeded", "Completed")
        self.assertRaises(nervex.JobDeleted, run.wait)
        self.assertRaises(nervex.ApiError, run.delete)

    def test_a_wait_resumes_after_lost_connections_and_expired_versions(self):
        self.job("Created", "Queued")
        self.api.fail("watch=true", 429, Retry_After="0")
        self.api.fail("watch=true", 410)
        call = Call(self.client.job("dqn").wait)
        self.api.wait_for_request("watch=true", more_than=2)  # after both faults
        before = self.api.count_requests("watch=true")
        self.api.fail("nervexjobs", 0, times=2)
        self.api.cut()
        self.api.wait_for_request("watch=true", more_than=before + 2)
        lists = self.api.count_requests(LIST)
        self.api.compact()
        self.api.cut()
        self.api.wait_for_request(LIST, more_than=lists)
        self.job("Succeeded", "Completed")
        self.assertTrue(call.result().succeeded)


def texts(lines):
    """The lines of the pod."""
    return [line for line in lines if not isinstance(line, nervex.Notice)]


class Logs(WithApi):
    T = "2026-11-21T14:00:0{}.5Z".format

    def finish(self, phase, **pod):
        self.pod(phase=phase, terminated={"exitCode": 0}, **pod)
        self.job(phase, "Completed")
        self.api.log("dqn-coordinator", end=True)

    def test_a_log_is_read(self):
        self.job("Running")
        self.pod()
        self.api.log("dqn-coordinator", (self.T(1), "one"), (self.T(2), "two"))
        self.assertEqual(list(self.client.job("dqn").logs()), ["one", "two"])
        self.assertEqual(list(self.client.job("dqn").logs(timestamps=True))[0], f"{self.T(1)} one")

    def test_a_log_that_does_not_exist_yet_says_why(self):
        self.job("Created", "Unschedulable")
        self.group(WAITING)
        with self.assertRaises(nervex.NotFound) as caught:
            list(self.client.job("dqn").logs())
        self.assertIn("learner: others hold it", str(caught.exception))

    def test_a_followed_log_says_first_why_the_job_waits_and_last_how_the_pod_ended(self):
        self.job("Created", "Unschedulable")
        self.group(WAITING)
        self.api.log("dqn-coordinator", (self.T(1), "one"), end=True)
        reader = Reader(self.client.job("dqn").logs(follow=True))
        reader.wait_for("WaitForCapacity")
        self.pod(phase="Failed", terminated={"exitCode": 3, "reason": "Error", "message": "no data"})
        self.job("Failed", "CoordinatorFailed")
        lines = reader.result()
        self.assertIn("learner: others hold it", lines[0])
        self.assertEqual(lines[1:], ["one", "# dqn-coordinator: exit code 3 (Error): no data",
                                     "# dqn: Failed, CoordinatorFailed"])
        self.assertEqual([isinstance(line, nervex.Notice) for line in lines], [True, False, True, True])

    def test_a_followed_log_repeats_and_loses_no_line_after_a_lost_connection(self):
        self.job("Running")
        self.pod()
        self.api.log("dqn-coordinator", (self.T(1), "one"), (self.T(1), "same time"), (self.T(2), "two"))
        reader = Reader(self.client.job("dqn").logs(follow=True))
        reader.wait_for("two")
        self.api.cut()
        self.api.log("dqn-coordinator", (self.T(2), "same time as two"), (self.T(3), "three"))
        reader.wait_for("three")
        self.finish("Succeeded")
        self.assertEqual(texts(reader.result()), ["one", "same time", "two", "same time as two", "three"])

    def test_the_tail_is_asked_for_until_there_is_a_line(self):
        self.job("Running")
        self.pod()
        self.api.fail("tailLines=2", 503)
        self.api.log("dqn-coordinator", (self.T(1), "one"))
        reader = Reader(self.client.job("dqn").logs(follow=True, tail=2))
        reader.wait_for("one")
        self.finish("Succeeded")
        self.assertEqual(texts(reader.result()), ["one"])
        logs = [one for one in self.api.requests if "/log" in one]
        self.assertEqual(["tailLines=2" in one for one in logs[:3]], [True, True, False])

    def test_lines_that_the_pod_wrote_before_its_end_are_read_after_a_lost_connection(self):
        self.job("Running")
        self.pod()
        self.api.log("dqn-coordinator", (self.T(1), "one"))
        reader = Reader(self.client.job("dqn").logs(follow=True))
        reader.wait_for("one")
        self.api.fail("/log", 0, times=3)
        self.api.log("dqn-coordinator", (self.T(2), "last words"), end=True)
        self.finish("Succeeded")
        self.api.cut()
        self.assertEqual(texts(reader.result()), ["one", "last words"])

    def test_times_of_a_node_in_another_time_zone_are_given_back_as_they_are(self):
        self.job("Running")
        self.pod()
        self.api.log("dqn-coordinator", ("2026-11-21T14:00:01.123456789+05:30", "one"))
        reader = Reader(self.client.job("dqn").logs(follow=True))
        reader.wait_for("one")
        self.api.cut()
        self.api.wait_for_request("sinceTime=2026-11-21T14%3A00%3A01%2B05%3A30")
        self.api.log("dqn-coordinator", end=True)
        self.finish("Succeeded")
        self.assertEqual(texts(reader.result()), ["one"])

    def test_a_followed_log_continues_after_a_restart_of_the_container_and_a_retry_of_the_job(self):
        self.job("Running")
        self.pod()
        self.api.log("dqn-coordinator", (self.T(1), "first"), end=True)
        reader = Reader(self.client.job("dqn").logs(follow=True))
        reader.wait_for("first")
        self.pod(restarts=1)
        reader.wait_for("started again (1 restarts)")
        self.api.log("dqn-coordinator", (self.T(2), "restarted"), end=True)
        reader.wait_for("restarted")
        self.pod(uid="second", running={})
        reader.wait_for("the pod was deleted")
        self.api.log("dqn-coordinator", (self.T(3), "retried"), end=True)
        reader.wait_for("retried")
        self.finish("Succeeded", uid="second")
        self.assertEqual(texts(reader.result())[-1], "retried")

    def test_what_the_container_wrote_before_a_restart_is_read_after_a_lost_connection(self):
        self.job("Running")
        self.pod()
        self.api.log("dqn-coordinator", (self.T(1), "one"))
        reader = Reader(self.client.job("dqn").logs(follow=True))
        reader.wait_for("one")
        self.pod(restarts=1)
        self.api.log("dqn-coordinator", (self.T(2), "before the restart"))
        self.api.fail("follow=true", 0, times=1)
        self.api.cut()
        self.api.wait_for_request("previous=true")
        self.api.log("dqn-coordinator", end=True)
        self.finish("Succeeded", restarts=1)
        self.assertEqual(texts(reader.result()), ["one", "before the restart"])

    def test_the_main_container_decides_when_the_log_ends(self):
        self.job("Running")
        self.pod()
        self.api.put(PODS, "dqn-coordinator", spec={"restartPolicy": "Never", "containers": [
            {"name": "nervex-container"}, {"name": "sidecar"}]}, status={"phase": "Running", "containerStatuses": [
                {"name": "nervex-container", "restartCount": 0, "state": {"terminated": {"exitCode": 0}}}]})
        self.api.log("dqn-coordinator", (self.T(1), "one"), end=True)
        reader = Reader(self.client.job("dqn").logs(follow=True))
        reader.wait_for("exit code 0")
        self.job("Succeeded", "Completed")
        self.assertEqual(texts(reader.result()), ["one"])

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
            run.resume(timeout=0)
        call = self.watched(run.resume)
        self.api.put(JOBS, "dqn", status={"conditions": [{"type": "Suspended", "status": "True"}]})
        call.result()
        self.assertIs(self.api.get(JOBS, "dqn")["spec"]["suspend"], False)

    def test_a_job_that_has_ended_is_not_changed(self):
        for phase in ("Succeeded", "Failed"):
            for suspended in (False, True):
                self.job(phase)
                self.api.put(JOBS, "dqn", spec={"suspend": suspended})
                run = self.client.job("dqn")
                for change in (run.resume, lambda: run.scale(collectors=1), lambda: run.resume(timeout=None)):
                    with self.assertRaises(nervex.JobFinished) as caught:
                        change()
                    self.assertIn(f"has ended ({phase}): submit it again", str(caught.exception))
                self.assertEqual(run.suspend().phase, phase)
                self.assertEqual(self.api.get(JOBS, "dqn")["spec"], {"suspend": suspended})

    def test_jobs_are_listed_and_shown_in_a_notebook(self):
        self.job("Running", "Running", ready="2/3")
        listed = self.client.list(phase="Running")
        self.assertEqual([(one.name, one.ready, one.queue, one.position) for one in listed], [("dqn", "2/3", "", 0)])
        self.assertIn("<td>2/3</td>", listed._repr_html_())
        self.assertEqual(self.client.list(phase="Failed"), [])
        self.job("Created", "Queued", queue={"name": "vision", "position": 3})
        self.assertIn("<td>vision</td><td>3</td>", self.client.list()._repr_html_())
        self.assertIn("  Queue  vision, position 3+", str(self.client.job("dqn").explain()))
        self.assertIn("NerveXJob rl/dqn", self.client.job("dqn")._repr_html_())

    def test_events_are_sorted(self):
        self.job("Running")
        for name, when in (("b", "2026-11-21T14:00:02Z"), ("a", "2026-11-21T14:00:01Z")):
            self.api.put(EVENTS, name, reason=name, lastTimestamp=when)
        events = self.client.job("dqn").events()
        self.assertEqual([one.reason for one in events], ["a", "b"])
        self.assertEqual(str(events[0]), "2026-11-21 14:00:01 a: ")

    def test_what_may_not_be_read_is_left_out_and_named(self):
        self.job("Created", "Queued")
        self.group(WAITING)
        self.api.fail("podgroups", 403)
        self.api.fail("/pods", 403)
        self.api.fail("/events", 403)
        seen = self.client.job("dqn").explain()
        self.assertEqual([one.split(":")[0] for one in seen.left_out],
                         ["cannot show the plan", "cannot show the pods", "cannot show the events"])
        self.assertIn("\ncannot show the plan: ", str(seen))

    def test_an_explanation_names_the_jobs_on_reserved_nodes(self):
        self.job("Created", "Unschedulable")
        self.group(WAITING)
        self.assertIsNone(self.client.job("dqn").explain().waits[0].reservation)
        self.assertEqual(self.api.count_requests(PLAN_LIST), 0)
        self.group({**WAITING, "reservation": {"since": "2026-11-21T14:03:00Z", "nodes": [
            {"set": "learner", "nodes": [{"node": "gpu-0"}]}]}})
        self.api.put(GROUPS, "short-1", spec={"activeDeadlineSeconds": 60, "graceSeconds": 5, "gangs": [{"name": "base"}]},
                     status={"gangs": [{"name": "base", "committed": True, "startedAt": "2026-11-21T14:00:00Z", "placements": [
                         {"role": "learner", "nodes": [{"node": "gpu-0"}]}]}]})
        users = self.client.job("dqn").explain().waits[0].reservation.users
        self.assertEqual([(one.job, f"{one.until:%H:%M:%S}") for one in users], [("short-1", "14:01:05")])
        self.api.fail("podgroups?", 403)
        seen = self.client.job("dqn").explain()
        self.assertEqual((seen.waits[0].reservation.nodes, seen.waits[0].reservation.users), (("gpu-0",), ()))
        self.assertTrue(seen.left_out[0].startswith("cannot show who is on the reserved nodes: "), seen.left_out)

    def test_an_explanation_has_events_and_budgets(self):
        self.job("Running")
        self.pod()
        for name, when in (("b", "2026-11-21T14:00:02Z"), ("a", "2026-11-21T14:00:01Z")):
            self.api.put(EVENTS, name, reason=name, lastTimestamp=when)
        self.api.put(BUDGETS, "keep", spec={"maxUnavailable": 1, "selector": {"matchLabels": {"nervexjob-name": "dqn"}}})
        seen = self.client.job("dqn").explain()
        self.assertEqual([one.reason for one in seen.events], ["a", "b"])
        self.assertEqual([code for code, _ in seen.notes], ["PodDisruptionBudget"])
        self.api.fail("/poddisruptionbudgets", 403)
        seen = self.client.job("dqn").explain()
        self.assertEqual((seen.notes, seen.left_out), ((), ()))

    def test_names_of_kubeflow_work(self):
        client = TrainingClient(NAMESPACE, api_client=self.api.client())
        client.create_job(Submit.JOB)
        seen = []
        call = self.watched(client.wait_for_job_conditions, "dqn", expected_conditions={"Running"}, callback=seen.append)
        running = [{"type": "Running", "status": "True"}]
        generation = self.api.get(JOBS, "dqn")["metadata"].get("generation", 0)
        self.job("Running", uid=None, conditions=running, observedGeneration=generation - 1)  # of the spec before
        self.job("Running", uid=None, conditions=running, observedGeneration=generation + 5)
        call.result()
        self.assertGreater(seen[-1].manifest["status"]["observedGeneration"], generation)
        self.assertTrue(client.is_job_running("dqn"))
        self.assertEqual((seen[-1].phase, client.get_job("dqn").name, len(client.list_jobs())), ("Running", "dqn", 1))
        self.assertRaises(TimeoutError, client.wait_for_job_conditions, "dqn", wait_timeout=0)
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

    def test_a_wrong_kubeconfig_is_named(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(self.CONFIG)
            file.flush()
            for options in ({"kubeconfig": "/nonexistent"}, {"kubeconfig": file.name, "context": "nowhere"}):
                with self.assertRaises(nervex.NervexError) as caught:
                    nervex.Client(**options)
                self.assertIn(options["kubeconfig"], str(caught.exception))

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


class Lists(WithApi):
    def test_a_list_without_end_is_an_error(self):
        api, more = self.client.api, iter(range(30))
        with mock.patch.object(kubernetes_api, "MOST_PAGES", 20), \
                mock.patch.object(api, "get", lambda *_: {"items": [], "metadata": {"continue": f"{next(more)}"}}):
            with self.assertRaisesRegex(nervex.ApiError, "has not ended after 20 pages"):
                api.list("/api/v1/pods")


class Clock:
    """time.monotonic() and time.sleep() without waiting."""

    def __init__(self):
        self.now, self.sleeps = 1000.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.sleeps.append(round(seconds, 3))
        self.now += seconds


class Backoff(unittest.TestCase):
    def test_intervals_grow_up_to_a_limit_and_end_with_the_timeout(self):
        clock, error = Clock(), nervex.Unavailable("away")
        with mock.patch.object(kubernetes_api, "time", clock):
            backoff = kubernetes_api.Backoff(4, initial=0.5, limit=1)
            with self.assertRaises(nervex.Unavailable), self.assertLogs("nervex"):
                while True:
                    backoff.wait(error)
        self.assertEqual(clock.sleeps, [0.5, 1, 1, 1, 0.5])

    def test_the_server_may_ask_for_more(self):
        clock, error = Clock(), nervex.Unavailable("busy")
        error.retry_after = 7
        with mock.patch.object(kubernetes_api, "time", clock), self.assertLogs("nervex"):
            kubernetes_api.Backoff(60).wait(error)
        self.assertEqual(clock.sleeps, [7])


if __name__ == "__main__":
    unittest.main()
