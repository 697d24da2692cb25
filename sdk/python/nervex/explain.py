"""Why does a job wait, and what to do? The values of `kubectl nervex explain` from the job, its PodGroup, its pods, its
events and the namespace's PodDisruptionBudgets. Pure. The rules are those of view/; tests compare both
(tests/sdk/advice_test.py, tests/sdk/explain_test.py, tests/e2e/test_sdk.py)."""

from __future__ import annotations

import datetime
import json
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from nervex.budgets import find_budget_problems
from nervex.text import parse_time
from nervex.view import (BASE_GANG, FINISHED, AvoidedNode, Explanation, NodeReservation, NodeUser, PlannedNode, Problem,
                         Reservation, RoleCounts, Wait, now_in_utc, read_event)

Json = Mapping[str, Any]

# Causes about the cluster and quotas. All others are rules of the queue: gang/no_fit.cpp.
NO_FIT = ("InsufficientCapacity", "NoNodeAllowed", "NeverFits", "NeverFitsTogether", "OverQuota")
ROLES = ("coordinator", "aggregator", "collector", "learner")
POD_ROLES = (*ROLES, "ddp-learner")
RESERVATION_SECONDS = 600  # the default of spec.reservationSeconds
TOLERATES_NOT_READY = "nervex.sensetime.com/tolerates-not-ready-seconds"  # of a pod: gang/outage_tolerations.h
TOLERATES_UNREACHABLE = "nervex.sensetime.com/tolerates-unreachable-seconds"
POD_GROUP_UID = "nervex.sensetime.com/pod-group-uid"
LONGEST_OUTAGE = 100 * 365 * 24 * 3600
LONGEST_RUN = 10 * 366 * 24 * 3600  # a longer limit counts as none

# Advice of a job that has just been created: for a moment it is the next program's turn.
SETTLING = {"NotObserved", "AboutToBeQueued", "NotPlanned"}
SETTLE_SECONDS = 5.0  # longer than this it is worth telling

with open(os.path.join(os.path.dirname(__file__), "advice.json"), encoding="utf-8") as _file:
    HELP: Dict[str, str] = json.load(_file)  # {job} and {ns} are replaced


def explain(job: Json, group: Optional[Json], pods: Sequence[Json], left_out: Sequence[str] = (), *,
            events: Sequence[Json] = (), budgets: Sequence[Json] = (), others: Sequence[Json] = (),
            now: Optional[datetime.datetime] = None) -> Explanation:
    """`group`: the PodGroup of the job's attempt. `pods`, `events`: those of the job. `budgets`: all PodDisruptionBudgets
    of its namespace. `others`: its other PodGroups; of use if has_reservation(group)."""
    seen = Seen(job, group, pods, now or now_in_utc(), others)
    waits = find_waits(seen)
    meta = job["metadata"]
    code, waits_for_nodes = next((code, waits) for code, waits, applies in RULES if applies(seen))
    text = HELP[code].format(ns=meta["namespace"], job=meta["name"])
    if waits_for_nodes and seen.remedy() == "OpenNodes":
        text += ". Nodes that are cordoned or not ready, as the reason says, may also help: kubectl get nodes"
    reached = seen.condition(seen.phase, True) or {}
    queue = seen.status.get("queue", {})
    return Explanation(
        namespace=meta["namespace"], name=meta["name"], phase=seen.phase, reason=seen.reason, advice=code, help=text,
        waits=waits, notes=(*find_notes(seen, waits), *find_removed_notes(seen), *find_budget_notes(seen, budgets)),
        problems=tuple(filter(None, map(find_problem, pods))), roles=count_roles(seen), queue=queue.get("name", ""),
        position=queue.get("position", 0), fails_at=find_schedule_timeout(seen) if waits else None, left_out=tuple(left_out),
        time=seen.now, created=parse_time(meta.get("creationTimestamp")), since=parse_time(reached.get("lastTransitionTime")),
        nodes=find_nodes(seen), avoided=seen.avoided(), reserved=find_reservation(seen),
        events=tuple(sorted(map(read_event, events), key=lambda one: str(one.time))))


