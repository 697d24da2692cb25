"""What happens while nervex-webhook is down, and how to recover: the rows of docs/tasks/operate.md, "While the
webhook is away"."""

import json

import kubernetes
import pytest
from support.jobs import GROUP, VERSION, job, refusal_of, template
from support.wait import wait_for

HOOK = "nervex-validating-webhook-configuration"


@pytest.fixture
def down(programs):
    """down(): no replica of the webhook runs until the test ends."""
    return lambda: programs.stop("webhook")


def test_new_jobs_and_changed_specs_are_refused_and_the_message_names_the_hook(jobs, down):
    jobs.create(job("stored", suspend=True))
    down()
    for call, *arguments in (
            (jobs.create, job("new")),
            (jobs.patch, "stored", {"spec": {"suspend": False}}),
            (jobs.patch, "stored", {"spec": {"learner": {"replicas": 1}}})):
        says = refusal_of(call, *arguments)
        assert 'failed calling webhook "vnervexjob.kb.io"' in says
        assert "nervex-webhook-service" in says or "connection refused" in says


def test_aggregator_configs_are_not_changed_either(jobs, custom, down):
    down()
    place = (GROUP, VERSION, jobs.namespace, "aggregatorconfigs")
    body = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "AggregatorConfig", "metadata": {"name": "one"},
            "spec": {"aggregator": {"template": template()}}}
    assert "vnervexjob.kb.io" in refusal_of(custom.create_namespaced_custom_object, *place, body)


def test_a_running_job_grows_shrinks_is_scaled_and_ends(jobs, down, replicas_api, node_agent, namespace, kubectl):
    jobs.create(job("runs", ttlSecondsAfterFinished=0))
    jobs.wait_phase("runs", "Running")
    down()
    added = replicas_api.add(namespace, "runs-coordinator", collectors=2, learners=1)
    assert added.json["success"], added
    jobs.wait_pods("runs", 5, "Running")
    failed = replicas_api.replace(namespace, "runs-coordinator", collectors=added.data["collectors"][:1])
    assert failed.json["success"], failed
    assert replicas_api.remove(namespace, "runs-coordinator", learners=1).json["success"]
    scaled = kubectl("scale", "nervexjob/runs", "--replicas=1", "-n", namespace)
    assert scaled.returncode == 0, scaled.stderr
    jobs.wait_pods("runs", 5, "Running")  # coordinator, aggregator, the two asked for, the one scaled to
    jobs.patch("runs", {"metadata": {"labels": {"a": "b"}}})
    node_agent.finish("runs-coordinator")

    def gone():
        try:
            return False, jobs.get("runs").get("status", {})
        except kubernetes.client.ApiException as error:
            return error.status == 404, error.status
    wait_for(gone, "the job to end, and its time to live")
    wait_for(lambda: not jobs.pods("runs"), "its pods to go")


def test_a_waiting_job_starts_is_retried_and_deleted(jobs, down, node_agent, core):
    """The hook sees no write of the controller and the planner."""
    core.create_namespaced_resource_quota(jobs.namespace, {"metadata": {"name": "none"},
                                                           "spec": {"hard": {"pods": "0"}}})
    wait_for(lambda: core.read_namespaced_resource_quota("none", jobs.namespace).status.used, "the quota to count")
    jobs.create(job("waits", backoffLimit=3))
    jobs.wait_condition("waits", "Scheduled", "False")
    down()
    core.delete_namespaced_resource_quota("none", jobs.namespace)
    jobs.wait_phase("waits", "Running")
    node_agent.finish("waits-coordinator", 3)
    wait_for(lambda: jobs.get("waits")["status"]["attempt"] == 2, "the next attempt")
    jobs.delete("waits")
    wait_for(lambda: not jobs.pods("waits"), "the pods to go")


def test_an_administrator_turns_admission_off_and_on_again(jobs, programs, down, kubectl, namespace):
    def let(policy):
        change = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": policy}]
        said = kubectl("patch", "validatingwebhookconfiguration", HOOK, "--type=json", "-p", json.dumps(change))
        assert said.returncode == 0, said.stderr

    down()
    let("Ignore")
    try:
        body = job("unchecked", cleanPodPolicy="ALL")
        wait_for(lambda: not refusal_of(jobs.create, body), "the API server to pass the hook by", 20)
        stored = jobs.get("unchecked")["spec"]
        assert stored["cleanPodPolicy"] == "ALL" and jobs.wait_phase("unchecked", "Running")
        # what the schema itself says holds all the same
        assert "Invalid CleanPodPolicy" in refusal_of(jobs.create, job("wrong", cleanPodPolicy="hello"))
        # so does the policy
        assert "only nervex-server" in refusal_of(jobs.patch, "unchecked", {"spec": {"requests": {"nextId": 7}}})
        programs.start("webhook")
    finally:
        let("Fail")
    wait_for(lambda: "imagee" in refusal_of(jobs.create, wrong()), "the hook to be asked again", 20)
    jobs.patch("unchecked", {"spec": {"backoffLimit": 1}})  # what got in is not frozen


def wrong():
    body = job("misspelt")
    body["spec"]["learner"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    return body
