"""Every change of some namespaces' pods and PodGroups, of some nodes and of all Queues, as reported by the API server,
and which of them break a rule. All kinds are in one etcd, so resourceVersions order changes, even of different kinds:
rules apply to the stored order, not to the time when a change was seen. Only durations use this machine's clock.

It bears no outage of the API server: a test that has one would miss changes."""

import bisect
import collections
import dataclasses
import heapq
import threading
import time

from support.invariants import Broken
from support.jobs import GROUP, VERSION
from support.stored import FIRST_REQUESTED, Change, Group, Node, Pod, Queue, group_of, node_of, pod_of, queue_of
from support.wait import wait_for


class History:
    """Runs from start() to stop(). Calls `listen(change)` for each change of a PodGroup, on the thread that saw it."""

    def __init__(self, api, namespaces, nodes_selector, listen=lambda change: None):
        self._api, self._listen, self._stopping = api, listen, threading.Event()
        self._sources = {  # kind: (path, query, decoder)
            "queues": (f"/apis/{GROUP}/{VERSION}/queues", "", queue_of),
            "nodes": ("/api/v1/nodes", f"&labelSelector={nodes_selector}", node_of)}
        for name in namespaces:
            self._sources[f"pods of {name}"] = (f"/api/v1/namespaces/{name}/pods", "", pod_of)
            self._sources[f"groups of {name}"] = (f"/apis/{GROUP}/{VERSION}/namespaces/{name}/podgroups", "", group_of)
        self._seen = {kind: {} for kind in self._sources}  # UID: version
        self._changes = []
        self.failed = []

    def start(self):
        for kind, (path, query, decoder) in self._sources.items():
            listed = self._api.get(f"{path}?limit=0{query}")
            version = listed["metadata"]["resourceVersion"]
            for one in listed["items"]:
                self._note(kind, one, decoder, False)
            threading.Thread(target=self._follow, args=(kind, path, query, decoder, version),
                             name=f"history-{kind}", daemon=True).start()
        return self

    def stop(self):
        """Does not wait: an open watch ends with the process."""
        self._stopping.set()

    def catch_up(self):
        """Waits until the current state is known."""
        def look():
            behind = []
            for kind, (path, query, _) in self._sources.items():
                now = {one["metadata"]["uid"]: int(one["metadata"]["resourceVersion"])
                       for one in self._api.get(f"{path}?limit=0{query}")["items"]}
                behind += [uid for uid, version in now.items() if self._seen[kind].get(uid, 0) < version]
                behind += sorted(set(self._seen[kind]) - set(now))
            assert not self.failed, self.failed
            return not behind, behind
        wait_for(look, "all changes of pods, PodGroups, nodes and Queues to be seen")

    def changes(self):
        """All changes so far, in the order of storage."""
        return in_order(self._changes)

    def _follow(self, kind, path, query, decoder, version):
        try:
            for event in self._api.changes(path, version, self._stopping, query):
                self._note(kind, event["object"], decoder, event["type"] == "DELETED")
        except Exception as error:  # a history with a gap would find everything well
            if not self._stopping.is_set():
                self.failed.append(f"the watch of {kind} failed: {error!r}")

    def _note(self, kind, one, decoder, gone):
        uid, version = one["metadata"]["uid"], int(one["metadata"]["resourceVersion"])
        change = Change(version, time.monotonic(), gone, decoder(one))
        self._changes.append(change)  # atomic
        if gone:
            self._seen[kind].pop(uid, None)
        else:
            self._seen[kind][uid] = version
        if isinstance(change.what, Group):
            self._listen(change)


def in_order(changes):
    """In the order of storage. One that was seen after a later one was late by that: it gets the time of that one. So
    times are comparable, although one watch may lag behind another."""
    ordered, least = sorted(changes, key=lambda one: one.version), float("inf")
    for index in reversed(range(len(ordered))):
        least = min(least, ordered[index].at)
        ordered[index] = dataclasses.replace(ordered[index], at=least)
    return ordered


# -- at each binding


