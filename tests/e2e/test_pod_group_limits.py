"""A PodGroup of 5,000 pods, as large as one can become, is stored by a real API server."""

import json

import pytest
from tools.cluster import pod_groups
from kubernetes.client import ApiException
from support.jobs import GROUP, VERSION

SLOTS = 5000
MIB = 1 << 20
NAME = "large-1"


def in_each_gang(gangs):
    return [(f"request-{10000 + i}" if i else "base", range(i * SLOTS // gangs, (i + 1) * SLOTS // gangs))
            for i in range(gangs)]


def incarnation(i):
    return 100 + i * 7 % 118  # no two neighbours share theirs


def large_group(gangs):
    """No two slots can share an entry."""
    def gang(name, which):
        kind = {"kind": "Base"} if name == "base" else {"kind": "Request", "requestId": int(name.split("-")[1])}
        member = {"name": f"{name}-ddp-learner", "role": "ddp-learner",
                  "requests": {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": "8", "pods": "1"},
                  "slots": [{"ordinal": 60000 + i, "incarnation": incarnation(i)} for i in which]}
        return {"name": name, **kind, "members": [member]}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "PodGroup", "metadata": {"name": NAME},
            "spec": {"attempt": 1, "queuedSince": "2026-01-01T00:00:00.000000Z",
                     "gangs": [gang(name, which) for name, which in in_each_gang(gangs)]}}


def large_status(gangs, generation):
    """Committed, on separate nodes with long names: the planner does not change it."""
    def place(i):
        return {"node": f"node-{i}-".ljust(100, "x"), "ordinal": 60000 + i, "incarnation": incarnation(i),
                "number": 9999999 - i}
    return {"observedGeneration": generation, "nextPlacement": 10000000, "gangs": [
        {"name": gang, "planned": True, "committed": True, "reason": "Planned", "message": "all pods are placed",
         "since": "2026-01-01T00:00:00.000000Z",
         "placements": [{"role": "ddp-learner", "nodes": [place(i) for i in which]}]}
        for gang, which in in_each_gang(gangs)]}


def stored_bytes(thing):
    return len(json.dumps(thing, separators=(",", ":")).encode())


@pytest.fixture
def groups(jobs):
    class Groups:
        path = f"/apis/{GROUP}/{VERSION}/namespaces/{jobs.namespace}/podgroups"

        def call(self, method, path="", body=None, content_type="application/json"):
            return jobs.custom.api_client.call_api(
                self.path + path, method, body=body,
                header_params={"Content-Type": content_type, "Accept": "application/json"},
                auth_settings=["BearerToken"], response_type="object", _return_http_data_only=True)

        def get(self):
            return self.call("GET", f"/{NAME}")

        def patch_status(self, status):
            return self.call("PATCH", f"/{NAME}/status", {"status": status}, "application/merge-patch+json")
    found = Groups()
    yield found
    found.call("DELETE", f"/{NAME}")


@pytest.mark.parametrize("gangs", [1, 20])
def test_a_pod_group_of_5000_pods_is_stored(groups, gangs, record_property):
    created = groups.call("POST", body=large_group(gangs))
    stored = groups.patch_status(large_status(gangs, created["metadata"]["generation"]))
    whole, managed = stored_bytes(stored), stored_bytes(stored["metadata"]["managedFields"])
    record_property("bytes", whole)
    record_property("managedFields bytes", managed)
    print(f"{gangs} gangs: {whole} bytes, {managed} of them managedFields")
    assert whole < MIB
    assert managed < 2048
    assert len(pod_groups.placements(stored)) == len(pod_groups.slots(stored)) == SLOTS


@pytest.mark.parametrize("times, words", [(2, "request is too large"), (3, "trying to send message larger than max")])
def test_the_programs_recognise_the_error_for_objects_too_large_for_etcd(groups, times, words):
    """status_error() in kube/model/watch.cpp treats a 500 with one of these texts as a permanent refusal."""
    created = groups.call("POST", body=large_group(1))
    status = large_status(1, created["metadata"]["generation"])
    status["gangs"][0]["placements"][0]["nodes"] *= times
    with pytest.raises(ApiException) as refused:
        groups.patch_status(status)
    assert refused.value.status == 500
    assert words in json.loads(refused.value.body)["message"]


def rejected(**changes):
    return pytest.param(changes, id=" ".join(f"{field} {value}" for field, value in changes.items()))


@pytest.mark.parametrize("changes", [
    rejected(kind="Growth"), rejected(kind="Request"), rejected(name="other"), rejected(requestId=1),
    rejected(firstOrdinal=2), rejected(kind="AddedReplicas", name="base-learner-2"), rejected(members=[])])
def test_a_gang_whose_fields_contradict_each_other_is_rejected(jobs, changes):
    body = large_group(1)
    body["spec"]["gangs"][0].update(changes)
    with pytest.raises(ApiException) as refused:
        jobs.custom.create_namespaced_custom_object(GROUP, VERSION, jobs.namespace, "podgroups", body)
    assert refused.value.status == 422
    assert "spec.gangs[0]" in refused.value.body