class Seen:
    """The objects of one job, and questions that several rules ask."""

    def __init__(self, job: Json, group: Optional[Json], pods: Sequence[Json], now: datetime.datetime,
                 others: Sequence[Json] = ()) -> None:
        self.job, self.group, self.pods, self.now, self.others = job, group, pods, now, others
        self.spec: Json = job.get("spec", {})
        self.status: Json = job.get("status", {})
        self.phase: str = self.status.get("phase", "")
        self.reason: str = self.status.get("reason", "")

    def condition(self, kind: str, status: bool) -> Optional[Json]:
        wanted = "True" if status else "False"
        return next((one for one in self.status.get("conditions", [])
                     if one["type"] == kind and one["status"] == wanted), None)

    def failed(self, reason: str = "") -> bool:
        return self.phase == "Failed" and reason in ("", self.reason)

    def has_bound_coordinator(self) -> bool:
        """In the attempt of the PodGroup."""
        uid = (self.group or {}).get("metadata", {}).get("uid", "")
        return any(pod["spec"].get("nodeName") and pod["metadata"].get("labels", {}).get("replica-type") == "coordinator"
                   and pod["metadata"].get("annotations", {}).get(POD_GROUP_UID) == uid for pod in self.pods)

    def gangs(self) -> List[Json]:
        found: List[Json] = (self.group or {}).get("status", {}).get("gangs", [])
        return found

    def wanted(self, name: str) -> Json:
        """The gang of this name in the PodGroup's spec; {}: it is being released."""
        return next((one for one in self.wanted_gangs() if one["name"] == name), {})

    def wanted_gangs(self) -> List[Json]:
        found: List[Json] = (self.group or {}).get("spec", {}).get("gangs", [])
        return found

    def wanted_members(self) -> List[Json]:
        return [members for gang in self.wanted_gangs() for members in gang["members"]]

    def reserved(self) -> List[Tuple[str, str, int]]:
        """(node, role, pods) of the capacity that the plan reserves."""
        roles = {members["name"]: members["role"] for members in self.wanted_members()}
        return [(one["node"], roles[entry["set"]], int(one.get("count", 1))) for gang in self.gangs()
                for entry in gang.get("reserved", []) for one in entry["nodes"] if entry["set"] in roles]

    def waiting_gangs(self) -> List[Json]:
        return [one for one in self.gangs() if not one.get("planned") or one.get("healingSince")]

    def first_waiting(self) -> Json:
        """The base gang, if it waits; {}: no gang waits."""
        waiting = self.waiting_gangs()
        return next((one for one in waiting if one["name"] == BASE_GANG), waiting[0] if waiting else {})

    def remedy(self) -> str:
        return str(self.first_waiting().get("remedy", {}).get("code", ""))

    def is_held_by_queue(self) -> bool:
        cause = self.first_waiting().get("cause", {})
        return bool(cause) and cause.get("code") not in NO_FIT

    def is_observed(self) -> bool:
        group = self.group or {}
        observed, generation = group.get("status", {}).get("observedGeneration"), group.get("metadata", {}).get("generation")
        return int(observed or 0) >= int(generation or 0)

    def avoided(self) -> Tuple[AvoidedNode, ...]:
        """Nodes now excluded from a waiting gang's next plan, in the PodGroup's order."""
        if not self.waiting_gangs():
            return ()
        found = [AvoidedNode(one["node"], one["set"], parse_time(one.get("until")) or self.now)
                 for one in (self.group or {}).get("status", {}).get("avoid", [])]
        return tuple(one for one in found if one.until > self.now)

    def refused_by_scheduler(self) -> bool:
        gang = self.first_waiting()
        return bool(gang.get("reason") == "RefusedByScheduler" or gang.get("refusals", {}).get("count") and self.avoided())


def grows(seen: Seen) -> bool:
    return bool(seen.first_waiting().get("name", BASE_GANG) != BASE_GANG)


def waits_for(seen: Seen, reason: str) -> bool:
    return bool(seen.first_waiting().get("reason") == reason)


def has_stuck_container(seen: Seen) -> bool:
    problems = [find_problem(one) for one in seen.pods if not one["metadata"].get("deletionTimestamp")]
    return any(one and one.code == "ContainerWaiting" for one in problems)


