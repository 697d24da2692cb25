"""Faults drawn from a seed, several at a time: thieves take capacity, nodes become not ready and recover, and our
programs are killed and restarted. The jobs' templates request the rejections by kubelets."""

import collections
import contextlib
import dataclasses
import http.client
import os
import queue
import random
import signal
import threading
import time
import urllib.error

from tools.base import processes
from tools.cluster import kubelet, suite

from support.stored import THIEF
from support.wait import wait_for

PAUSE = "registry.k8s.io/pause:3.10"

# How a program is killed: the one that kube-scheduler asks, the one that leads (both may be the same), all of them.
KILLS = ("extender asked", "extender leader", "extender all", "controller leader", "controller all", "scheduler")
THIEVES = ("before commit", "after commit", "by the default scheduler", "before commit", "after commit")
if os.environ.get("NERVEX_E2E_DIRECT"):  # then a plan is committed when it is made
    THIEVES = tuple(kind for kind in THIEVES if kind != "before commit")
FLAPS = ("short", "long", "short", "endless")
MOST_FLAPPING = 3
TAKE_OVER = 60.0


@dataclasses.dataclass(frozen=True)
class Flaps:
    """How long nodes are not ready, in seconds (from, to)."""
    short: tuple
    long: tuple
    endless: tuple  # longer than a gang is healed


@dataclasses.dataclass(frozen=True)
class Outage:
    """From a kill until a replica does the program's work again."""
    program: str
    begin: float
    end: float


@dataclasses.dataclass(frozen=True)
class Thief:
    uid: str
    kind: str
    group: str = ""  # UID of the PodGroup whose node it took


def deck(chance, kinds):
    """All kinds in random order, repeatedly: no kind is missing for long."""
    while True:
        yield from chance.sample(kinds, len(kinds))


