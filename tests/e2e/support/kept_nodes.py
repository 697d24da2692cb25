"""Does a binding take nodes from the gang that has reserved them? Pure.

Only what follows from objects is judged: no job of the same queue, and behind the gang in its order, starts on reserved
nodes if it would still be there when the gang is to start, and the gang's pods then do not fit beside it. Such a job is
not preemptible, and has no time limit, ends after the reservation's `due`, or leaves its pods there. Jobs of other
queues may come first by their queue's share, and gangs that heal may always come.

A gang is judged if its place was planned at least `grace` seconds after the nodes were reserved as they are now: the
two are in different objects, which are written at the same time."""

import collections

from support.replay import Replay
from support.stored import FIRST_REQUESTED, Group


class KeptNodes:
    """`broken` has a sentence for each binding that is wrong. `epoch`: when time.monotonic() was 0, in seconds since
    the epoch."""

    def __init__(self, grace, epoch):
        self._grace, self._epoch, self._replay = grace, epoch, Replay()
        self._kept = {}           # (head, node): (what is kept, and for whom it waits; since when)
        self._dues = collections.defaultdict(list)  # head: [(when it was seen, due)]
        self._there = collections.defaultdict(set)  # (head, node): pods that started there and will stay
        self.reservations = 0
        self.count = 0            # bindings on reserved nodes
        self.broken = []

    def judge(self, changes):
        for change in changes:
            binding = self._replay.apply(change)
            if isinstance(change.what, Group):
                self._reserve(change.what, change.at, change.gone)
            elif binding and binding.pod.slot:
                self._bound(binding)
        return self

    def _reserve(self, head, at, gone):
        kept = None if gone else head.reservation
        nodes = kept.nodes if kept else {}
        before = [node for uid, node in self._kept if uid == head.uid]
        self.reservations += bool(nodes and not before)
        for node in before:
            if node not in nodes:
                del self._kept[head.uid, node]
                self._there.pop((head.uid, node), None)
        if not kept:
            self._dues.pop(head.uid, None)
            return
        self._dues[head.uid].append((at, kept.due))
        for node, amounts in nodes.items():
            terms = amounts, kept.counts_on
            if self._kept.get((head.uid, node), (None, 0))[0] != terms:
                self._kept[head.uid, node] = terms, at
                self._there.pop((head.uid, node), None)

    def _bound(self, binding):
        pod = binding.pod
        heads = [uid for uid, node in self._kept if node == pod.node and uid != pod.group]
        self.count += bool(heads)
        planned, committed = self._replay.decided(pod, binding.at), self._replay.committed.get(pod.group)
        heals = committed is not None and planned.on_node > committed
        if heals or pod.slot[2] >= FIRST_REQUESTED or pod.group not in self._replay.groups:
            return
        for uid in heads:
            self._judge(pod, self._replay.groups[uid], planned.on_node)

    def _judge(self, pod, head, planned):
        (wanted, _), since = self._kept[head.uid, pod.node]
        group = self._replay.groups[pod.group]
        if planned - self._grace < since or not self._is_behind(pod, group, head):
            return
        if self._leaves_in_time(pod, group, head, planned):
            return
        there = self._there[head.uid, pod.node]
        there.add(pod.uid)
        used = sum((collections.Counter(one.requests) for one in map(self._replay.pods.get, there)
                    if one and one.occupies), collections.Counter())
        allocatable = self._replay.nodes[pod.node].allocatable if pod.node in self._replay.nodes else {}
        for resource, amount in wanted.items():
            if resource in allocatable and used[resource] + amount > allocatable[resource]:
                self.broken.append(
                    f"{pod.namespace}/{pod.name} of {group.name} was bound to {pod.node}, where {resource} {amount} of "
                    f"{allocatable[resource]} is reserved for {head.name}, which is before it in queue {head.queue}: "
                    f"jobs that started there since and will stay use {used[resource]}. It was planned "
                    f"{planned - since:.1f} s after the reservation and ends {self._end_of(pod, group)}")

    def _is_behind(self, pod, group, head):
        queue = self._replay.tree.get(pod.queue)
        serves_by_rank = queue.by_rank if queue else not pod.queue
        return pod.queue == head.queue and serves_by_rank and head.rank < group.rank

    def _seconds(self, pod, group):
        found = [group.seconds, self._replay.tree.max_seconds(pod.queue)]
        return min((one for one in found if one is not None), default=None)

    def _leaves_in_time(self, pod, group, head, planned):
        seconds = self._seconds(pod, group)
        if group.preemptible:
            return True
        if seconds is None or group.grace is None:
            return False
        window = [due for at, due in self._dues[head.uid] if at > planned - self._grace]
        before = [due for at, due in self._dues[head.uid] if at <= planned - self._grace]
        dues = [due for due in before[-1:] + window if due is not None]
        return any(self._epoch + planned + seconds + group.grace <= due for due in dues)

    def _end_of(self, pod, group):
        seconds = self._seconds(pod, group)
        known = seconds is not None and group.grace is not None
        return f"after {seconds} s, later than the reservation is due" if known else "at no known time"