def is_refused(seen: Seen) -> bool:
    refused = seen.condition("PodsCreated", False)
    return refused is not None and refused.get("reason") == seen.reason


# (code, do opened nodes help?, when it applies); the first that applies is the advice: view/advice.cpp
RULES: Tuple[Tuple[str, bool, Callable[[Seen], Any]], ...] = (
    ("BeingDeleted", False, lambda s: s.job["metadata"].get("deletionTimestamp")),
    ("Succeeded", False, lambda s: s.phase == "Succeeded"),
    ("ScheduleTimeout", False, lambda s: s.failed("ScheduleTimeout")),
    ("DeadlineExceeded", False, lambda s: s.failed("DeadlineExceeded")),
    ("StartTimeout", False, lambda s: s.failed("StartTimeout")),
    ("Failed", False, lambda s: s.failed()),
    ("NotObserved", False, lambda s: not s.phase and not s.group),
    ("Suspended", False, lambda s: s.spec.get("suspend")),
    ("InvalidName", False, lambda s: s.reason == "InvalidName"),
    ("FixRefusal", False, is_refused),
    ("FixTemplate", False, lambda s: s.condition("PodsRefused", True)),
    ("PreviousJobTerminating", True, lambda s: s.reason == "PreviousJobTerminating"),
    ("PreviousAttemptTerminating", False, lambda s: s.reason == "PreviousAttemptTerminating"),
    ("CreatePriorityClass", False, lambda s: s.reason == "PriorityClassMissing"),
    ("CreateAggregatorConfig", False, lambda s: s.reason == "AggregatorMissing"),
    ("BackOff", False, lambda s: s.reason == "BackOff"),
    ("AboutToBeQueued", True, lambda s: s.group is None),
    ("NotPlanned", False, lambda s: not s.is_observed()),
    ("PlanTooLarge", False, lambda s: waits_for(s, "PlanRefused")),
    ("Preempting", False, lambda s: waits_for(s, "Preempting")),
    ("Healing", False, lambda s: s.first_waiting().get("healingSince")),
    ("FixPods", False, lambda s: s.remedy() == "FixPods"),
    ("FixQueue", False, lambda s: s.remedy() == "FixQueue"),
    ("ExceedsLimit", False, lambda s: s.is_held_by_queue() and s.remedy() == "AskForLess"),
    ("OverLimit", False, lambda s: s.is_held_by_queue()),
    ("PlanExpired", False, lambda s: waits_for(s, "PlanExpired")),
    ("RefusedByScheduler", False, lambda s: s.refused_by_scheduler()),
    ("ExceedsQuota", False, lambda s: waits_for(s, "OverQuota") and s.remedy() == "AskForLess"),
    ("OverQuota", False, lambda s: waits_for(s, "OverQuota")),
    ("LowerReplicas", False, lambda s: s.wanted(s.first_waiting().get("name", "")).get("kind") == "AddedReplicas"
     and s.remedy() == "AskForLess"),
    ("TakeRequestBack", False, lambda s: grows(s) and s.remedy() == "AskForLess"),
    ("AskForLess", False, lambda s: s.remedy() == "AskForLess"),
    ("AllowNodes", False, lambda s: s.remedy() == "AllowNodes"),
    ("RequestWaits", True, grows),
    ("WaitForCapacity", True, lambda s: s.first_waiting()),
    ("RequestRetried", False, lambda s: s.condition("RequestsScheduled", False)),
    ("FixContainer", False, has_stuck_container),
    ("Starting", True, lambda s: s.phase == "Created"),
    ("NotReady", False, lambda s: s.condition("Ready", False)),
    ("ReplicasFailed", False, lambda s: any(
        one["status"].get("phase") == "Failed" and not one["metadata"].get("deletionTimestamp") for one in s.pods)),
    ("Running", False, lambda s: True),
)


