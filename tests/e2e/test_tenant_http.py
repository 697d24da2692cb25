"""A tenant with the role `edit` in one namespace, and pods there, call nervex-server with --auth=token: for jobs of
others, with forged identities, with amounts beyond sense, and many at once."""

import json
import os
import threading

import pytest
from tools.cluster import kubelet
from support.jobs import Jobs, job
from support.replicas_api import ReplicasApi
from support.tenant import LONG, Tenant
from support.wait import wait_for

PATH = ReplicasApi.PATH
FAILED = ReplicasApi.FAILED
MB = 1 << 20


@pytest.fixture(scope="module")
def token_mode(target):
    if not target.cluster:
        pytest.skip("our programs are not local processes on this cluster")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NERVEX_SERVER_ARGS", "--auth=token")
        patch.setenv("NERVEX_CONTROLLER_ARGS", f"{os.environ.get('NERVEX_CONTROLLER_ARGS', '')} --server-auth=token")
        for program in ("server", "controller"):
            target.cluster.restart(program)
    yield
    for program in ("server", "controller"):
        target.cluster.restart(program)


class Caller:
    """Calls with a token. `job`: a running job of the tenant's."""

    def __init__(self, api, token, namespace):
        self.api, self.token, self.namespace = api, token, namespace

    def call(self, method, path=PATH, body=None, token=None, headers=None):
        given = {"Authorization": f"Bearer {token or self.token}"} if token != "" else {}
        return self.api.call(method, path, body, {**given, **(headers or {})})

    def add(self, count=1, coordinator="mine-coordinator", namespace=None, headers=None, **more):
        body = {"namespace": namespace or self.namespace, "coordinator": coordinator,
                "collectors": {"replicas": count, **more}}
        return self.call("POST", body=body, headers=headers)


@pytest.fixture
def user(token_mode, users, namespace):
    return Tenant(users, namespace, "none")


@pytest.fixture
def caller(user, users, replicas_api):
    """The tenant with the role `edit`, and a running job `mine`."""
    user.jobs.create(job("mine", aggregator="OnDemand"))
    user.jobs.wait_phase("mine", "Running", LONG)
    return Caller(replicas_api, users.token("edit", "nervex-server"), user.namespace)


@pytest.fixture
def theirs(token_mode, fresh_namespace, core, custom):
    """A running job `theirs` of another team with one collector."""
    with fresh_namespace() as name:
        others = Jobs(core, custom, name)
        body = job("theirs", aggregator="OnDemand")
        body["spec"]["collector"]["replicas"] = 1
        others.create(body)
        others.wait_phase("theirs", "Running", LONG)
        yield others


def entries(jobs, name):
    return jobs.get(name)["spec"].get("requests", {}).get("entries", [])


def check_untouched(theirs):
    assert not entries(theirs, "theirs") and not theirs.get("theirs")["spec"].get("requests", {}).get("base")
    assert len(theirs.pods("theirs", "collector")) == 1


def calls_on(theirs):
    """The calls that read or change the job of others."""
    target = {"namespace": theirs.namespace, "coordinator": "theirs-coordinator"}
    pod = theirs.pods("theirs", "collector")[0].metadata.name
    one = {**target, "collectors": {"replicas": 1}}
    return [("POST", PATH, one), ("DELETE", PATH, one),
            ("POST", FAILED, {**target, "collectors": [pod]}), ("GET", f"{PATH}?namespace={theirs.namespace}", None),
            ("GET", f"{PATH}?namespace={theirs.namespace}&coordinator=theirs-coordinator", None),
            ("GET", f"{PATH}?name={pod}", None), ("GET", PATH, None)]


# -- jobs of others


def test_the_role_in_one_namespace_opens_no_job_of_another(caller, theirs):
    for method, path, body in calls_on(theirs):
        assert caller.call(method, path, body).status == 403, (method, path)
    check_untouched(theirs)


def test_a_pod_of_one_job_opens_no_job_of_another_namespace(caller, theirs, token_of):
    token = token_of("mine-coordinator")
    for method, path, body in calls_on(theirs):
        assert caller.call(method, path, body, token).status == 403, (method, path)
    assert caller.call("POST", body={"namespace": caller.namespace, "coordinator": "mine-coordinator",
                                     "collectors": {"replicas": 1}}, token=token).status == 200
    check_untouched(theirs)


