"""Changes of Queues drawn from a seed, and what makes the use of a queue hard to count: workers that finish, jobs that
end and leave their pods, replicas that are requested and removed, gangs of other operators that end slowly."""

import random
import time

from tools.cluster import kubelet
from tools.cluster.api import ApiError

from support import foreign_gangs
from support.chaos import Faults, deck
from support.jobs import GROUP, VERSION
from support.wait import absent, wait_for

CHANGES = ("limit lowered", "limit of the parent lowered", "class limit", "moved", "deleted", "limit lowered")
ENDS = ("workers finish", "job ends", "workers finish")
GPU = "nvidia.com/gpu"


class QueueChaos(Faults):
    """`specs`: {name: spec} of the Queues when all is calm; `plans`: {kind of CHANGES: [(name, changed part of the
    spec)]}. `create_again(name)` deletes a job and creates it again. `guests`: foreign_gangs.Gangs, which may use
    `nodes`."""

    def __init__(self, api, jobs, replicas, seed, specs, plans, create_again, guests, nodes):
        super().__init__(self._change, self._end, self._ask, self._visit)
        self._api, self._jobs, self._replicas, self._create_again = api, jobs, replicas, create_again
        self._specs, self._plans, self._guests, self._nodes = specs, plans, guests, nodes
        self._chance = {what: random.Random(f"{seed} {what}") for what in ("queues", "ends", "requests", "guests")}

    def lacking(self):
        """Kinds that have not happened yet."""
        kinds = [*(f"queue: {kind}" for kind in CHANGES), *ENDS, "replicas requested", "replicas removed", "guests"]
        return sorted({kind for kind in kinds if not self.done[kind]})

    def stop(self):
        super().stop()
        for name in self._running():
            self._remove_requested(name)

    # -- Queues

    def _change(self):
        chance = self._chance["queues"]
        for kind in deck(chance, CHANGES):
            name, part = chance.choice(self._plans[kind])
            if kind == "deleted":
                self._api.call("DELETE", self._path(name))
            else:
                self._patch(name, part)
            self._over.wait(chance.uniform(4, 12))
            if kind == "deleted":
                self._api.post(self._path(), {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Queue",
                                              "metadata": {"name": name}, "spec": self._specs[name]})
            else:
                self._patch(name, {field: self._specs[name].get(field) for field in part})
            self.done[f"queue: {kind}"] += 1
            if self._over.wait(chance.uniform(1, 4)):
                return

    def _path(self, name=""):
        return f"/apis/{GROUP}/{VERSION}/queues" + (f"/{name}" if name else "")

    def _patch(self, name, part):
        self._api.call("PATCH", self._path(name), {"spec": part}, "application/merge-patch+json")

    # -- jobs

    def _running(self):
        found = self._api.get(f"/apis/{GROUP}/{VERSION}/namespaces/{self._jobs.namespace}/nervexjobs")["items"]
        return sorted(one["metadata"]["name"] for one in found if one.get("status", {}).get("phase") == "Running")

    def _pick(self, chance):
        names = self._running()
        return chance.choice(names) if names else ""

    def _end(self):
        """Workers of a job finish, or its coordinator; a while later the job is created again."""
        chance, ended = self._chance["ends"], ""
        for kind in deck(chance, ENDS):
            if self._over.wait(chance.uniform(2, 5)):
                return
            name, count = self._pick(chance), chance.randint(2, 6)
            if not name:
                continue
            role = "collector" if kind == "workers finish" else "coordinator"
            pods = [one.metadata.name for one in self._jobs.pods(name, role) if one.status.phase == "Running"]
            try:
                for pod in pods[:count]:
                    kubelet.finish(self._api, self._jobs.namespace, pod)
            except ApiError as error:  # the job was requeued meanwhile
                if not absent(error):
                    raise
            self.done[kind] += bool(pods)
            self._over.wait(chance.uniform(4, 10))
            self._create_again(name)

    def _ask(self):
        chance = self._chance["requests"]
        while not self._over.wait(chance.uniform(1, 3)):
            name, count, removes = self._pick(chance), chance.randint(1, 3), chance.random() < 0.4
            if name and removes:
                self._remove_requested(name)
            elif name:
                reply = self._replicas.add(self._jobs.namespace, f"{name}-coordinator", collectors=count)
                self.done["replicas requested"] += reply.status == 200 and reply.json["success"]

    def _requested(self, name):
        """How many the job's present coordinator has requested and not removed."""
        try:
            job = self._api.get(f"/apis/{GROUP}/{VERSION}/namespaces/{self._jobs.namespace}/nervexjobs/{name}")
        except ApiError as error:
            if absent(error):
                return 0
            raise
        return sum(run.get("count", 1) for entry in job["spec"].get("requests", {}).get("entries", [])
                   if entry["attempt"] == job.get("status", {}).get("attempt") for run in entry["slots"])

    def _remove_requested(self, name):
        def look():
            count = self._requested(name)
            if count:
                reply = self._replicas.remove(self._jobs.namespace, f"{name}-coordinator", collectors=count)
                self.done["replicas removed"] += reply.status == 200 and reply.json["success"]
                return False, reply
            return True, count
        if self._over.is_set():
            wait_for(look, f"the requests of {name} to be removed", interval=0.5)
        else:
            look()

    # -- gangs of other operators

    def _visit(self):
        chance, number = self._chance["guests"], 0
        while not self._over.wait(chance.uniform(1, 3)):
            number += 1
            name, count = f"guest-{number}", chance.randint(2, 4)
            self._guests.create(name, count, gpus=2, nodes=self._nodes, terminationGracePeriodSeconds=6)
            for pod in self._guests.pods(name):
                kubelet.annotate(self._api, self._guests.namespace, pod.metadata.name, terminates="slowly")
            until = time.monotonic() + chance.uniform(6, 12)
            while time.monotonic() < until and not self._over.wait(0.5):
                pass
            self.done["guests"] += bool(self._guests.bound(name))
            self._guests.end(name)
