"""Does a binding raise what a queue uses above its limit? From pods, nodes and Queues alone: what a Queue's own status
says is compared with these sums when all is quiet. Pure.

A pod counts in its queue, and in all that this is a part of, from its binding until it has finished or is gone. A
terminating one counts.

Limits hold where a gang gets its nodes. A plan is not dropped when a limit is lowered, and a running gang keeps what it
has. So a binding is right if one of the trees of Queues allows it that were in force since its place was planned, less
`grace` seconds: the planner reads Queues by a watch. For a pod that replaces a lost one, these are the trees since the
lost one's slot was first planned; where it goes to nodes of another class, and its job uses more of them than ever,
the trees since that plan."""

import collections

from support.invariants import Broken
from support.replay import Replay
from support.stored import FIRST_REQUESTED, Pod

ANY = ""                      # the class that stands for all nodes


class Limits:
    """`broken` has a sentence for each binding that is wrong. `guests`: {namespace: queue in which the gangs of other
    operators count there}."""

    def __init__(self, grace, guests=None):
        self._grace, self._guests, self._replay = grace, guests or {}, Replay()
        self._counted = {}                                   # pod: (queue, class, group, requests)
        self._own = collections.defaultdict(collections.Counter)  # (queue, class): amounts, without its parts
        self._of_group = collections.defaultdict(collections.Counter)  # (group, class): amounts
        self._peak = collections.defaultdict(collections.Counter)      # the most that this ever was
        self._first = {}                                     # group: since when its first pod's place was planned
        self.most = collections.Counter()                    # (queue, class, resource): the most used at once
        self.count = 0                                       # bindings below a limit
        self.after = 0                                       # of these: allowed by an earlier tree alone
        self.broken = Broken()

    def judge(self, changes):
        for change in changes:
            binding = self._replay.apply(change)
            if not isinstance(change.what, Pod):
                continue
            before = self._peak_on(change.what)
            self._count(change.what, change.gone)
            if binding and binding.pod.occupies:
                self._bound(binding, before)
        return self

    def use(self):
        """{queue: {resource: amount}}, with its parts and with what is reserved for requests."""
        found, tree = collections.defaultdict(collections.Counter), self._replay.tree
        for name in tree.names():
            found[name] = self._used(tree, name, ANY)
        for group in self._replay.groups.values():
            for amounts in group.reserved.values():
                for name in tree.path(group.queue):
                    found[name].update(amounts)
        return {name: {resource: amount for resource, amount in amounts.items() if amount}
                for name, amounts in found.items() if tree.get(name)}

    def _queue_of(self, pod):
        return self._guests.get(pod.namespace, "") if pod.foreign else pod.queue

    def _count(self, pod, gone):
        queue, node_class = self._queue_of(pod), self._replay.class_of(pod.node)
        counts = (queue, node_class, pod.group, pod.requests) if queue and pod.occupies and not gone else None
        before = self._counted.pop(pod.uid, None)
        if counts:
            self._counted[pod.uid] = counts
        if counts == before:
            return
        if before:
            self._own[before[:2]].subtract(before[3])
            self._of_group[before[2], before[1]].subtract(before[3])
        if not counts:
            return
        self._own[queue, node_class].update(pod.requests)
        self._of_group[pod.group, node_class].update(pod.requests)
        self._peak[pod.group, node_class] |= self._of_group[pod.group, node_class]
        for name in self._replay.tree.path(queue):
            for of_class in {ANY, node_class}:
                for resource, amount in self._used(self._replay.tree, name, of_class).items():
                    key = name, of_class, resource
                    self.most[key] = max(self.most[key], amount)

    def _peak_on(self, pod):
        return collections.Counter(self._peak[pod.group, self._replay.class_of(pod.node)])

    def _used(self, tree, name, of_class):
        total = collections.Counter()
        for (queue, node_class), amounts in self._own.items():
            if of_class in (ANY, node_class) and name in tree.path(queue):
                total.update(amounts)
        return total

    def _bound(self, binding, peak):
        pod, queue = binding.pod, self._queue_of(binding.pod)
        tree = self._replay.tree
        since, on_class = self._decided(binding, peak)
        if not any(one and one.limits for one in map(tree.get, tree.path(queue))):
            return
        self.count += 1
        now = self._exceeded(tree, pod, queue)
        if not now:
            return
        over = [one for one in now
                if not self._was_allowed(pod, queue, one, (on_class if one[1] else since) - self._grace)]
        if not over:
            self.after += 1
        for name, node_class, resource, used, limit in over:
            of_class = f" on nodes of class {node_class}" if node_class else ""
            self.broken.append(
                f"{pod.namespace}/{pod.name} was bound to {pod.node}, and the pods of queue {name} use {resource} "
                f"{used}{of_class}: its limit is {limit}, and was not higher since the pod's place was planned "
                f"({binding.at - (on_class if node_class else since):.1f} s before)"
                f"{'' if binding.first else '; it replaces a lost pod'}")

    def _exceeded(self, tree, pod, queue):
        """[(queue, class, resource, used, limit)]"""
        found, node_class = [], self._replay.class_of(pod.node)
        for name in tree.path(queue):
            one = tree.get(name)
            for (of_class, resource), limit in sorted(one.limits.items() if one else ()):
                if of_class not in (ANY, node_class) or not pod.requests.get(resource):
                    continue
                used = self._used(tree, name, of_class)[resource]
                if used > limit:
                    found.append((name, of_class, resource, used, limit))
        return found

    def _was_allowed(self, pod, queue, over, since):
        return any(over[:3] not in [one[:3] for one in self._exceeded(tree, pod, queue)]
                   for tree in self._replay.trees_since(since))

    def _decided(self, binding, peak):
        """Since when the pod's capacity was decided on, and since when that of its class."""
        pod, planned = binding.pod, self._replay.decided(binding.pod, binding.at)
        since, on_class = planned.since, planned.on_class
        first = self._first.setdefault(pod.group, since) if pod.group else since
        if pod.group in self._replay.reserving and pod.slot[2] >= FIRST_REQUESTED:
            return min(since, first), min(on_class, first)  # the base gang may have reserved it
        if not binding.first:
            since = min(since, first)
            used = self._of_group[pod.group, self._replay.class_of(pod.node)]
            if all(amount <= peak[resource] for resource, amount in used.items()):
                on_class = min(on_class, first)
        return since, on_class
