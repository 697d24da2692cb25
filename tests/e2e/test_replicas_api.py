"""The replicas HTTP API: the server's acceptance rows (contract, section 6) and section 3."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.jobs import job
from support.replicas_api import ReplicasApi, pod_of
from support.wait import wait_for

NAME = "row"
COORDINATOR = f"{NAME}-coordinator"
FAILED = ReplicasApi.FAILED


@pytest.fixture
def running(jobs, namespace):
    """A job whose coordinator runs; returns its namespace."""
    jobs.create(job(NAME))
    jobs.wait_phase(NAME, "Running")
    return namespace


def lengths(data):
    return len(data["collectors"]), len(data["learners"])


def wait_listed(api, namespace, collectors, learners):
    def look():
        reply = api.get(namespace=namespace, coordinator=COORDINATOR)
        return reply.status == 200 and lengths(reply.data) == (collectors, learners), reply
    return wait_for(look, f"{collectors} collectors and {learners} learners to be listed").data


# -- S1 to S11, except further changes of replicas: test_replicas_changes.py


def test_s1_s2_what_is_added_is_named_and_then_listed(jobs, running, replicas_api):
    added = replicas_api.add(running, COORDINATOR, collectors=2, learners=3)
    assert added.status == 200, added
    assert lengths(added.data) == (2, 3)
    listed = wait_listed(replicas_api, running, 2, 3)
    assert {role: sorted(urls) for role, urls in listed.items() if role != "namespace" and role != "coordinator"} == \
        {role: sorted(added.data[role]) for role in ("collectors", "learners")}
    pods = jobs.wait_pods(NAME, 7, "Running")
    assert {pod_of(url) for role in ("collectors", "learners") for url in added.data[role]} <= \
        {pod.metadata.name for pod in pods}


def test_a_second_request_adds_to_the_first(running, replicas_api):
    first = replicas_api.add(running, COORDINATOR, collectors=1).data
    second = replicas_api.add(running, COORDINATOR, collectors=2).data
    assert not set(first["collectors"]) & set(second["collectors"])
    wait_listed(replicas_api, running, 3, 0)


def test_s6_health(replicas_api):
    assert replicas_api.call("GET", "/healthz").status == 200
    assert replicas_api.call("GET", "/readyz").status == 200


@pytest.mark.parametrize("method", ["get", "add", "remove", "replace"])
def test_s7_an_unknown_coordinator_is_404(running, replicas_api, method):
    if method == "get":
        reply = replicas_api.get(namespace=running, coordinator="nobody-coordinator")
    else:
        reply = getattr(replicas_api, method)(running, "nobody-coordinator")
    assert reply.status == 404
    assert_failure(reply)


@pytest.mark.parametrize("method, path", [("PATCH", ReplicasApi.PATH), ("PUT", ReplicasApi.PATH),
                                          ("GET", FAILED), ("DELETE", FAILED), ("PATCH", FAILED)])
def test_s8_another_method_is_501(replicas_api, method, path):
    reply = replicas_api.call(method, path, body={})
    assert reply.status == 501
    assert_failure(reply)


@pytest.mark.parametrize("method, path", [("POST", ReplicasApi.PATH), ("DELETE", ReplicasApi.PATH), ("POST", FAILED)])
@pytest.mark.parametrize("body", ["", "   "])
def test_s9_an_empty_body_is_400(replicas_api, method, path, body):
    reply = replicas_api.call(method, path, body=body)
    assert reply.status == 400
    assert_failure(reply)


def test_s10_all_jobs_are_listed_as_an_array(running, replicas_api):
    reply = replicas_api.get()
    assert reply.status == 200
    assert [one["coordinator"] for one in reply.data if one["namespace"] == running] == [COORDINATOR]


def test_s11_the_jobs_of_a_namespace_are_listed_as_an_array(jobs, running, replicas_api):
    jobs.create(job("other"))
    jobs.wait_phase("other", "Running")
    wait_for(lambda: [one["coordinator"] for one in replicas_api.get(namespace=running).data]
             == ["other-coordinator", COORDINATOR], "both jobs to be listed")
    assert replicas_api.get(namespace="no-such-namespace").data == []


# -- the form of answers


def assert_failure(reply):
    assert re.match(r'\{"success":false,"code":1,"message":".+","data":null\}$', reply.text), reply
    assert reply.content_type == "application/json"


def test_a_success_has_its_fields_in_order_and_no_nulls(running, replicas_api):
    reply = replicas_api.add(running, COORDINATOR, collectors=1)
    assert re.match(r'\{"success":true,"code":0,"message":".*","data":\{"namespace":"' + running
                    + r'","coordinator":"row-coordinator","collectors":\["[^"]+"\],"learners":\[\]\}\}$', reply.text), reply
    assert reply.content_type == "application/json"


def test_an_address_is_pod_namespace_and_port(jobs, running, replicas_api):
    (url,) = replicas_api.add(running, COORDINATOR, learners=1).data["learners"]
    assert re.fullmatch(rf"{NAME}-learner-[bcdfghjklmnpqrstvwxz2456789]{{5}}\.{running}:80", url)


def test_a_port_that_no_template_declares_is_the_roles_own(jobs, namespace, replicas_api):
    body = job(NAME)
    for role in ("collector", "learner"):
        del body["spec"][role]["template"]["spec"]["containers"][0]["ports"]
    jobs.create(body)
    jobs.wait_phase(NAME, "Running")
    added = replicas_api.add(namespace, COORDINATOR, collectors=1, learners=1).data
    assert [added[role][0].split(":")[1] for role in ("collectors", "learners")] == ["22270", "22271"]


# -- how requests are read


def test_a_request_is_read_as_go_reads_it(running, replicas_api):
    """Keys in any case, unknown ones ignored, no Content-Type."""
    body = {"NameSpace": running, "COORDINATOR": COORDINATOR, "Collectors": {"Replicas": 1, "disk": "x"}, "job": None}
    reply = replicas_api.call("POST", body=body)
    assert reply.status == 200, reply
    assert lengths(reply.data) == (1, 0)


def test_a_get_may_carry_a_body(running, replicas_api):
    assert replicas_api.call("GET", body={"namespace": "x"}, namespace=running).status == 200


def test_any_pod_of_the_job_may_stand_for_its_coordinator(running, jobs, replicas_api):
    jobs.wait_pods(NAME, 2, "Running")
    assert replicas_api.add(running, f"{NAME}-aggregator", collectors=1).status == 200
    wait_listed(replicas_api, running, 1, 0)


def test_resources_of_the_request_replace_the_templates(jobs, running, replicas_api):
    reply = replicas_api.add(running, COORDINATOR,
                             collectors={"replicas": 1, "cpus": 0.5, "gpus": "0", "memory": "200Mi"},
                             learners={"replicas": 1, "gpus": 1})
    assert reply.status == 200, reply
    jobs.wait_pods(NAME, 4, "Running")
    (collector,) = jobs.pods(NAME, "collector")
    for amounts in (collector.spec.containers[0].resources.requests, collector.spec.containers[0].resources.limits):
        assert amounts == {"cpu": "500m", "memory": "200Mi"}
    (learner,) = jobs.pods(NAME, "learner")
    resources = learner.spec.containers[0].resources
    assert resources.limits == {"nvidia.com/gpu": "1"}
    assert resources.requests == {"cpu": "100m", "memory": "64Mi", "nvidia.com/gpu": "1"}


BAD_BODIES = {
    "no JSON": "{",
    "an array": [],
    "no namespace": {"coordinator": COORDINATOR},
    "no coordinator": {"namespace": "x"},
    "replicas as text": {"namespace": "x", "coordinator": "y", "collectors": {"replicas": "2"}},
    "replicas below zero": {"namespace": "x", "coordinator": "y", "collectors": {"replicas": -1}},
    "too many replicas": {"namespace": "x", "coordinator": "y", "learners": {"replicas": 1001}},
    "a bad quantity": {"namespace": "x", "coordinator": "y", "learners": {"replicas": 1, "cpus": "two"}},
    "half a GPU": {"namespace": "x", "coordinator": "y", "collectors": {"replicas": 1, "gpus": "500m"}},
    "too many GPUs for a learner": {"namespace": "x", "coordinator": "y", "learners": {"replicas": 1, "gpus": 1000000}},
}


@pytest.mark.parametrize("what", BAD_BODIES)
def test_a_bad_body_is_400(replicas_api, what):
    reply = replicas_api.call("POST", body=BAD_BODIES[what])
    assert reply.status == 400
    assert_failure(reply)


@pytest.mark.parametrize("query", [{"space": "x"}, {"coordinator": "x"}, {"namespace": "x", "coordinator": ""}])
def test_a_bad_query_is_400(replicas_api, query):
    reply = replicas_api.get(**query)
    assert reply.status == 400
    assert_failure(reply)


@pytest.mark.parametrize("path", ["/", "/v1alpha1", "/v1alpha1/replicas/", "/v1alpha1/replicas/other", "/v1/replicas"])
def test_any_other_path_is_404(replicas_api, path):
    assert replicas_api.call("GET", path).status == 404


# -- what a client is shown


def test_one_replica_is_found_by_its_name(running, replicas_api):
    (url,) = replicas_api.add(running, COORDINATOR, learners=1).data["learners"]
    wait_listed(replicas_api, running, 0, 1)
    for query in ({"name": pod_of(url)}, {"namespace": running, "name": pod_of(url)}):
        assert replicas_api.get(**query).data == {
            "namespace": running, "coordinator": COORDINATOR, "collectors": [], "learners": [url]}
    assert replicas_api.get(namespace=running, name="row-learner-none").status == 404


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_replica_that_has_ended_is_not_listed(running, jobs, replicas_api, node_agent, phase):
    added = replicas_api.add(running, COORDINATOR, collectors=2).data
    jobs.wait_pods(NAME, 4, "Running")
    node_agent.set_phase(pod_of(added["collectors"][0]), phase)
    assert wait_listed(replicas_api, running, 1, 0)["collectors"] == added["collectors"][1:]


# -- what a job cannot have


def test_above_max_replicas_is_409(jobs, namespace, replicas_api):
    body = job(NAME)
    body["spec"]["collector"]["maxReplicas"] = 2
    jobs.create(body)
    jobs.wait_phase(NAME, "Running")
    assert replicas_api.add(namespace, COORDINATOR, collectors=2).status == 200
    reply = replicas_api.add(namespace, COORDINATOR, collectors=1)
    assert reply.status == 409
    assert "maxReplicas 2" in reply.json["message"]


def test_a_role_without_a_template_is_400(jobs, namespace, replicas_api):
    body = job(NAME)
    del body["spec"]["learner"]
    jobs.create(body)
    jobs.wait_phase(NAME, "Running")
    assert replicas_api.add(namespace, COORDINATOR, learners=1).status == 400
    assert replicas_api.add(namespace, COORDINATOR, collectors=1).status == 200


def test_a_finished_job_is_409(running, jobs, replicas_api, node_agent):
    node_agent.finish(COORDINATOR)
    jobs.wait_phase(NAME, "Succeeded")
    reply = replicas_api.add(running, COORDINATOR, collectors=1)
    assert reply.status == 409
    assert_failure(reply)


def test_one_request_is_one_entry_per_role(running, jobs, replicas_api):
    replicas_api.add(running, COORDINATOR, collectors=2, learners=1)
    requests = jobs.get(NAME)["spec"]["requests"]
    assert [(one["id"], one["attempt"], one["role"], [slot["ordinal"] for slot in one["slots"]])
            for one in requests["entries"]] == [(1, 1, "collector", [4096, 4097]), (2, 1, "learner", [4096])]
    assert requests["next"] == {"collector": 4098, "learner": 4097}


def test_many_concurrent_requests_are_all_applied(running, jobs, replicas_api):
    """Five threads request replicas of the same job: no request is lost, no name used twice."""
    def ask(_):
        def taken():  # as a client does: success:false is asked again
            reply = replicas_api.add(running, COORDINATOR, collectors=1)
            assert reply.status == 200, reply
            return reply.json["success"], reply
        return wait_for(taken, "the server to take the request").data["collectors"][0]

    with ThreadPoolExecutor(5) as pool:
        urls = list(pool.map(ask, range(5)))
    assert len(set(urls)) == 5
    assert sorted(wait_listed(replicas_api, running, 5, 0)["collectors"]) == sorted(urls)