def find_waits(seen: Seen) -> Tuple[Wait, ...]:
    if seen.phase in FINISHED:
        return ()
    if not seen.phase and not seen.group:
        return (Wait("Gang", "NotObserved", "no controller has seen the job yet",
                     parse_time(seen.job["metadata"].get("creationTimestamp")), BASE_GANG),)
    waits = [describe_wait(seen, gang) for gang in seen.waiting_gangs()]
    if waits:
        return tuple(sorted(waits, key=lambda one: one.gang != BASE_GANG))
    base = "Pods" if seen.phase == "Running" else "Gang"
    for kind, subject in (("PodsCreated", base), ("Scheduled", base), ("RequestsScheduled", "Requests")):
        found = seen.condition(kind, False)
        if found and found.get("message"):
            return (Wait(subject, found.get("reason", ""), found["message"], parse_time(found.get("lastTransitionTime")),
                         "" if subject == "Requests" else BASE_GANG),)
    return ()


def describe_wait(seen: Seen, gang: Json) -> Wait:
    pods: Dict[str, int] = {}
    for members in seen.wanted(gang["name"]).get("members", []):
        pods[members["role"]] = pods.get(members["role"], 0) + count_slots(members["slots"])
    since = parse_time(gang.get("since"))
    healing = parse_time(gang.get("healingSince"))
    if healing and healing <= seen.now:  # it may be in the future
        since = healing
    return Wait("LostPods" if healing else "Gang", gang.get("reason", ""), gang.get("message", ""), since, gang["name"],
                pods, gang.get("cause", {}), gang.get("remedy", {}).get("code", ""), find_reserved_nodes(seen, gang))


def has_reservation(group: Optional[Json]) -> bool:
    return any("reservation" in one for one in (group or {}).get("status", {}).get("gangs", []))


def find_reserved_nodes(seen: Seen, gang: Json) -> Optional[NodeReservation]:
    reservation = gang.get("reservation")
    if not reservation or not reservation["nodes"]:  # without nodes others are ending on them
        return None
    nodes = {one["node"] for of_set in reservation["nodes"] for one in of_set["nodes"]}
    users = filter(None, (find_node_user(one, nodes) for one in seen.others))
    return NodeReservation(tuple(sorted(nodes)), parse_time(reservation.get("since")), parse_time(reservation.get("due")),
                           tuple(sorted(users, key=lambda one: (one.until is None, one.until or seen.now, one.job))))


def find_node_user(group: Json, nodes: Set[str]) -> Optional[NodeUser]:
    wanted = {one["name"] for one in group.get("spec", {}).get("gangs", [])}
    gangs = [one for one in group.get("status", {}).get("gangs", []) if one.get("committed") and one["name"] in wanted]
    is_there = any(one["node"] in nodes for gang in gangs for placements in gang.get("placements", [])
                   for one in placements["nodes"])
    if not is_there:
        return None
    meta = group["metadata"]
    owners = [one["name"] for one in meta.get("ownerReferences", []) if one.get("controller")]
    return NodeUser((owners or [meta["name"]])[0], find_latest_end(group))


def find_latest_end(group: Json) -> Optional[datetime.datetime]:
    """When the job has ended and its pods are gone; None: it has no time limit. As queue/workload.cpp."""
    spec, status = group.get("spec", {}), group.get("status", {})
    of_queue = status.get("queue", {}).get("maxRuntimeSeconds")
    left = None if of_queue is None else max(of_queue - spec.get("activeSeconds", 0), 0)
    limits = [seconds for seconds in (spec.get("activeDeadlineSeconds"), left) if seconds is not None]
    grace = spec.get("graceSeconds")
    base: Json = next((one for one in status.get("gangs", []) if one["name"] == BASE_GANG and one.get("committed")), {})
    started = parse_time(base.get("startedAt"))
    if not limits or grace is None or not started or max(min(limits), grace) > LONGEST_RUN:
        return None
    return started + datetime.timedelta(seconds=min(limits) + grace)


def find_notes(seen: Seen, waits: Sequence[Wait]) -> Tuple[Tuple[str, str], ...]:
    known = {one.message for one in waits}
    notes = []
    for kind, status in (("PodsCreated", False), ("PodsRefused", True), ("AggregatorMissing", True), ("Requeued", True),
                         ("RequestsLost", True), ("Failed", True)):
        found = seen.condition(kind, status)
        if found and found.get("message") and found["message"] not in known:
            notes.append((kind, str(found["message"])))
    return tuple(notes)


