"""Faults of the predecessor that must not come back (contract, section 7): a test for each, by number."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tools.base.tree import ROOT
from support.jobs import job, template
from support.replicas_api import pod_of
from support.wait import conflict, wait_for

NAME = "fault"
COORDINATOR = f"{NAME}-coordinator"
MULTI_GPU = {"replicas": 1, "gpus": 10}


@pytest.fixture
def running(jobs):
    jobs.create(job(NAME))
    jobs.wait_phase(NAME, "Running")


def by_role(jobs):
    return sorted(one.metadata.labels["replica-type"] for one in jobs.pods(NAME))


def test_1_a_restarted_controller_does_not_run_a_finished_job_again(jobs, running, node_agent, programs):
    node_agent.finish(COORDINATOR, 1)
    jobs.wait_phase(NAME, "Failed")
    jobs.wait_pods(NAME, 1)
    before = jobs.get(NAME)["status"]
    programs.restart("controller")
    jobs.create(job("after"))  # whose run shows that the controller has been through all jobs
    jobs.wait_phase("after", "Running")
    assert jobs.get(NAME)["status"] == before
    assert by_role(jobs) == ["coordinator"]


def test_2_what_fails_is_retried_and_reported(jobs, core, namespace):
    """A quota that the planner does not read allows no pod until it is removed."""
    core.create_namespaced_resource_quota(namespace, {"metadata": {"name": "none"},
                                                      "spec": {"hard": {"pods": "0"}, "scopes": ["NotTerminating"]}})
    wait_for(lambda: "pods" in (core.read_namespaced_resource_quota("none", namespace).status.used or {}),
             "the quota to be counted")
    jobs.create(job(NAME))
    said = wait_for(lambda: [one for one in jobs.get(NAME).get("status", {}).get("conditions", [])
                             if "exceeded quota" in one["message"]], "the job to say why it has no pods")
    assert "none" in said[0]["message"]
    core.delete_namespaced_resource_quota("none", namespace)
    jobs.wait_phase(NAME, "Running")


def test_3_a_status_of_another_writer_is_not_overwritten(jobs, running, custom, namespace):
    """A condition that another controller keeps on the job stays."""
    mine = {"type": "example.com/Audited", "status": "True", "reason": "Seen", "message": "by the auditors",
            "lastTransitionTime": "2026-11-21T12:00:00Z"}

    def add():
        seen = jobs.get(NAME)
        seen["status"]["conditions"].append(mine)
        custom.replace_namespaced_custom_object_status(
            "nervex.sensetime.com", "v1alpha1", namespace, "nervexjobs", NAME, seen)
        return True
    wait_for(add, "the condition to be written without a conflict", not_yet=[conflict])
    jobs.patch(NAME, {"spec": {"collector": {"replicas": 2}}})
    jobs.wait_pods(NAME, 4, "Running")
    wait_for(lambda: jobs.counts(NAME)["Collector"]["active"] == 2, "the counts")
    assert jobs.condition(NAME, "example.com/Audited") is not None


def test_4_a_repeated_request_is_applied_once(jobs, running, replicas_api):
    body = {"namespace": jobs.namespace, "coordinator": COORDINATOR, "collectors": {"replicas": 2}}
    replies = [replicas_api.call("POST", body=body, headers={"Idempotency-Key": "once"}) for _ in range(3)]
    assert len({json.dumps(reply.data) for reply in replies}) == 1, replies
    jobs.wait_pods(NAME, 4, "Running")


def test_4_a_request_is_applied_wholly_or_not_at_all(jobs, replicas_api):
    """The learners are one too many, so no collector comes either."""
    jobs.create(job(NAME, learner={"template": template(), "maxReplicas": 1}))
    jobs.wait_phase(NAME, "Running")
    reply = replicas_api.add(jobs.namespace, COORDINATOR, collectors=1, learners=2)
    assert reply.status == 409
    assert not jobs.get(NAME)["spec"].get("requests", {}).get("entries")


def test_5_with_authentication_on_another_pod_cannot_resize_a_job(jobs, running, programs, monkeypatch, replicas_api):
    monkeypatch.setenv("NERVEX_SERVER_ARGS", "--auth=token")
    programs.restart("server")
    try:
        for method in ("POST", "DELETE"):
            reply = replicas_api.call(method, body={"namespace": jobs.namespace, "coordinator": COORDINATOR,
                                                    "collectors": {"replicas": 1}})
            assert reply.status == 401, reply
    finally:
        monkeypatch.undo()
        programs.restart("server")


def test_6_a_multi_gpu_learner_that_is_deleted_leaves_no_pod(jobs, per_pod_services, running, replicas_api):
    before = by_role(jobs)
    replicas_api.add(jobs.namespace, COORDINATOR, learners=MULTI_GPU)
    jobs.wait_pods(NAME, 5, "Running")
    assert replicas_api.call("DELETE", body={"namespace": jobs.namespace, "coordinator": COORDINATOR,
                                             "learners": {"replicas": 1}}).status == 200
    jobs.wait_pods(NAME, 2)
    assert by_role(jobs) == before
    wait_for(lambda: len(jobs.services(NAME)) == 2, "its services to go")


def test_7_a_sidecar_keeps_no_job_running(jobs, node_agent):
    with_sidecar = template()
    with_sidecar["spec"]["containers"].append({"name": "sidecar", "image": "nervex/nervex-mock:0.1.0"})
    jobs.create(job(NAME, coordinator={"template": with_sidecar}))
    jobs.wait_phase(NAME, "Running")
    node_agent.finish(COORDINATOR, sidecars_end=False)
    jobs.wait_phase(NAME, "Succeeded")


@pytest.mark.parametrize("asked", ["collectors", "learners"])
def test_8_asking_for_a_role_without_a_template_is_answered(jobs, replicas_api, programs, asked):
    body = job(NAME)
    del body["spec"]["collector"], body["spec"]["learner"]
    jobs.create(body)
    jobs.wait_phase(NAME, "Running")
    pid = programs.programs["server"]["pid"]
    reply = replicas_api.add(jobs.namespace, COORDINATOR, **{asked: 1})
    assert reply.status == 400 and "template" in reply.json["message"], reply
    reply = replicas_api.get(namespace=jobs.namespace, coordinator=COORDINATOR)
    assert (reply.data["collectors"], reply.data["learners"]) == ([], [])
    os.kill(pid, 0)  # the same process still serves


def test_9_gpu_ports_count_over_all_pods_of_a_learner(jobs, running, replicas_api):
    added = replicas_api.add(jobs.namespace, COORDINATOR, learners=MULTI_GPU)
    aggregator = pod_of(added.data["learners"][0])
    jobs.wait_pods(NAME, 5, "Running")

    def listed():
        reply = replicas_api.get(namespace=jobs.namespace, aggregator=aggregator)
        return reply.status == 200 and len(reply.data["learners"]) == 10, reply
    urls = wait_for(listed, "ten GPU ports to be listed").data["learners"]
    assert sorted(int(url.rpartition(":")[2]) for url in urls) == list(range(80, 90))
    for pod in jobs.pods(NAME, "ddp-learner"):
        values = {one.name: one.value for one in pod.spec.containers[0].env}
        mine = [int(url.rpartition(":")[2]) for url in urls if pod_of(url) == pod.metadata.name]
        first = 80 + int(values["START_RANK"])
        assert sorted(mine) == list(range(first, first + int(values["LOCAL_WORLD_SIZE"])))


def test_10_no_service_stays_when_no_pod_does(jobs, per_pod_services, running, node_agent):
    jobs.patch(NAME, {"spec": {"cleanPodPolicy": "All"}})
    node_agent.finish(COORDINATOR)
    jobs.wait_pods(NAME, 0)
    wait_for(lambda: not jobs.services(NAME), "the services to go")


def test_11_a_name_that_no_pod_can_have_is_refused(jobs):
    with pytest.raises(Exception, match="metadata.name"):
        jobs.create(job("a" * 46))


def test_12_a_coordinator_that_starts_again_gets_one_set_of_replicas(jobs, node_agent, replicas_api):
    jobs.create(job(NAME, backoffLimit=1))
    jobs.wait_phase(NAME, "Running")
    replicas_api.add(jobs.namespace, COORDINATOR, collectors=2)
    jobs.wait_pods(NAME, 4, "Running")
    node_agent.finish(COORDINATOR, 1)
    wait_for(lambda: jobs.get(NAME)["status"]["attempt"] == 2, "the next attempt")
    wait_for(lambda: (jobs.phase(NAME) == "Running", jobs.get(NAME)["status"]), "it to run")
    replicas_api.add(jobs.namespace, COORDINATOR, collectors=2)
    jobs.wait_pods(NAME, 4, "Running")
    assert by_role(jobs) == ["aggregator", "collector", "collector", "coordinator"]


def test_13_labels_and_annotations_of_a_template_reach_its_pods(jobs):
    mine = {"team": "alpha"}
    with_meta = {**template(), "metadata": {"labels": mine, "annotations": {"why": "because"}}}
    jobs.create(job(NAME, collector={"template": with_meta, "replicas": 1}))
    jobs.wait_pods(NAME, 3)
    (collector,) = jobs.pods(NAME, "collector")
    assert collector.metadata.labels.items() >= {**mine, "nervexjob-name": NAME}.items()
    assert collector.metadata.annotations["why"] == "because"


def test_14_our_definitions_can_be_applied(kubectl):
    """kubectl apply keeps the whole object in an annotation, which has capacity for 256 KiB."""
    folder = os.path.join(ROOT, "manifests", "crds")
    for name in os.listdir(folder):
        assert os.path.getsize(os.path.join(folder, name)) < 200 * 1024, name  # bytes
    said = kubectl("apply", "--dry-run=server", "-k", folder)
    assert said.returncode == 0, said.stderr


def test_15_a_replica_of_the_server_that_does_not_lead_is_ready(programs):
    """There is no leader: every replica answers."""
    second = programs.start_second("server")  # returns when it is ready
    assert programs.programs[second]["url"] != programs.programs["server"]["url"]


def test_4_many_requests_at_once_are_each_applied_once(jobs, running, replicas_api):
    start = threading.Barrier(8)

    def add(_):
        start.wait(10)
        return replicas_api.add(jobs.namespace, COORDINATOR, collectors=1)
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(add, range(8)))
    assert {reply.status for reply in replies} == {200}
    names = {url for reply in replies if reply.json["success"] for url in reply.data["collectors"]}
    assert len(names) == 8, replies
    jobs.wait_pods(NAME, 10, "Running")
