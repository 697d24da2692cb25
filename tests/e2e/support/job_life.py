"""One job from its creation to its clean-up, driven as its user, its kubelet and its coordinator would,
with whatever goes wrong on the way. Two runs that end alike have equal `end_state`s."""

import http.client

from support.jobs import job, template
from support.wait import wait_for

PATIENCE = 60.0  # for each step; an undisturbed one takes a second
BASE = {("coordinator", 0), ("aggregator", 0), ("collector", 0), ("collector", 1), ("learner", 0), ("learner", 1)}
GROWN = len(BASE) + 2


def body(name):
    """Six pods, the learners on a node of 8 GPUs each, so that a leaked one shows in the next job."""
    one = job(name)
    one["spec"]["collector"]["replicas"] = 2
    one["spec"]["learner"] = {"replicas": 2, "template": template(gpus=8)}
    return one


class JobLife:
    def __init__(self, jobs, node_agent, replicas_api, name="life"):
        self.jobs, self.node_agent, self.replicas_api, self.name = jobs, node_agent, replicas_api, name
        self.uid = None

    def run(self, created=False):
        """From create() on unless that was called before; returns the end_state."""
        for step in (self.start, self.grow, self.end) if created else (self.create, self.start, self.grow, self.end):
            step()
        return self.end_state()

    def create(self):
        self.uid = self.jobs.create(body(self.name))["metadata"]["uid"]

    def start(self):
        self.jobs.wait_pods(self.name, len(BASE), "Running", timeout=PATIENCE)
        self.jobs.wait_phase(self.name, "Running", timeout=PATIENCE)

    def grow(self):
        """One collector and one learner more. A reply that was lost is looked for in the job: this version
        of the server would take a repeat for another request."""
        def ask():
            if self.jobs.get(self.name)["spec"].get("requests", {}).get("entries"):
                return True
            try:
                reply = self.replicas_api.add(self.jobs.namespace, f"{self.name}-coordinator", collectors=1,
                                              learners={"replicas": 1})
                return reply.json["success"], reply.text
            except (OSError, http.client.HTTPException) as error:
                return False, error
        wait_for(ask, "the server to take the request", PATIENCE)
        self.jobs.wait_pods(self.name, GROWN, "Running", timeout=PATIENCE)

    def end(self):
        self.node_agent.finish(f"{self.name}-coordinator")
        self.jobs.wait_phase(self.name, "Succeeded", timeout=PATIENCE)
        self.jobs.wait_pods(self.name, 1, timeout=PATIENCE)
        wait_for(lambda: (not self.left_overs(), self.left_overs()), "services and PodGroups to go", PATIENCE)

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
            "left over": self.left_overs(),
        }

    def faults_seen(self, observer):
        """What the observer says of this job, as sentences; empty is well."""
        found = list(observer.broken)
        bound = observer.slots_bound(self.uid)
        twice = {slot: count for slot, count in bound.items() if count > 1}
        if twice:
            found.append(f"slots whose pod was bound again though nothing had happened to it: {twice}")
        if len(bound) != GROWN or not BASE <= set(bound):
            found.append(f"bound were {sorted(bound)}, wanted the base gang and two more")
        missing = BASE - observer.before_coordinator.get(self.uid, set())
        if missing:
            found.append(f"the coordinator was bound before these were created: {sorted(missing)}")
        return found