def find_removed_notes(seen: Seen) -> List[Tuple[str, str]]:
    if seen.phase in FINISHED:
        return []
    notes = []
    for role in ("collector", "learner"):
        removed = count_removed(seen, role)
        if removed:
            notes.append(("ReplicasRemoved", f"{removed} of {base_replicas(seen, role)} base {role}s stay removed: the coordinator removed "
                          f"them. They return when spec.{role}.replicas is set to another number"))
    return notes


def base_replicas(seen: Seen, role: str) -> int:
    return int(seen.spec.get(role, {}).get("replicas") or 0)


def count_removed(seen: Seen, role: str) -> int:
    """The rule of job/slots.h: a removal lasts while the number of replicas is the one at the removal."""
    replicas, returned = base_replicas(seen, role), seen.status.get("returned", {}).get(role, 0)
    removed = 0
    for change in seen.spec.get("requests", {}).get("base", []):
        of_role = change.get("role") == role and change.get("attempt") == seen.status.get("attempt", 0)
        lasts = not change.get("id") or (change.get("replicas") == replicas and change["id"] > returned)
        removed += of_role and lasts and bool(change.get("removed")) and change.get("ordinal", 0) < replicas
    return removed


def find_budget_notes(seen: Seen, budgets: Sequence[Json]) -> List[Tuple[str, str]]:
    if seen.phase in FINISHED:
        return []
    wanted = dict.fromkeys(POD_ROLES, 0)
    for members in seen.wanted_members():
        wanted[members["role"]] += count_slots(members["slots"])
    if seen.group is None:
        wanted.update(count_without_group(seen))
    return [("PodDisruptionBudget", message) for message in find_budget_problems(seen.job, wanted, budgets)]


def find_problem(pod: Json) -> Optional[Problem]:
    status, name, node = pod.get("status", {}), pod["metadata"]["name"], pod.get("spec", {}).get("nodeName", "")
    for container in status.get("containerStatuses", []):
        problem = find_container_problem(name, container)
        if problem:
            return problem
    if status.get("reason") or status.get("phase") == "Failed":
        return Problem(name, "PodFailed", status.get("reason", ""), status.get("message", "") if status.get("reason") else "")
    conditions = {one["type"]: one for one in status.get("conditions", [])}
    lost = conditions.get("nervex.sensetime.com/NodeLost", {})
    if lost.get("status") == "True":
        return Problem(name, "NodeLost", message=lost.get("message") or lost["type"], node=node)
    if status.get("phase") == "Running" and conditions.get("Ready", {}).get("status") != "True":
        problem = find_tolerated_outage(pod, name, node)
        if problem:
            return problem
    scheduled = conditions.get("PodScheduled", {})
    if not node and scheduled.get("status") == "False" and scheduled.get("message"):
        return Problem(name, "Unschedulable", message=scheduled["message"])
    return None


def find_container_problem(pod: str, container: Json) -> Optional[Problem]:
    state, restarts = container.get("state", {}), container.get("restartCount", 0)
    ended, waiting = state.get("terminated"), state.get("waiting", {})
    if ended and ended.get("exitCode"):
        return Problem(pod, "ContainerFailed", ended.get("reason", ""), ended.get("message", ""), ended["exitCode"], restarts)
    if waiting.get("reason", "ContainerCreating") not in ("ContainerCreating", "PodInitializing"):
        last = container.get("lastState", {}).get("terminated", {})
        return Problem(pod, "ContainerWaiting", waiting["reason"], last.get("message") or waiting.get("message", ""),
                       restarts=restarts)
    return None


def find_tolerated_outage(pod: Json, name: str, node: str) -> Optional[Problem]:
    """A pod on an unavailable node is not Ready, as long as its template tolerates the outage."""
    annotations = pod["metadata"].get("annotations", {})
    unreachable = not annotations.get(TOLERATES_NOT_READY)
    text = annotations.get(TOLERATES_UNREACHABLE if unreachable else TOLERATES_NOT_READY, "")
    if text != "always" and not (text.isascii() and text.isdigit() and int(text) <= LONGEST_OUTAGE):
        return None
    return Problem(name, "NodeUnavailable", node=node, tolerated_seconds=None if text == "always" else int(text),
                   unreachable=unreachable)


