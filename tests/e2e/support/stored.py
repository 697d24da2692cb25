"""Pods, PodGroups, nodes and Queues as values: what the judges of a history need of each stored version."""

import collections
import dataclasses
import datetime

from kubernetes.utils import parse_quantity
from tools.cluster import pod_groups

from support.observer import ANNOTATION, incarnation_of, requests_of, slot_of

THIEF = "nervex-e2e/thief"                         # label of pods that take capacity without asking
CLASS = "nvidia.com/gpu.product"                   # --node-class-label
FOREIGN = "scheduling.x-k8s.io/pod-group"          # label of the pods of other operators' gangs
SCHEDULER = "nervex-scheduler"
FIRST_REQUESTED = 4096                             # lower ordinals are those of base replicas


@dataclasses.dataclass(frozen=True)
class Pod:
    uid: str
    name: str
    node: str
    requests: dict
    thief: bool = False
    slot: tuple = ()          # (job UID, role, ordinal)
    group: str = ""           # UID of its PodGroup
    finished: str = ""        # the reason, or the phase
    deleting: bool = False
    queue: str = ""           # in which its gang counts
    namespace: str = ""
    foreign: bool = False     # of a gang of another operator, which counts in the queue of its namespace
    nominated: bool = False   # as the planner does with those

    @property
    def occupies(self):
        """Includes a terminating pod."""
        return bool(self.node) and not self.finished

    @property
    def runs(self):
        return self.occupies and not self.deleting


@dataclasses.dataclass(frozen=True)
class Reservation:
    """The nodes that are reserved for a gang that waits."""
    nodes: dict               # node: {resource: amount}
    counts_on: tuple = ()     # UIDs of PodGroups
    due: float | None = None  # seconds since the epoch


@dataclasses.dataclass(frozen=True)
class Group:
    """A PodGroup. `slots`, `placements` and `committed` are those of its base gang."""
    uid: str
    name: str
    slots: frozenset          # (role, ordinal)
    placements: dict          # (role, ordinal): (number, node)
    committed: bool = False
    # Of the other gangs: requests and added replicas.
    more: dict = dataclasses.field(default_factory=dict)  # (role, ordinal): node
    more_committed: frozenset = frozenset()               # (role, ordinal)
    # What decides whom it has to wait for.
    namespace: str = ""
    queue: str = ""
    priority: int = 0
    queued_since: float = 0   # seconds since the epoch
    seconds: int | None = None  # after which the job ends
    active: int = 0  # seconds that the job was active before: the limit of its queue counts them, too
    grace: int | None = None  # what its pods then take to end; None: they stay, or unknown
    preemptible: bool = False
    reservation: Reservation | None = None
    reserved: dict = dataclasses.field(default_factory=dict)  # node: {resource: amount}, for the job's requests

    @property
    def rank(self):
        """The smaller one is served first, in a queue that serves by priority."""
        return -self.priority, self.queued_since, self.namespace, self.name

    def node_of(self, slot):
        """Where the slot is planned; "" if it is not."""
        return self.placements[slot][1] if slot in self.placements else self.more.get(slot, "")


@dataclasses.dataclass(frozen=True)
class Node:
    name: str
    ready: bool
    allocatable: dict
    node_class: str = ""


@dataclasses.dataclass(frozen=True)
class Queue:
    name: str
    parent: str = ""
    limits: dict = dataclasses.field(default_factory=dict)  # (class or "", resource): amount
    by_rank: bool = True      # it serves by priority, then by the longer wait
    max_seconds: int | None = None


@dataclasses.dataclass(frozen=True)
class Change:
    version: int
    at: float                 # time.monotonic() when it was seen
    gone: bool
    what: object