MINE = '"namespace": "{mine}", "coordinator": "mine-coordinator"'
THEIRS = '"namespace": "{theirs}", "coordinator": "theirs-coordinator"'
TWICE = [f"{MINE}, {THEIRS}", f"{THEIRS}, {MINE}",
         MINE + ', "NAMESPACE": "{theirs}", "COORDINATOR": "theirs-coordinator"',
         '"Namespace": "{theirs}", "Coordinator": "theirs-coordinator", ' + MINE]


def test_a_job_that_is_named_twice_is_the_one_that_was_judged(caller, theirs):
    """In a JSON object the last of equal keys counts, and case does not."""
    pod = theirs.pods("theirs", "collector")[0].metadata.name
    for keys in TWICE:
        text = keys.format(mine=caller.namespace, theirs=theirs.namespace)
        for method, path, group in (("POST", PATH, '{"replicas": 1}'), ("DELETE", PATH, '{"replicas": 1}'),
                                    ("POST", FAILED, f'["{pod}"]')):
            said = caller.call(method, path, f'{{{text}, "collectors": {group}}}')
            assert said.status in (200, 400, 403, 404), (text, said)
        check_untouched(theirs)


def test_a_query_beside_a_body_names_no_other_job(caller, theirs):
    where = f"?namespace={theirs.namespace}&coordinator=theirs-coordinator"
    for method in ("POST", "DELETE"):
        body = {"namespace": caller.namespace, "coordinator": "mine-coordinator", "collectors": {"replicas": 1}}
        assert caller.call(method, PATH + where, body).status in (200, 400)
    check_untouched(theirs)


def test_replicas_of_others_are_not_replaced_in_the_name_of_an_own_job(caller, theirs):
    pod = theirs.pods("theirs", "collector")[0].metadata
    other = theirs.namespace
    for name in (pod.name, f"{pod.name}.{other}:22270", f"{other}/{pod.name}", f"../{other}/pods/{pod.name}"):
        said = caller.call("POST", FAILED, {
            "namespace": caller.namespace, "coordinator": "mine-coordinator", "collectors": [name]})
        assert said.status in (400, 404), said
    for coordinator in (pod.name, "theirs-coordinator", f"theirs-coordinator.{other}", f"{other}/theirs-coordinator"):
        assert caller.add(coordinator=coordinator).status in (400, 404), coordinator
    assert theirs.pods("theirs", "collector")[0].metadata.uid == pod.uid
    check_untouched(theirs)


# -- forged identities


FORGED = {"the address of a proxy": {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "Forwarded": "for=127.0.0.1"},
          "a front proxy of Kubernetes": {"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"},
          "an impersonated user": {"Impersonate-User": "system:admin", "Impersonate-Group": "system:masters"},
          "a basic login": {"Authorization": "Basic YWRtaW46YWRtaW4="},
          "a bearer of nothing": {"Authorization": "Bearer "},
          "a token that none has signed": {"Authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ."}}


def test_a_forged_identity_is_no_identity(caller):
    for how, headers in FORGED.items():
        said = caller.api.call("POST", PATH, {"namespace": caller.namespace, "coordinator": "mine-coordinator",
                                              "collectors": {"replicas": 1}}, headers)
        assert said.status in (400, 401), (how, said)
        assert not said.json["success"]


def test_headers_beside_a_valid_token_add_no_right(caller, theirs):
    for headers in FORGED.values():
        if "Authorization" in headers:
            continue
        assert caller.add(coordinator="theirs-coordinator", namespace=theirs.namespace, headers=headers).status == 403
    check_untouched(theirs)


