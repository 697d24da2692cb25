"""One job from its creation to its clean-up, driven as its user, its kubelet and its coordinator would, with faults
on the way. Two runs with the same result have equal `end_state`s."""

import collections
import http.client
import uuid

import pytest
from support.invariants import Broken
from support.jobs import job, template
from support.replicas_api import pod_of

PATIENCE = 120.0  # for each step; an undisturbed one takes a second
BASE = {("coordinator", 0), ("aggregator", 0), ("collector", 0), ("collector", 1), ("learner", 0), ("learner", 1)}
REQUESTED = [("collector", 4096), ("learner", 4096)]
GROWN = len(BASE) + len(REQUESTED)


def body(name):
    """Six pods, with learners on nodes of 8 GPUs each, so that a leaked one shows in the next job."""
    one = job(name, backoffLimit=1)
    one["spec"]["collector"]["replicas"] = 2
    one["spec"]["learner"] = {"replicas": 2, "template": template(gpus=8)}
    return one


class JobLife:
    """Created, started, grown by two replicas; one of them fails and is replaced, the other is removed; then the
    coordinator fails, is retried once, and completes."""

    STEPS = ("start", "grow", "replace", "shrink", "retry", "end")

    def __init__(self, jobs, node_agent, replicas_api, name="life"):
        self.jobs, self.node_agent, self.replicas_api, self.name = jobs, node_agent, replicas_api, name
        self.coordinator = f"{name}-coordinator"
        self.uid = None
        self.bound = collections.Counter()  # what must have been bound to each slot so far

    def run(self, created=False, before=lambda step: None):
        """Runs from create() on, unless that was called before; returns the end_state. Calls `before` with each step
        at its start, with "start" before the job is created."""
        for step in self.STEPS:
            before(step)
            if step == "start" and not created:
                self.create()
            getattr(self, step)()
        return self.end_state()

    def create(self):
        self.uid = self.jobs.create(body(self.name))["metadata"]["uid"]

    def start(self, attempt=1):
        def look():
            status = self.jobs.get(self.name).get("status", {})
            return (status.get("phase"), status.get("attempt")) == ("Running", attempt), status
        self.jobs.wait(look, f"attempt {attempt} of job {self.name} to run", PATIENCE)
        self.jobs.wait_pods(self.name, len(BASE), "Running", timeout=PATIENCE)
        self.bound.update(BASE)

    def grow(self):
        """Adds one collector and one learner."""
        self.grown = self.ask("POST", collectors={"replicas": 1}, learners={"replicas": 1})
        self.jobs.wait_pods(self.name, GROWN, "Running", timeout=PATIENCE)
        self.bound.update(REQUESTED)

    def replace(self):
        """The new collector fails and is replaced."""
        failed = pod_of(self.grown["collectors"][0])
        self.node_agent.finish(failed, 1)
        self.jobs.wait(lambda: (self.jobs.counts(self.name)["Collector"]["failed"] == 1, self.jobs.counts(self.name)),
                 "the failure to be counted", PATIENCE)
        successor = pod_of(self.ask("POST", "/failed", collectors=[failed])["collectors"][0])
        assert successor != failed

        def look():
            names = {one.metadata.name for one in self.jobs.pods(self.name)}
            return successor in names and failed not in names, names
        self.jobs.wait(look, f"{successor} to take the place of {failed}", PATIENCE)
        self.jobs.wait_pods(self.name, GROWN, "Running", timeout=PATIENCE)
        self.bound.update(REQUESTED[:1])

    def shrink(self):
        """Removes the new learner."""
        gone = self.ask("DELETE", learners={"replicas": 1})
        assert gone["learners"] == self.grown["learners"]
        self.jobs.wait_pods(self.name, GROWN - 1, "Running", timeout=PATIENCE)

    def retry(self):
        """The coordinator fails: the whole gang starts again, without the requested replicas."""
        self.node_agent.finish(self.coordinator, 3, "no data left")
        self.start(attempt=2)

    def end(self):
        self.node_agent.finish(self.coordinator)
        self.jobs.wait_phase(self.name, "Succeeded", timeout=PATIENCE)
        self.jobs.wait_pods(self.name, 1, timeout=PATIENCE)
        self.jobs.wait(lambda: (not self.left_overs(), self.left_overs()), "services and PodGroups to go", PATIENCE)

    def ask(self, method, path="", **groups):
        """Returns the reply's data. A call whose reply was lost is sent again with the same key, and applied once."""
        key = str(uuid.uuid4())

        def send():
            try:
                reply = self.replicas_api.call(
                    method, self.replicas_api.PATH + path, headers={"Idempotency-Key": key},
                    body={"namespace": self.jobs.namespace, "coordinator": self.coordinator, **groups})
            except (OSError, http.client.HTTPException) as error:
                return False, error
            if reply.status != 200:
                pytest.fail(f"{method} {path} was refused: {reply}")
            return (True, reply.data) if reply.json["success"] else (False, reply.text)
        return self.jobs.wait(send, f"the server to take {method} {path}", PATIENCE)

    def left_overs(self):
        return ([one.metadata.name for one in self.jobs.services(self.name)]
                + [one["metadata"]["name"] for one in self.jobs.pod_groups(self.name)])

    def end_state(self):
        status = self.jobs.get(self.name)["status"]
        return {
            "phase": status["phase"], "reason": status.get("reason"), "attempt": status.get("attempt"),
            "counts": self.jobs.counts(self.name),
            # PodsCreated tells of writes that failed twice in a row, and is True when they work again.
            "conditions": {one["type"]: (one["status"], one.get("reason")) for one in status["conditions"]
                           if (one["type"], one["status"]) != ("PodsCreated", "True")},
            "pods": sorted((one.metadata.labels["replica-type"], one.status.phase)
                           for one in self.jobs.pods(self.name)),
            "left over": Broken(self.left_overs()),
        }

    def faults_seen(self, observer):
        """The observer's findings about this job, one sentence each; empty is good."""
        observer.catch_up()
        found = Broken(observer.broken)
        if again := observer.bound_again(self.uid):
            found.append(f"slots to which a pod was bound again though nothing had happened to it: {again}")
        bound = observer.slots_bound(self.uid)
        if bound != self.bound:
            found.append(f"bound were {dict(bound)}, wanted {dict(self.bound)}")
        if lonely := observer.lonely_coordinators(self.uid, BASE):
            found.append(f"a coordinator was bound before these were created: {lonely}")
        return found
