"""A call that changes replicas counts once: with an Idempotency-Key always, without one if the reply to the first
try may be lost. Two servers, cut connections, a killed server, and an unreachable API server."""

import http.client
import json
import threading

import pytest
from support.fault_proxy import writes
from support.jobs import job
from support.replicas_api import ReplicasApi, body_of
from support.wait import wait_for

NAME = "again"
COORDINATOR = f"{NAME}-coordinator"
PATCH = "PATCH nervexjobs"


@pytest.fixture
def running(jobs, namespace):
    jobs.create(job(NAME))
    jobs.wait_phase(NAME, "Running")
    return namespace


@pytest.fixture
def two_servers(programs):
    """A second server beside that of `replicas_api`."""
    name = programs.start_second("server")
    return ReplicasApi(programs.programs[name]["url"])


def wanted(jobs):
    entries = jobs.get(NAME)["spec"].get("requests", {}).get("entries", [])
    return sum(len(entry["slots"]) for entry in entries)


class Asking(threading.Thread):
    """POSTs for one collector on a separate thread; .reply when it has ended, or None."""

    def __init__(self, api, namespace):
        super().__init__(daemon=True)
        self.api, self.namespace, self.reply = api, namespace, None
        self.start()

    def run(self):
        try:
            self.reply = self.api.add(self.namespace, COORDINATOR, collectors=1)
        except (OSError, http.client.HTTPException):
            pass

    def ended(self):
        self.join(30)
        assert not self.is_alive()
        return self.reply


class Leaving:
    """Sends a POST for one collector, and disconnects without reading the answer."""

    def __init__(self, api, namespace):
        self.connection = http.client.HTTPConnection(api.address, timeout=30)
        self.connection.request("POST", api.PATH, json.dumps(body_of(namespace, COORDINATOR, {"collectors": 1})))

    def leave(self):
        self.connection.close()


# -- with a key


def test_a_key_counts_once_on_two_servers(jobs, running, replicas_api, two_servers):
    body, headers = body_of(running, COORDINATOR, {"collectors": 2}), {"Idempotency-Key": "2f6c"}
    first = replicas_api.call("POST", body=body, headers=headers)
    assert first.status == 200, first
    for api in (two_servers, replicas_api, two_servers):
        assert api.call("POST", body=body, headers=headers).text == first.text
    assert wanted(jobs) == 2

    removal = {"headers": {"Idempotency-Key": "2f6d"}, "body": body_of(running, COORDINATOR, {"collectors": 1})}
    removed = two_servers.call("DELETE", **removal)
    assert len(removed.data["collectors"]) == 1
    assert replicas_api.call("DELETE", **removal).text == removed.text
    assert wanted(jobs) == 1


def test_a_key_is_for_one_call(running, replicas_api, two_servers):
    headers = {"Idempotency-Key": "2f6c"}
    replicas_api.call("POST", body=body_of(running, COORDINATOR, {"collectors": 1}), headers=headers)
    for api, method, count in ((two_servers, "POST", 2), (replicas_api, "DELETE", 1)):
        reply = api.call(method, body=body_of(running, COORDINATOR, {"collectors": count}), headers=headers)
        assert reply.status == 409, reply
        assert "Idempotency-Key 2f6c" in reply.json["message"]


def test_a_key_that_cannot_be_kept_is_400(running, replicas_api):
    body = body_of(running, COORDINATOR, {"collectors": 1})
    assert replicas_api.call("POST", body=body, headers={"Idempotency-Key": "k" * 256}).status == 400


# -- without one


def test_the_same_call_twice_is_applied_twice(jobs, running, replicas_api):
    first, second = (replicas_api.add(running, COORDINATOR, collectors=1).data["collectors"] for _ in range(2))
    assert first != second
    assert wanted(jobs) == 2


def test_another_server_cannot_know_that_a_reply_was_read(jobs, running, replicas_api, two_servers):
    """This is why the service has client-IP affinity."""
    first = replicas_api.add(running, COORDINATOR, collectors=1)
    assert two_servers.add(running, COORDINATOR, collectors=1).text == first.text
    assert two_servers.add(running, COORDINATOR, collectors=1).text != first.text  # it wrote that one itself
    assert wanted(jobs) == 2


def test_a_caller_that_left_before_its_reply_gets_it_when_it_comes_again(jobs, running, rig, replicas_api):
    before = rig.cluster.metrics("server")["nervex_server_idempotent_replays_total"]
    hold = rig.proxies["server"].hold(writes(PATCH, running), only_one=True)
    caller = Leaving(replicas_api, running)
    hold.wait()
    caller.leave()
    again = Asking(replicas_api, running)  # waits for the first one's outcome
    hold.release()
    reply = again.ended()
    assert reply.status == 200 and reply.json["success"], reply
    assert wanted(jobs) == 1
    assert rig.cluster.metrics("server")["nervex_server_idempotent_replays_total"] == before + 1


def test_a_server_that_died_after_its_write_has_still_answered(jobs, running, rig, replicas_api):
    hold = rig.proxies["server"].hold(writes(PATCH, running), after=True, only_one=True)
    first = Asking(replicas_api, running)
    hold.wait()
    rig.kill("server")
    hold.drop()
    assert first.ended() is None
    rig.start("server")
    reply = replicas_api.add(running, COORDINATOR, collectors=1)
    assert reply.status == 200 and reply.json["success"], reply
    assert wanted(jobs) == 1
    wait_for(lambda: replicas_api.get(namespace=running, coordinator=COORDINATOR).data["collectors"]
             == reply.data["collectors"], "the replica to be listed")


def test_a_server_that_died_before_its_write_has_done_nothing(jobs, running, rig, replicas_api):
    hold = rig.proxies["server"].hold(writes(PATCH, running), only_one=True)
    first = Asking(replicas_api, running)
    hold.wait()
    rig.kill("server")
    hold.drop()
    assert first.ended() is None
    rig.start("server")
    assert replicas_api.add(running, COORDINATOR, collectors=1).json["success"]
    assert wanted(jobs) == 1


@pytest.mark.parametrize("method", ["add", "remove", "replace"])
def test_a_write_whose_reply_is_lost_is_done_once(jobs, running, rig, replicas_api, method):
    added = replicas_api.add(running, COORDINATOR, collectors=2).data["collectors"]
    rig.proxies["server"].hold(writes(PATCH, running), after=True, only_one=True).drop()
    named = {"collectors": added[:1]} if method == "replace" else {"collectors": 1}

    def taken():  # as a client does: success:false is asked again
        reply = getattr(replicas_api, method)(running, COORDINATOR, **named)
        assert reply.status == 200, reply
        return reply.json["success"], reply
    reply = wait_for(taken, "the server to take the request")
    assert len(reply.data["collectors"]) == 1
    assert wanted(jobs) == {"add": 3, "remove": 1, "replace": 2}[method]
    if method == "replace":
        entries = jobs.get(NAME)["spec"]["requests"]["entries"]
        assert [slot["incarnation"] for slot in entries[0]["slots"]] == [1, 0]