def bound_token(user, core, kind, name, uid):
    return core.create_namespaced_service_account_token("default", user.namespace, {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
            "audiences": ["nervex-server"], "boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid}}}
    ).status.token


def test_a_pod_that_looks_like_one_of_the_job_has_no_right(caller, user):
    """With all labels, and with an owner reference that does not make the job its controller."""
    owner = {"apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob", "name": "mine", "controller": False,
             "uid": user.jobs.get("mine")["metadata"]["uid"]}
    made = user.core.create_namespaced_pod(user.namespace, {
        "metadata": {"name": "mine-collector-zzzzz", "ownerReferences": [owner], "labels": {
            "group-name": "nervex.sensetime.com", "nervexjob-name": "mine", "controller-name": "nervex-operator",
            "replica-type": "coordinator"}},
        "spec": {"containers": [{"name": "nervex-container", "image": "i"}]}})
    token = bound_token(user, user.core, "Pod", made.metadata.name, made.metadata.uid)
    for coordinator in ("mine-coordinator", "mine-collector-zzzzz"):
        said = caller.call("POST", body={"namespace": user.namespace, "coordinator": coordinator,
                                         "collectors": {"replicas": 1}}, token=token)
        assert said.status in (403, 404), said
    assert not entries(user.jobs, "mine")


def test_a_pod_with_the_uid_of_a_job_of_others_as_its_owner_has_no_right(caller, user, theirs):
    uid = theirs.get("theirs")["metadata"]["uid"]
    for number, kind in enumerate(("NerveXJob", "ConfigMap")):
        api = "nervex.sensetime.com/v1alpha1" if kind == "NerveXJob" else "v1"
        made = user.core.create_namespaced_pod(user.namespace, {
            "metadata": {"name": f"theirs-coordinator-{number}", "finalizers": ["example.com/stays"],
                         "labels": {"group-name": "nervex.sensetime.com", "nervexjob-name": "theirs",
                                    "replica-type": "coordinator"},
                         "ownerReferences": [{"apiVersion": api, "kind": kind, "name": "theirs", "uid": uid,
                                              "controller": kind == "ConfigMap"}]},
            "spec": {"containers": [{"name": "nervex-container", "image": "i"}]}})
        token = bound_token(user, user.core, "Pod", made.metadata.name, made.metadata.uid)
        for method, path, body in calls_on(theirs):
            assert caller.call(method, path, body, token).status in (401, 403), (kind, method, path)
        user.call("PATCH", user.pod_path(made.metadata.name), {"metadata": {"finalizers": None}})
    check_untouched(theirs)


def test_a_token_of_a_secret_is_that_of_its_account_only(caller, user, theirs):
    made = user.core.create_namespaced_secret(user.namespace, {"metadata": {"name": "mine-coordinator"}})
    token = bound_token(user, user.core, "Secret", made.metadata.name, made.metadata.uid)
    for namespace, name in ((user.namespace, "mine"), (theirs.namespace, "theirs")):
        said = caller.call("POST", body={"namespace": namespace, "coordinator": f"{name}-coordinator",
                                         "collectors": {"replicas": 1}}, token=token)
        assert said.status == 403, said


# -- repeats


def test_the_key_of_another_job_answers_nothing_of_it(caller, user):
    user.jobs.create(job("second", aggregator="OnDemand"))
    user.jobs.wait_phase("second", "Running", LONG)
    key = {"Idempotency-Key": "k"}
    first = caller.add(1, headers=key)
    second = caller.add(1, coordinator="second-coordinator", headers=key)
    assert first.data["collectors"] and second.data["collectors"]
    assert "second" in second.data["collectors"][0] and "mine" not in second.text
    assert caller.add(2, headers=key).status == 409


KEYS = {"of 10 kilobytes": "k" * 10_000, "of 300 characters": "k" * 300, "with a bell": "a\x07b", "of no character": "",
        "of another script": "\u00e9\u00ff"}


def test_an_odd_key_is_refused_or_kept_short(caller, user):
    for what, key in KEYS.items():
        said = caller.add(1, headers={"Idempotency-Key": key})
        assert said.status in (200, 400, 431), (what, said)
    for one in user.jobs.get("mine")["spec"].get("requests", {}).get("calls", []):
        assert len(one.get("key", "")) <= 255
    assert caller.add(1).status == 200


# -- amounts


AMOUNTS = [{"gpus": "1e100"}, {"gpus": str(2**63)}, {"gpus": "-1"}, {"gpus": "0.5"}, {"cpus": "1e-30"}, {"cpus": "0x10"},
           {"memory": "1Zi"}, {"memory": "NaN"}, {"memory": ""}, {"cpus": "1" * 5000}, {"cpus": [1]}, {"gpus": {"a": 1}},
           {"replicas": 2**31}, {"replicas": 1001}]


def test_amounts_beyond_sense_are_refused_with_the_field(caller, user):
    wrong = []
    for amount in AMOUNTS:
        said = caller.call("POST", body={"namespace": user.namespace, "coordinator": "mine-coordinator",
                                         "collectors": {"replicas": 1, **amount}})
        if said.status == 200 and said.json["success"]:
            slots = entries(user.jobs, "mine")[-1]
            wrong += [(amount, slots)] if len(slots["slots"]) > 1000 else []
        elif said.status not in (400, 409) or not said.json["message"]:
            wrong.append((amount, said))
    assert wrong == []
    assert user.jobs.phase("mine") == "Running"


def test_learners_of_more_gpus_than_any_node_has_do_not_multiply_pods(caller, user, programs):
    before = programs.metrics("server")["process_resident_memory_bytes"]
    for gpus, replicas in (("10000000", 1), ("100000", 1000), (str(2**62), 1000)):
        said = caller.call("POST", body={"namespace": user.namespace, "coordinator": "mine-coordinator",
                                         "learners": {"replicas": replicas, "gpus": gpus}})
        assert said.status in (400, 409), said
    assert not entries(user.jobs, "mine")
    assert programs.metrics("server")["process_resident_memory_bytes"] < before + 32 * MB


@pytest.mark.extended
def test_a_job_gets_no_more_than_5000_pods_by_requests(caller, user):
    said = [caller.add(1000, cpus="60") for _ in range(6)]
    assert [one.status for one in said] == [200] * 5 + [409], said
    assert sum(len(one["slots"]) for one in entries(user.jobs, "mine")) <= 5000


def test_a_list_of_many_names_is_answered_soon(caller, user, programs):
    before = programs.metrics("server")["process_resident_memory_bytes"]
    names = [f"mine-collector-{i}" for i in range(45_000)]
    said = caller.call("POST", FAILED, {"namespace": user.namespace, "coordinator": "mine-coordinator", "collectors": names})
    assert said.status in (400, 404, 413) and len(said.text) < 10_000, said
    wait_for(lambda: ((now := programs.metrics("server")["process_resident_memory_bytes"]) < before + 24 * MB, now - before),
             "the memory to be given back", 20)


# -- many at once


@pytest.mark.extended
def test_calls_that_add_and_remove_leave_a_small_object(caller, user):
    for _ in range(12):
        assert caller.add(1, cpus="60").status == 200
        assert caller.call("DELETE", body={"namespace": user.namespace, "coordinator": "mine-coordinator",
                                           "collectors": {"replicas": 1}}).status == 200
    assert not entries(user.jobs, "mine")
    assert len(json.dumps(user.jobs.get("mine")["spec"]["requests"])) < 20_000
    assert len(user.jobs.get("mine")["spec"]["requests"].get("calls", [])) <= 100


@pytest.mark.extended
def test_a_flood_for_one_job_does_not_delay_another(caller, user, programs, theirs, core):
    """30 callers of one job; the answers of another team come meanwhile."""
    before = programs.metrics("server")["process_resident_memory_bytes"]
    stop, said = threading.Event(), []

    def flood():
        while not stop.is_set():
            said.append(caller.add(1, cpus="60").status)
    threads = [threading.Thread(target=flood) for _ in range(30)]
    for one in threads:
        one.start()
    try:
        api = programs.api()
        token = kubelet.pod_token(api, api.get(kubelet.pod_path(theirs.namespace, "theirs-coordinator")))
        body = {"namespace": theirs.namespace, "coordinator": "theirs-coordinator"}
        served = [caller.call("POST", body={**body, "collectors": {"replicas": 1}}, token=token) for _ in range(3)]
        listed = caller.call("GET", f"{PATH}?namespace={theirs.namespace}&coordinator=theirs-coordinator", token=token)
    finally:
        stop.set()
        for one in threads:
            one.join()
    assert all(one.status == 200 and one.json["success"] for one in served) and listed.status == 200, (served, listed)
    assert set(said) <= {200, 409}, set(said)
    assert programs.metrics("server")["process_resident_memory_bytes"] < before + 64 * MB


def test_adding_and_removing_at_once_loses_no_replica(caller, user):
    def repeat(method, counted):
        for number in range(3):
            said = caller.call(method, body={"namespace": user.namespace, "coordinator": "mine-coordinator",
                                             "collectors": {"replicas": 1, "cpus": "60"}},
                               headers={"Idempotency-Key": f"{method}-{threading.get_ident()}-{number}"})
            assert said.status == 200, said
            counted.append(len(said.data["collectors"]) if said.json["success"] else 0)
    added, removed = [], []
    threads = [threading.Thread(target=repeat, args=one) for one in [("POST", added), ("DELETE", removed)] * 3]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(added) == len(removed) == 9
    assert sum(len(one["slots"]) for one in entries(user.jobs, "mine")) == sum(added) - sum(removed)