def pod_of(one):
    meta, status, slot = one["metadata"], one["status"], slot_of(one)
    labels, finished = meta.get("labels", {}), status.get("phase") in ("Succeeded", "Failed")
    return Pod(uid=meta["uid"], name=meta["name"], node=one["spec"].get("nodeName", ""),
               requests=largest_requests(one), thief=THIEF in labels, slot=slot or (),
               group=incarnation_of(one)[0] if slot else "",
               finished=status.get("reason", status["phase"]) if finished else "",
               deleting="deletionTimestamp" in meta,
               queue=meta.get("annotations", {}).get(ANNOTATION + "queue", "") if slot else "",
               namespace=meta.get("namespace", ""),
               foreign=not slot and FOREIGN in labels and one["spec"].get("schedulerName") == SCHEDULER,
               nominated="nominatedNodeName" in status)


def largest_requests(pod):
    """While a pod is resized in place it has the larger of what it had and what it asks for."""
    wanted, had = requests_of(pod), collections.Counter()
    for container in pod["status"].get("containerStatuses", []):
        for resource, amount in container.get("allocatedResources", {}).items():
            had[resource] += parse_quantity(amount)
    return dict(wanted | had)


def group_of(one):
    spec, status, meta = one["spec"], one.get("status", {}), one["metadata"]
    gangs = {gang["name"]: gang for gang in status.get("gangs", [])}
    base, placed = gangs.get("base", {}), pod_groups.placements(one)
    sets = {member["name"]: amounts(member.get("requests", {})) for member in pod_groups.sets(one)}
    return Group(
        meta["uid"], meta["name"], frozenset(slots_of_base(spec)),
        {(place["role"], place["ordinal"]): (place["number"], place["node"])
         for place in placed if place["gang"] == "base"},
        base.get("committed", False),
        more={(place["role"], place["ordinal"]): place["node"] for place in placed if place["gang"] != "base"},
        more_committed=frozenset((place["role"], place["ordinal"]) for place in placed
                                 if place["gang"] != "base" and gangs[place["gang"]].get("committed")),
        namespace=meta.get("namespace", ""), queue=status.get("queue", {}).get("name", ""),
        priority=spec.get("priority", 0), queued_since=epoch(spec.get("queuedSince")) or 0,
        seconds=spec.get("activeDeadlineSeconds"), active=spec.get("activeSeconds", 0), grace=spec.get("graceSeconds"),
        preemptible=spec.get("preemptible", False),
        reservation=reservation_of(base.get("reservation"), sets), reserved=on_nodes(base.get("reserved", []), sets))


def slots_of_base(spec):
    return {(member["role"], run["ordinal"] + i) for gang in spec["gangs"] if gang["name"] == "base"
            for member in gang["members"] for run in member["slots"] for i in range(run.get("count", 1))}


def reservation_of(one, sets):
    return one and Reservation(on_nodes(one["nodes"], sets), tuple(one.get("countsOn", [])), epoch(one.get("due")))


def on_nodes(of_sets, sets):
    """{node: amounts} of pods by set, then by node."""
    found = collections.defaultdict(collections.Counter)
    for of_set in of_sets:
        for place in of_set["nodes"]:
            for resource, amount in sets.get(of_set["set"], {}).items():
                found[place["node"]][resource] += amount * place.get("count", 1)
    return {node: dict(sums) for node, sums in found.items()}


def node_of(one):
    ready = [c["status"] for c in one["status"].get("conditions", []) if c["type"] == "Ready"]
    return Node(one["metadata"]["name"], ready == ["True"], amounts(one["status"]["allocatable"]),
                one["metadata"].get("labels", {}).get(CLASS, ""))


def queue_of(one):
    spec = one["spec"]
    limits = {(part.get("nodeClass", ""), resource): amount
              for part in spec.get("limit", []) for resource, amount in amounts(part["resources"]).items()}
    return Queue(one["metadata"]["name"], spec.get("parent", ""), limits,
                 spec.get("order", "Priority") == "Priority" and not spec.get("fairUsers", False),
                 spec.get("maxRuntimeSeconds"))


def amounts(quantities):
    return {resource: parse_quantity(amount) for resource, amount in quantities.items()}


def epoch(text):
    return datetime.datetime.fromisoformat(text).timestamp() if text else None
