"""Does a binding take nodes from the gang that has reserved them? Pure.

Only what follows from objects is judged: no job of the same queue, and behind the gang in its order, starts on reserved
nodes if it would still be there when the gang is to start, and the gang's pods then do not fit beside it. Such a job is
not preemptible, and has no time limit, ends after the reservation's `due`, or leaves its pods there. Jobs of other
queues may come first by their queue's share, and gangs that heal may always come.

A gang is judged if its place was planned at least `grace` seconds after the nodes were reserved as they are now: the
two are in different objects, which are written at the same time."""

import collections

from support.invariants import Broken
from support.replay import Replay
from support.stored import Group

# When a job has left: as soon as the gang that has reserved its nodes needs them, or at no known time.
LEAVES, STAYS = float("-inf"), float("inf")


class KeptNodes:
    """`broken` has a sentence for each binding that is wrong. `epoch`: when time.monotonic() was 0, in seconds since
    the epoch."""

    def __init__(self, grace, epoch):
        self._grace, self._epoch, self._replay = grace, epoch, Replay()
        self._kept = {}           # (head, node): (what is kept, and for whom it waits; since when)
        self._dues = collections.defaultdict(list)  # head: [(when it was seen, due)]
        self._there = collections.defaultdict(dict)  # (head, node): {pod that started there: when it has left}
        self.reservations = 0
        self.count = 0            # bindings on reserved nodes
        self.broken = Broken()

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
        group = self._replay.groups.get(pod.group)
        if heals or group is None or pod.slot[1:] not in group.slots:  # the last: of a request
            return
        for uid in heads:
            self._judge(pod, self._replay.groups[uid], planned.on_node)

    def _judge(self, pod, head, planned):
        (wanted, _), since = self._kept[head.uid, pod.node]
        group, there = self._replay.groups[pod.group], self._there[head.uid, pod.node]
        if planned - self._grace < since or not self._is_behind(pod, group, head):
            return
        due = self._latest_due(head, planned)
        there[pod.uid] = end = self._end_of(pod, group, planned)
        if end <= due:
            return
        stay = [self._replay.pods[uid] for uid, until in there.items() if until > due and uid in self._replay.pods]
        used = sum((collections.Counter(one.requests) for one in stay if one.occupies), collections.Counter())
        node = self._replay.nodes.get(pod.node)
        for resource, amount in wanted.items():
            if node and used[resource] + amount > node.allocatable.get(resource, 0):
                self.broken.append(
                    f"{pod.namespace}/{pod.name} of {group.name} was bound to {pod.node}, where {resource} {amount} of "
                    f"{node.allocatable[resource]} is reserved for {head.name}, which is before it in queue "
                    f"{head.queue}: jobs that started there since and will stay use {used[resource]}. It was planned "
                    f"{planned - since:.1f} s after the reservation; from then on it ends {self._after(end, planned)}, "
                    f"and the reservation is due {self._after(due, planned)}")

    def _is_behind(self, pod, group, head):
        queue = self._replay.tree.get(pod.queue)
        serves_by_rank = queue.by_rank if queue else not pod.queue
        return pod.queue == head.queue and serves_by_rank and head.rank < group.rank

    def _end_of(self, pod, group, planned):
        """When the job has left; never, as far as the head knows, if it is not said."""
        if group.preemptible:
            return LEAVES
        most = self._replay.tree.max_seconds(pod.queue)
        left = None if most is None else max(most - group.active, 0)
        found = [one for one in (group.seconds, left) if one is not None]
        return self._epoch + planned + min(found) + group.grace if found and group.grace is not None else STAYS

    def _after(self, time, planned):
        known = time not in (LEAVES, STAYS)
        return f"in {time - self._epoch - planned:.0f} s" if known else "at no known time"

    def _latest_due(self, head, planned):
        """By when a job has to have left: the latest time that the planner may have known. Without one the head waits
        for jobs without an end, and no end is soon enough."""
        before = [due for at, due in self._dues[head.uid] if at <= planned - self._grace]
        later = [due for at, due in self._dues[head.uid] if at > planned - self._grace]
        return max((due for due in before[-1:] + later if due is not None), default=LEAVES)