def find_schedule_timeout(seen: Seen) -> Optional[datetime.datetime]:
    seconds, since = seen.spec.get("scheduleTimeoutSeconds"), parse_time(seen.status.get("waitingSince"))
    if not seconds or not since or seen.phase != "Created" or seen.spec.get("suspend"):
        return None
    if seen.has_bound_coordinator():  # it is bound after all other pods of the gang
        return None
    refused = seen.condition("PodsCreated", False)
    if not (refused and refused.get("reason") == "FailedCreate"):  # the back-off does not count
        since = max(since, parse_time(seen.status.get("nextAttemptTime")) or since)
    return since + datetime.timedelta(seconds=seconds)


def find_reservation(seen: Seen) -> Optional[Reservation]:
    pods: Dict[str, int] = {}
    for _, role, count in seen.reserved():
        pods[role] = pods.get(role, 0) + count
    if not pods:
        return None
    seconds = seen.spec.get("reservationSeconds", RESERVATION_SECONDS)
    seconds = min(seconds, seen.status.get("maxReservationSeconds", seconds))
    # Not status.startTime, which retries keep: each attempt requests its replicas again.
    running = (seen.condition("Running", True) or {}) if seen.phase == "Running" else {}
    since = parse_time(running.get("lastTransitionTime"))
    return Reservation(pods, since + datetime.timedelta(seconds=seconds) if since else None, seconds)


def find_nodes(seen: Seen) -> Tuple[PlannedNode, ...]:
    slots: Dict[str, List[str]] = {}
    reserved: Dict[str, Dict[str, int]] = {}
    for gang in seen.gangs():
        placed = [(placements["role"], one.get("ordinal", 0) + i, one["node"])
                  for placements in gang.get("placements", []) for one in placements["nodes"]
                  for i in range(one.get("count", 1))]
        for role, ordinal, node in sorted(placed):
            slots.setdefault(node, []).append(f"{role}/{ordinal}")
    for node, role, count in seen.reserved():
        pods = reserved.setdefault(node, {})
        pods[role] = pods.get(role, 0) + count
    return tuple(PlannedNode(name, tuple(slots.get(name, ())), reserved.get(name, {})) for name in sorted({*slots, *reserved}))


def count_roles(seen: Seen) -> Dict[str, RoleCounts]:
    wanted, placed = dict.fromkeys(ROLES, 0), dict.fromkeys(ROLES, 0)
    for members in seen.wanted_members():
        wanted[counted_as(members["role"])] += count_slots(members["slots"])
    if seen.group is None:
        wanted.update(count_without_group(seen))
    for gang in seen.gangs():
        for placements in gang.get("placements", []):
            placed[counted_as(placements["role"])] += count_slots(placements["nodes"])
    counts = seen.status.get("replicaStatus", {})
    found = {}
    for role in ROLES:
        count = counts.get(role.capitalize(), {})
        one = RoleCounts(wanted[role], placed[role], count.get("active", 0), count.get("succeeded", 0), count.get("failed", 0))
        if one.wanted or one.running or one.succeeded or one.failed:
            found[role] = one
    return found


def count_without_group(seen: Seen) -> Dict[str, int]:
    """Base replicas, and those that this attempt requested."""
    wanted = {"coordinator": 1}
    for role in ("collector", "learner"):
        wanted[role] = base_replicas(seen, role) - count_removed(seen, role)
    for entry in seen.spec.get("requests", {}).get("entries", []):
        if entry.get("role") in seen.spec and entry.get("attempt") == seen.status.get("attempt", 0):
            wanted[entry["role"]] += len(entry.get("slots", []))
    return wanted


def counted_as(role: str) -> str:
    """The status counts pods of multi-GPU learners as learners."""
    return "learner" if role == "ddp-learner" else role


def count_slots(entries: Sequence[Json]) -> int:
    """An entry stands for `count` slots; absent: 1."""
    return sum(int(one.get("count", 1)) for one in entries)
