"""What was stored after each change of a history, and since when: for the judges of queues. Pure."""

import dataclasses

from support.stored import Group, Node, Pod, Queue


class Tree:
    """The Queues at one moment. A deleted one has no limit, and what still counts in it counts in its last parent."""

    def __init__(self, queues=None, gone=None):
        self._queues, self._gone = queues or {}, gone or {}

    def changed(self, queue, gone):
        queues = {name: one for name, one in self._queues.items() if name != queue.name}
        deleted = {name: one for name, one in self._gone.items() if name != queue.name}
        (deleted if gone else queues)[queue.name] = queue
        return Tree(queues, deleted)

    def path(self, name):
        """The queue and what it is a part of, without the root."""
        found = []
        while name and name not in found:
            found.append(name)
            one = self._queues.get(name) or self._gone.get(name)
            name = one.parent if one else ""
        return found

    def get(self, name):
        """None: it does not exist."""
        return self._queues.get(name)

    def names(self):
        return sorted(self._queues)

    def max_seconds(self, name):
        """How long jobs of the queue may run; None: without bound."""
        found = [self._queues[one].max_seconds for one in self.path(name) if one in self._queues]
        return min((one for one in found if one is not None), default=None)


@dataclasses.dataclass(frozen=True)
class Planned:
    """Since when a slot has had a place without a break, and since when this one."""
    since: float
    node: str
    on_node: float
    on_class: float


@dataclasses.dataclass(frozen=True)
class Binding:
    pod: Pod
    at: float
    first: bool               # of its slot; else it replaces a pod that was lost


class Replay:
    """apply() each change in the order of storage. Changes carry the time when they were seen: the watches of two kinds
    do not report at the same moment, so judges leave some seconds between a cause and its effect."""

    def __init__(self):
        self.pods, self.groups, self.nodes = {}, {}, {}
        self.planned = {}         # group: {slot: Planned}
        self._bound = set()       # (group, slot) that had a pod bound
        self.committed = {}       # group: since when its base gang is
        self.reserving = set()    # groups that ever had capacity reserved for requests
        self._since = {}          # pod: when it was created; of another operator's gang: when it was nominated
        self._trees = [(float("-inf"), Tree())]

    def apply(self, change):
        """The Binding, if the change is one of a gang's pod."""
        what = change.what
        if isinstance(what, Queue):
            if change.gone or self.tree.get(what.name) != what:  # else its status was written
                self._trees.append((change.at, self.tree.changed(what, change.gone)))
        elif isinstance(what, Node):
            self.nodes[what.name] = what
        elif isinstance(what, Group):
            self._plan(what, change.at, change.gone)
        else:
            return self._pod(what, change.at, change.gone)
        return None

    @property
    def tree(self):
        return self._trees[-1][1]

    def trees_since(self, at):
        """The trees in force at that time and later, the newest first."""
        for began, tree in reversed(self._trees):
            yield tree
            if began <= at:
                return

    def class_of(self, node):
        return self.nodes[node].node_class if node in self.nodes else ""

    def decided(self, pod, at):
        """The Planned of the pod's slot. Where no plan was seen, the pod's creation tells when; a pod of another
        operator's gang has no slot, and is nominated when it is planned."""
        since = self._since.get(pod.uid, at)
        return self.planned.get(pod.group, {}).get(pod.slot[1:], Planned(since, pod.node, since, since))

    def _plan(self, group, at, gone):
        if gone:
            self.groups.pop(group.uid, None)
            self.planned.pop(group.uid, None)
            return
        self.groups[group.uid] = group
        if group.committed:
            self.committed.setdefault(group.uid, at)
        if group.reserved:
            self.reserving.add(group.uid)
        before = self.planned.get(group.uid, {})
        self.planned[group.uid] = {slot: self._move(before.get(slot), group.node_of(slot), at)
                                   for slot in group.placements.keys() | group.more.keys()}

    def _move(self, known, node, at):
        if known is None:
            return Planned(at, node, at, at)
        if known.node == node:
            return known
        same = self.class_of(known.node) == self.class_of(node)
        return Planned(known.since, node, at, known.on_class if same else at)

    def _pod(self, pod, at, gone):
        before = self.pods.pop(pod.uid, None)
        if not pod.foreign or pod.nominated:
            self._since.setdefault(pod.uid, at)
        if gone:
            return None
        self.pods[pod.uid] = pod
        if not pod.node or (before and before.node) or pod.thief or not (pod.slot or pod.foreign):
            return None
        key = (pod.group, pod.slot[1:]) if pod.slot else ("", pod.uid)
        first = key not in self._bound
        self._bound.add(key)
        return Binding(pod, at, first)
