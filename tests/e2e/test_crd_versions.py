"""A webhook with a newer or older CRD, as during every upgrade and downgrade."""

import json

import pytest
from tools.cluster import manifests
from support.jobs import job
from support.wait import wait_for

CRD = "manifests/crds/nervex.sensetime.com_nervexjobs.yaml"


def schema_of(crd):
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]


def newer(crd):
    """Fields with defaults at several levels, a newer status, and newer requests."""
    top = schema_of(crd)
    spec = top["spec"]["properties"]
    spec["preemption"] = {"type": "object", "default": {}, "properties": {
        "policy": {"type": "string", "default": "Never"}}}
    for role in ("coordinator", "collector", "learner"):
        spec[role]["properties"]["weight"] = {"type": "integer", "default": 1}
    spec["requests"]["properties"]["shape"] = {"type": "string"}
    top["status"]["properties"]["newer"] = {"type": "object", "properties": {"since": {"type": "string"}}}
    top["status"]["properties"]["attempt"] = {"x-kubernetes-int-or-string": True}
    return crd


def older(crd):
    """Without the newest fields, and the rules that name them."""
    spec = schema_of(crd)["spec"]
    spec.pop("x-kubernetes-validations")
    for name in ("reservationSeconds", "aggregator", "scheduleTimeoutSeconds"):
        spec["properties"].pop(name)
    for role in ("collector", "learner"):
        spec["properties"][role].pop("x-kubernetes-validations")
        for name in ("reservedReplicas", "maxReplicas"):
            spec["properties"][role]["properties"].pop(name)
    return crd


@pytest.fixture(scope="module")
def with_crd(target):
    """with_crd(newer): the cluster has this version of our definition; restored at the end of the tests."""
    if not target.cluster:
        pytest.skip("the definitions of this cluster are its owner's")
    settings = target.cluster.settings

    def install(version):
        (crd,) = manifests.documents(CRD)
        manifests.apply(settings, [version(crd)])

    yield install
    install(lambda crd: crd)


def create(jobs, kubectl, namespace, body):
    said = kubectl("create", "--validate=false", "-n", namespace, "-f", "-", body=json.dumps(body))
    assert said.returncode == 0, said.stderr
    return jobs.get(body["metadata"]["name"])


def test_programs_work_with_a_newer_definition(jobs, kubectl, namespace, with_crd, custom):
    with_crd(newer)
    wait_for(lambda: "preemption" in jobs.create(job("probe"), dry_run=True)["spec"], "the newer definition to count")
    made = create(jobs, kubectl, namespace, job("new", suspend=True))
    assert made["spec"]["preemption"] == {"policy": "Never"}
    assert made["spec"]["learner"]["weight"] == 1
    # a newer controller writes its status, and users go on
    said = kubectl("patch", "nvxjob", "new", "-n", namespace, "--subresource=status", "--type=merge", "-p",
                   json.dumps({"status": {"newer": {"since": "now"}, "attempt": "first"}}))
    assert said.returncode == 0, said.stderr
    assert jobs.patch("new", {"spec": {"backoffLimit": 3, "preemption": {"policy": "Lower"}}})["spec"]["backoffLimit"] == 3
    # ... and what is wrong is still found
    body = job("new-wrong")
    body["spec"]["learner"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    said = kubectl("create", "--validate=false", "-n", namespace, "-f", "-", body=json.dumps(body))
    assert "unknown field `imagee`, did you mean `image`?" in said.stderr
    jobs.delete("new")


def test_programs_work_with_an_older_definition(jobs, kubectl, namespace, with_crd):
    body = job("old", suspend=True, reservationSeconds=60, scheduleTimeoutSeconds=60)
    body["spec"]["learner"].update(reservedReplicas=1, maxReplicas=2)
    with_crd(older)
    wait_for(lambda: "reservationSeconds" not in jobs.create(body, dry_run=True)["spec"], "the older definition to count")
    made = create(jobs, kubectl, namespace, body)
    assert "reservedReplicas" not in made["spec"]["learner"]
    assert made["spec"]["cleanPodPolicy"] == "Running"
    assert jobs.patch("old", {"spec": {"backoffLimit": 3}})["spec"]["backoffLimit"] == 3
    jobs.delete("old")


def test_programs_work_when_fields_are_removed_and_come_back(jobs, with_crd):
    """Upgrade and downgrade: a job that was stored under the newer definition."""
    with_crd(newer)
    wait_for(lambda: "preemption" in jobs.create(job("probe"), dry_run=True)["spec"], "the newer definition to count")
    jobs.create(job("both", suspend=True))
    with_crd(lambda crd: crd)
    wait_for(lambda: "preemption" not in jobs.create(job("probe"), dry_run=True)["spec"], "ours to count")
    changed = jobs.patch("both", {"spec": {"backoffLimit": 1}})
    assert "preemption" not in changed["spec"]
    assert changed["spec"]["backoffLimit"] == 1
    jobs.delete("both")