class Faults:
    """Each of `works` runs in a thread from start() to stop(), which ends every fault."""

    def __init__(self, *works):
        self._works, self._threads = works, []
        self._over = threading.Event()
        self.errors = []
        self.done = collections.Counter()

    def start(self):
        for work in self._works:
            thread = threading.Thread(target=self._run, args=(work,), name=f"chaos-{work.__name__}", daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def stop(self):
        self._over.set()
        for thread in self._threads:
            thread.join(2 * TAKE_OVER)
            assert not thread.is_alive(), f"{thread.name} did not end"
        assert not self.errors, self.errors

    def _run(self, work):
        try:
            work()
        except BaseException as error:  # shown by the test's own thread
            self.errors.append(f"{work.__name__}: {error!r}")
            self._over.set()


class Chaos(Faults):
    """Faults of programs, nodes and capacity. Call `groups_changed` for each change of a PodGroup."""

    def __init__(self, cluster, namespace, pool, nodes, seed, flaps):
        super().__init__(self._kill, self._steal, self._flap)
        self._cluster, self._api, self._namespace, self._nodes = cluster, cluster.api(), namespace, list(nodes)
        self._chance = {what: random.Random(f"{seed} {what}") for what in ("kills", "thieves", "flaps")}
        self._pool, self._flaps = pool, flaps
        self._groups = queue.SimpleQueue()
        self._committed = {}      # PodGroup UID: is it?
        self._only_lacking = threading.Event()
        self.thieves = []
        self.outages = []

    def stop(self):
        super().stop()
        self._check_crashes()

    def groups_changed(self, change):
        self._groups.put(change)

    def lacking(self):
        """Kinds of faults that have not happened yet."""
        tried = self.done + collections.Counter(f"thief: {thief.kind}" for thief in list(self.thieves))
        least = {**{f"killed: {kind}": 1 for kind in KILLS}, **{f"not ready: {kind}": 1 for kind in FLAPS},
                 **{f"thief: {kind}": 3 for kind in THIEVES}}
        return [what for what, count in least.items() if tried[what] < count]

    def finish(self):
        """From now on only faults of kinds that have not happened: a slow machine whose programs are killed all the time
        commits no gang that could be robbed."""
        self._only_lacking.set()

    def _wants(self, kind):
        return not self._only_lacking.is_set() or kind in self.lacking()

    def downtime(self, program, begin, end):
        """Number and total seconds of the outages in that time."""
        there = [(max(one.begin, begin), min(one.end, end)) for one in list(self.outages) if one.program == program]
        there = [(first, last) for first, last in there if first < last]
        return len(there), sum(last - first for first, last in there)

    # -- programs

    def _names(self, program):
        return [name for name, one in self._cluster.programs.items() if one["program"] == program]

    def _leads(self, name):
        try:
            return self._cluster.is_leader(name)
        except (OSError, urllib.error.URLError, http.client.HTTPException):
            return False

    def _one_leads(self, names):
        self._revive()
        return any(self._leads(name) for name in names)

    def _revive(self):
        """A program may end without being killed for one reason: the machine was so busy that it could not renew its
        lease. It is restarted, as a kubelet does."""
        known = len(self._cluster.revived)
        self._cluster.revive()
        revived = self._cluster.revived[known:]
        self.outages += [Outage(*one) for one in revived]
        self.done["ended itself: lease not renewed"] += len(revived)

    def _check_crashes(self):
        for name, one in list(self._cluster.programs.items()):
            if not processes.alive(one) and not suite.lost_its_lease(one):
                raise AssertionError(f"{name} had ended before it was killed: {one['log']}")

    def _start(self, names):
        for name in names:
            one = self._cluster.programs[name]
            self._cluster.launch(one["program"], one["port"], one["metrics_port"], name=name)
        for name in names:
            self._cluster.wait_until_ready(name)

    def _kill(self):
        chance = self._chance["kills"]
        for kind in deck(chance, KILLS):
            end = time.monotonic() + chance.uniform(2, 5)
            while time.monotonic() < end:
                if self._over.wait(0.2):
                    return
                self._check_crashes()
                self._revive()
            if not self._wants(f"killed: {kind}"):
                continue
            program, _, which = kind.partition(" ")
            names = self._names(program)
            leaders = [name for name in names if program != "scheduler" and self._leads(name)]
            victims = {"asked": [program], "leader": leaders[:1], "all": names, "": names}[which]
            if not victims:
                continue  # no replica leads at the moment
            begin = time.monotonic()
            for name in victims:
                processes.send(self._cluster.programs[name], signal.SIGKILL)
            for name in victims:
                processes.wait_for_end(self._cluster.programs[name])
            self._over.wait(chance.choice((0, 0, 1, 4)))
            self._start(victims)
            if program != "scheduler":
                wait_for(lambda: self._one_leads(names), f"one of {names} to lead", TAKE_OVER)
            self.outages.append(Outage(program, begin, time.monotonic()))
            self.done[f"killed: {kind}"] += 1

    # -- thieves

    def _steal(self):
        chance, stolen = self._chance["thieves"], []  # [(until, name)]
        try:
            for kind in deck(chance, THIEVES):
                gpus, seconds, pick = chance.randint(1, 8), chance.uniform(2, 12), chance.random()
                pause, end = chance.uniform(0.5, 3), time.monotonic()
                if not self._wants(f"thief: {kind}"):
                    thief = None
                elif kind == "by the default scheduler":
                    thief = self._create_thief(kind, gpus)
                else:
                    thief = self._rob_a_gang(kind, gpus, pick)
                if thief:
                    stolen.append((time.monotonic() + seconds, thief))
                while True:
                    for until, name in list(stolen):
                        if until < time.monotonic():
                            stolen.remove((until, name))
                            self._delete_pod(name)
                    if self._over.is_set():
                        return
                    if time.monotonic() > end + pause:
                        break
                    self._over.wait(0.2)
        finally:
            for _, name in stolen:
                self._delete_pod(name)

    def _rob_a_gang(self, kind, gpus, pick):
        """Takes GPUs of a node of the next gang that is planned or was committed; None if there is none."""
        for change in self._next_groups(3.0):
            group = change.what
            was, self._committed[group.uid] = self._committed.get(group.uid, False), group.committed
            is_one = bool(group.placements) and (
                not group.committed if kind == "before commit" else group.committed and not was)
            if is_one and not change.gone:
                places = sorted({node for (role, _), (_, node) in group.placements.items() if role != "aggregator"})
                return self._create_thief(kind, gpus, places[int(pick * len(places))], group.uid)
        return None

    def _next_groups(self, seconds):
        """Changes of PodGroups from now on; earlier ones only count as known."""
        with contextlib.suppress(queue.Empty):
            while True:
                change = self._groups.get_nowait()
                self._committed[change.what.uid] = change.what.committed
        deadline = time.monotonic() + seconds
        while not self._over.is_set() and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                yield self._groups.get(timeout=min(left, 0.2))

    def _create_thief(self, kind, gpus, node=None, group=""):
        name = f"thief-{len(self.thieves)}"
        resources = {"limits": {"nvidia.com/gpu": str(gpus)}}
        spec = {"containers": [{"name": "main", "image": PAUSE, "resources": resources}],
                "terminationGracePeriodSeconds": 0, "nodeSelector": self._pool}
        spec = {**spec, "nodeName": node} if node else spec
        made = self._api.post(f"/api/v1/namespaces/{self._namespace}/pods",
                              {"metadata": {"name": name, "labels": {THIEF: "yes"}}, "spec": spec})
        self.thieves.append(Thief(made["metadata"]["uid"], kind, group))
        return name

    def _delete_pod(self, name):
        self._api.call("DELETE", f"/api/v1/namespaces/{self._namespace}/pods/{name}", {"gracePeriodSeconds": 0})

    # -- nodes

    def _flap(self):
        chance, away = self._chance["flaps"], []  # [(until, node)]
        try:
            for kind in deck(chance, FLAPS):
                node, pause = chance.choice(self._nodes), chance.uniform(2, 4)
                until = time.monotonic() + chance.uniform(*getattr(self._flaps, kind))
                is_free = node not in [name for _, name in away] and len(away) < MOST_FLAPPING
                if is_free and self._wants(f"not ready: {kind}"):
                    self._set_ready(node, False)
                    away.append((until, node))
                    self.done[f"not ready: {kind}"] += 1
                end = time.monotonic() + pause
                while time.monotonic() < end and not self._over.is_set():
                    for until, name in list(away):
                        if until < time.monotonic():
                            away.remove((until, name))
                            self._set_ready(name, True)
                    self._over.wait(0.2)
                if self._over.is_set():
                    return
        finally:
            for _, name in away:
                self._set_ready(name, True)

    def _set_ready(self, node, ready):
        """Does not wait for the controller manager's reaction."""
        self._api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": kubelet.annotations(not_ready="chaos")
                                                               if not ready else {"nervex-e2e/not-ready": None}}})