class Bindings:
    """Judges each binding of a gang's pod: `broken` has a sentence for each wrong one.

    A thief on a node counts against a gang's pod if it was seen there `known_after` seconds before the pod's gang was
    committed (or, for a pod that came later, before the pod was bound): a later one was not known yet."""

    def __init__(self, known_after):
        self._known_after = known_after
        self._pods, self._on_node = {}, collections.defaultdict(dict)  # both by UID
        self._nodes, self._groups = {}, {}
        self._committed = {}                             # group, or (group, requested slot): when it was seen to be
        self._ever = collections.defaultdict(set)        # group: slots that had a pod bound
        self.count = 0
        self.broken = Broken()

    def judge(self, changes):
        for change in changes:
            {Pod: self._pod, Group: self._group, Node: self._node, Queue: lambda _: None}[type(change.what)](change)
        return self

    def _node(self, change):
        self._nodes[change.what.name] = change.what  # one that is gone stays known: a binding may cross its deletion

    def _group(self, change):
        group = change.what
        self._groups[group.uid] = group
        if group.committed:
            self._committed.setdefault(group.uid, change.at)
        for slot in group.more_committed:
            self._committed.setdefault((group.uid, slot), change.at)

    def _pod(self, change):
        pod, (before, since) = change.what, self._pods.get(change.what.uid, (None, change.at))
        is_new_there = bool(pod.node) and not (before and before.node)
        if is_new_there:
            since = change.at
        self._on_node[pod.node].pop(pod.uid, None)
        if change.gone:
            self._pods.pop(pod.uid, None)
            return
        self._pods[pod.uid] = (pod, since)
        if pod.occupies:
            self._on_node[pod.node][pod.uid] = (pod, since)
        if is_new_there and pod.slot:
            self._bound(pod, change.at)

    def _bound(self, pod, at):
        self.count += 1
        _, role, ordinal = pod.slot
        what = f"{pod.name} ({role}/{ordinal}) on {pod.node}"
        others = [one.name for one, _ in self._pods.values()
                  if one.slot == pod.slot and one.uid != pod.uid and one.occupies]
        if others:
            self.broken.append(f"{what} was bound beside {others} of the same slot")
        group, gang = self._groups.get(pod.group), pod.group
        if ordinal >= FIRST_REQUESTED:
            gang = pod.group, (role, ordinal)
        if group is None or not (group.committed if gang == pod.group else gang in self._committed):
            self.broken.append(f"{what} was bound, and its gang is not committed: {group}")
        elif role == "coordinator" and group.slots - self._ever[pod.group] - {(role, ordinal)}:
            missing = sorted(group.slots - self._ever[pod.group] - {(role, ordinal)})
            self.broken.append(f"{what} was bound before {missing}")
        is_first = (role, ordinal) not in self._ever[pod.group]
        self._ever[pod.group].add((role, ordinal))
        self._check_capacity(pod, what, self._committed.get(gang, at) if is_first else at)

    def _check_capacity(self, pod, what, decided):
        node = self._nodes.get(pod.node)
        if node is None:  # not one of those that are watched
            return
        there = list(self._on_node[pod.node].values())
        ours = sum((collections.Counter(one.requests) for one, _ in there if not one.thief), collections.Counter())
        known = sum((collections.Counter(one.requests) for one, since in there
                     if one.thief and since < decided - self._known_after), collections.Counter())
        for resource, amount in (ours + known).items():
            if amount > node.allocatable.get(resource, 0):
                self.broken.append(f"{what}: the node has {resource} {node.allocatable.get(resource, 0)}, the gangs' "
                                   f"pods there take {ours[resource]}, thieves that were known {known[resource]}")


# -- how long a gang is there in part


@dataclasses.dataclass(frozen=True)
class InPart:
    group: str                # its name
    begin: float
    end: float
    least: int                # pods of the quorum that ran, at the least
    quorum: int

    @property
    def seconds(self):
        return self.end - self.begin


def in_part(changes, node_lost_after, now):
    """Each period when some of a gang's quorum ran and some did not. A node that is not Ready counts as lost after
    `node_lost_after` seconds; aggregators and workers that have finished do not belong to the quorum."""
    names, quorum = {}, {}
    pods = collections.defaultdict(dict)  # group: {uid: Pod}
    lost, groups_on = set(), collections.defaultdict(set)
    since, least, found = {}, {}, []

    def look(group, at):
        done = {pod.slot[1:] for pod in pods[group].values() if pod.finished == "Succeeded"}
        if any(role == "coordinator" for role, _ in done):  # its job has ended
            return close(group, at)
        wanted = quorum.get(group, frozenset()) - done
        slots = {pod.slot[1:] for pod in pods[group].values() if pod.runs and pod.node not in lost}
        running = len(slots & wanted)
        if 0 < running < len(wanted):
            since.setdefault(group, at)
            least[group] = min(least.get(group, running), running)
        else:
            close(group, at)

    def close(group, at):
        if group in since:
            found.append(InPart(names[group], since.pop(group), at, least.pop(group), len(quorum[group])))

    for at, what, gone in times_of(changes, node_lost_after):
        if isinstance(what, Pod) and what.slot:
            if gone:
                pods[what.group].pop(what.uid, None)
            else:
                pods[what.group][what.uid] = what
                if what.node:
                    groups_on[what.node].add(what.group)
            look(what.group, at)
        elif isinstance(what, Group):
            names[what.uid] = what.name
            quorum[what.uid] = frozenset(slot for slot in what.slots if slot[0] != "aggregator")
            look(what.uid, at)
        elif isinstance(what, tuple):
            name, is_lost = what
            lost.add(name) if is_lost else lost.discard(name)
            for group in groups_on[name]:
                look(group, at)
    for group in list(since):
        found.append(InPart(names[group], since[group], now, least[group], len(quorum[group])))
    return found


def times_of(changes, node_lost_after):
    """(time, pod or group or (node, is it lost?), was it deleted?) in the order of time."""
    queue, away = [], {}
    for order, change in enumerate(changes):
        if not isinstance(change.what, Node):
            queue.append((change.at, order, change.what, change.gone))
            continue
        name, is_away = change.what.name, change.gone or not change.what.ready
        if is_away and name not in away:
            away[name] = change.at
        elif not is_away and name in away:
            began = away.pop(name)
            if change.at - began > node_lost_after:
                queue.append((began + node_lost_after, order, (name, True), False))
                queue.append((change.at, order, (name, False), False))
    queue += [(began + node_lost_after, len(changes), (name, True), False) for name, began in away.items()]
    heapq.heapify(queue)
    while queue:
        at, _, what, gone = heapq.heappop(queue)
        yield at, what, gone


# -- what else the changes tell


def rejected(changes):
    """UIDs of the gangs' pods that a kubelet rejected."""
    return {one.what.uid for one in changes
            if isinstance(one.what, Pod) and one.what.slot and one.what.finished.startswith("OutOf")}


def group_at(changes, uid, version):
    """The PodGroup as stored then; None: it did not exist."""
    mine = [one for one in changes if isinstance(one.what, Group) and one.what.uid == uid]
    at = bisect.bisect_right([one.version for one in mine], version)
    return mine[at - 1].what if at else None


def first_seen(changes, uid):
    return next((one.version for one in changes if isinstance(one.what, Pod) and one.what.uid == uid), None)
