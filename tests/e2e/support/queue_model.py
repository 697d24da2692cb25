"""A small scheduler that keeps the rules of queues, but for one that it is told to break: its random histories show
whether the judge of limits finds that, and nothing else. No cluster, no I/O."""

import collections
import random

from support.replay import Tree
from support.stored import Change, Group, Node, Pod, Queue

GPU = "nvidia.com/gpu"
# What it may do wrong.
FAULTS = ("counts no terminating pods", "forgets limits of parents", "forgets limits of classes",
          "forgets limits of classes when it heals", "forgets what runs in a deleted queue", "reads Queues late",
          "starts others on what a lost pod used")
LAG, LATE = 3, 60             # seconds until it knows of a changed Queue; with the fault
NODES = {"a1": "A", "a2": "A", "b1": "B", "b2": "B"}
LEAVES = {"even": "lab", "odd": "inner"}


class Model:
    def __init__(self, seed, fault=""):
        self._chance, self._fault = random.Random(seed), fault
        self.changes, self._now = [], 0
        self._trees = [(0, Tree())]
        self._gangs = {}          # uid: {"queue", "places": {slot: node}, "pods": {slot: Pod}, "lost": {slot}}
        self._ending = []         # terminating pods
        for name, node_class in NODES.items():
            self._store(Node(name, True, {GPU: 100}, node_class))
        for name, parent in (("lab", ""), ("inner", "lab"), *LEAVES.items()):
            self._change_queue(Queue(name, parent, {("", GPU): 12} if name == "lab" else {}))

    def run(self, steps):
        acts = (*[self._plan] * 3, *[self._bind] * 4, self._lose, *[self._heal] * 2, self._end, *[self._end_pod] * 2,
                self._limit, self._delete_or_create)
        for _ in range(steps):
            self._now += self._chance.uniform(0.2, 2)
            self._chance.choice(acts)()
        return self.changes

    def _store(self, what, gone=False):
        self.changes.append(Change(len(self.changes) + 1, self._now, gone, what))

    def _change_queue(self, queue, gone=False):
        self._trees.append((self._now, self._trees[-1][1].changed(queue, gone)))
        self._store(queue, gone)

    def _known_tree(self):
        lag = LATE if self._fault == "reads Queues late" else LAG
        return [tree for at, tree in self._trees if at <= max(0, self._now - lag)][-1]

    def _pick(self, among):
        among = sorted(among)
        return self._chance.choice(among) if among else None

    # -- what it knows

    def _uses(self):
        """(queue, node) of each slot that has a place, and of each pod that has left its slot and is not gone."""
        for gang in self._gangs.values():
            for slot, node in gang["places"].items():
                if slot not in gang["lost"] or self._fault != "starts others on what a lost pod used":
                    yield gang["queue"], node
        if self._fault != "counts no terminating pods":
            for pod in self._ending:
                yield pod.queue, pod.node

    def _fits(self, queue, nodes, heals=False):
        """Within all limits on the path: pods of the queue on these nodes beside what is used. What heals counts in its
        queue already, and for its class alone."""
        tree, added = self._known_tree(), collections.Counter(NODES[node] for node in nodes)
        forgets_class = "forgets limits of classes" + (" when it heals" if heals else "")
        for name in tree.path(queue):
            if self._fault == "forgets limits of parents" and name != queue:
                continue
            used = [NODES[node] for of, node in self._uses() if name in tree.path(of)
                    and (tree.get(of) or self._fault != "forgets what runs in a deleted queue")]
            for (node_class, _), limit in (tree.get(name).limits if tree.get(name) else {}).items():
                if not node_class and not heals and len(used) + len(nodes) > limit:
                    return False
                on_class = used.count(node_class) + added[node_class]
                if added[node_class] and self._fault != forgets_class and on_class > limit:
                    return False
        return bool(tree.get(queue)) or heals

    # -- what it does

    def _show(self, uid, gone=False):
        places = self._gangs[uid]["places"]
        slots = {("collector", slot): (slot, node) for slot, node in places.items()}
        self._store(Group(uid, uid, frozenset(slots), slots, bool(self._gangs[uid]["pods"])), gone)

    def _plan(self):
        queue, count = self._pick(LEAVES), self._chance.randint(1, 4)
        nodes = [self._pick(NODES) for _ in range(count)]
        if self._fits(queue, nodes):
            uid = f"g{len(self.changes)}"
            self._gangs[uid] = {"queue": queue, "places": dict(enumerate(nodes)), "pods": {}, "lost": set()}
            self._show(uid)

    def _bind(self):
        missing = {uid: gang["places"].keys() - gang["pods"].keys() - gang["lost"] for uid, gang in self._gangs.items()}
        uid = self._pick(uid for uid, slots in missing.items() if slots)
        if not uid:
            return
        gang, slot = self._gangs[uid], min(missing[uid])
        pod = Pod(f"p{len(self.changes)}", f"{uid}-{slot}", gang["places"][slot], {GPU: 1},
                  slot=(uid, "collector", slot), group=uid, queue=gang["queue"])
        gang["pods"][slot] = pod
        self._store(pod)

    def _lose(self):
        uid = self._pick(uid for uid, gang in self._gangs.items() if gang["pods"])
        if uid:
            slot = self._pick(self._gangs[uid]["pods"])
            self._gangs[uid]["lost"].add(slot)
            self._store(self._gangs[uid]["pods"].pop(slot), gone=True)

    def _heal(self):
        uid = self._pick(uid for uid, gang in self._gangs.items() if gang["lost"])
        if not uid:
            return
        gang, node = self._gangs[uid], self._pick(NODES)
        slot = min(gang["lost"])
        stays = NODES[node] == NODES[gang["places"][slot]]
        if stays or self._fits(gang["queue"], [node], heals=True):
            gang["lost"].remove(slot)
            gang["places"][slot] = node
            self._show(uid)

    def _end(self):
        uid = self._pick(self._gangs)
        if uid and self._chance.random() < 0.5:
            self._show(uid, gone=True)
            for pod in self._gangs.pop(uid)["pods"].values():
                self._ending.append(pod)
                self._store(Pod(**{**vars(pod), "deleting": True}))

    def _end_pod(self):
        if self._ending:
            self._store(self._ending.pop(0), gone=True)

    # -- what administrators do

    def _limit(self):
        name, tree = self._pick(["lab", "inner", *LEAVES]), self._trees[-1][1]
        if tree.get(name):
            limits = {key: self._chance.randint(0, most) for key, most in
                      ((("", GPU), 14), (("A", GPU), 6), (("B", GPU), 6)) if self._chance.random() < 0.5}
            self._change_queue(Queue(name, tree.get(name).parent, limits))

    def _delete_or_create(self):
        name, tree = self._pick(LEAVES), self._trees[-1][1]
        self._change_queue(tree.get(name) or Queue(name, LEAVES[name]), gone=tree.get(name) is not None)
