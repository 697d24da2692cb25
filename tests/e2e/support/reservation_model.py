"""A small scheduler that reserves nodes for the first gang that waits, and starts others there by the rules, but for
one that it is told to break: its random histories show whether the judge of reserved nodes finds that, and nothing
else. No cluster, no I/O."""

import dataclasses
import random

from support.stored import Change, Group, Node, Pod, Queue, Reservation

GPU, SIZE = "nvidia.com/gpu", 8
FAULTS = ("forgets reservations", "takes any end for soon enough", "takes pods that stay for ones that end")
LIMITS = ({}, {"seconds": 400, "grace": 10}, {"seconds": 2000, "grace": 10}, {"seconds": 100}, {"preemptible": True})
MARGIN = 60                   # a job that ends in time ends so long before the reservation is due


@dataclasses.dataclass
class Job:
    group: Group
    gpus: int
    node: str = ""
    end: float = float("inf")  # in seconds of the model

    def ends_for(self, reservation):
        """The gang that has reserved the node does not wait for longer than this."""
        if self.group.preemptible or self.group.uid in reservation.counts_on:
            return True
        return reservation.due is not None and self.end <= reservation.due


class Model:
    def __init__(self, seed, fault=""):
        self._chance, self._fault = random.Random(seed), fault
        self.changes, self._now, self._number = [], 0, 0
        self._running, self._planned, self._heads = [], [], []
        self._store(Queue("team"))
        for name in ("a", "b"):
            self._store(Node(name, True, {GPU: SIZE}))

    def run(self, steps):
        acts = (*[self._start] * 4, *[self._bind] * 3, self._end, self._reserve, self._release)
        for _ in range(steps):
            self._now += self._chance.uniform(2, 20)
            for job in [one for one in self._running if one.end <= self._now]:
                self._leave(job)
            self._chance.choice(acts)()
        return self.changes

    def _store(self, what, gone=False):
        self.changes.append(Change(len(self.changes) + 1, self._now, gone, what))

    def _job(self, first=False):
        self._number += 1
        more = {} if first else self._chance.choice(LIMITS)
        group = Group(f"g{self._number}", "g", frozenset({("collector", 0)}), {}, queue="team",
                      queued_since=0 if first else self._number, **more)
        return Job(group, SIZE - 2 if first else self._chance.randint(1, 4))

    def _on(self, node):
        return [one for one in self._running + self._planned if one.node == node]

    def _reservation(self, node):
        return next((one.group.reservation for one in self._heads if one.node == node), None)

    def _end_of(self, job):
        knows = job.group.grace is not None
        return self._now + job.group.seconds + job.group.grace if job.group.seconds and knows else float("inf")

    def _may_start(self, job, node):
        free, kept = SIZE - sum(one.gpus for one in self._on(node)), self._reservation(node)
        if kept is None or self._fault == "forgets reservations":
            return job.gpus <= free
        end = self._end_of(job)
        if self._fault == "takes pods that stay for ones that end" and job.group.seconds:
            end = self._now + job.group.seconds
        soon = kept.due is not None and end + MARGIN <= kept.due
        if self._fault == "takes any end for soon enough":
            soon = end < float("inf")
        if job.group.preemptible or soon:
            return job.gpus <= free
        given_back = sum(one.gpus for one in self._on(node) if one.ends_for(kept))
        return job.gpus <= free - max(0, kept.nodes[node][GPU] - given_back)

    def _start(self):
        job, node = self._job(), self._chance.choice("ab")
        if self._may_start(job, node):
            job.node, job.end = node, self._end_of(job)
            job.group = dataclasses.replace(job.group, placements={("collector", 0): (1, node)})
            self._planned.append(job)
            self._store(job.group)

    def _bind(self):
        if self._planned:
            job = self._planned.pop(0)
            self._running.append(job)
            self._store(dataclasses.replace(job.group, committed=True))
            self._store(self._pod(job))

    def _pod(self, job):
        uid = job.group.uid
        return Pod(uid, uid, job.node, {GPU: job.gpus}, slot=(uid, "collector", 0), group=uid, queue="team")

    def _end(self):
        if self._running:
            self._leave(self._chance.choice(self._running))

    def _leave(self, job):
        self._running.remove(job)
        self._store(job.group, gone=True)
        self._store(self._pod(job), gone=True)

    def _reserve(self):
        """Where nothing is reserved: it counts on all that is there, and without a known end waits without one."""
        node = self._chance.choice("ab")
        if self._reservation(node):
            return
        head, there = self._job(first=True), self._on(node)
        bounded = [one for one in there if not one.group.preemptible]
        due = max((one.end for one in bounded), default=self._now)
        kept = Reservation({node: {GPU: head.gpus}}, tuple(sorted(one.group.uid for one in bounded)),
                           due if due < float("inf") else None)
        head.node, head.group = node, dataclasses.replace(head.group, reservation=kept)
        self._heads.append(head)
        self._store(head.group)

    def _release(self):
        if self._heads:
            head = self._heads.pop(0)
            self._store(dataclasses.replace(head.group, reservation=None))
