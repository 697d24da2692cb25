"""Why does a job wait, and what to do? The values of `kubectl nervex explain -o json` from the job, its PodGroup and its
pods. Pure. The rules are those of view/; tests compare both (tests/sdk/advice_test.py, tests/e2e/test_sdk.py)."""

from __future__ import annotations

import dataclasses
import datetime
import html
import json
import os
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

Json = Mapping[str, Any]

BASE_GANG = "base"
LAST_EXACT_POSITION = 2  # in a queue
# Causes about the cluster and quotas. All others are rules of the queue: gang/no_fit.cpp.
NO_FIT = ("InsufficientCapacity", "NoNodeAllowed", "NeverFits", "NeverFitsTogether", "OverQuota")
ROLES = ("coordinator", "aggregator", "collector", "learner")
FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Wait:
    """A part of the job that waits.

    subject  Gang, LostPods, Pods or Requests
    reason   such as Unschedulable
    pods     how many of each role
    cause    of the PodGroup: {"code": "NeverFits", "role": "learner", ...}; empty if it gives none
    remedy   of the PodGroup: Wait, AskForLess, AllowNodes, OpenNodes or FixQueue; "" if it gives none
    """

    subject: str
    reason: str
    message: str
    since: Optional[datetime.datetime] = None
    gang: str = ""
    pods: Mapping[str, int] = dataclasses.field(default_factory=dict)
    cause: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    remedy: str = ""


@dataclass(frozen=True)
class Problem:
    """A pod that does not run. `code`: ContainerFailed, ContainerWaiting, PodFailed or Unschedulable."""

    pod: str
    code: str
    reason: str = ""
    message: str = ""
    exit_code: Optional[int] = None


@dataclass(frozen=True)
class RoleCounts:
    """Pods of a role."""

    wanted: int
    placed: int
    running: int
    succeeded: int
    failed: int


@dataclass(frozen=True)
class Explanation:
    """What is known of a job at one time; docs/reference/job-view.md has the codes.

    advice      code: WaitForCapacity, AskForLess, Running ...
    help        what to do, as a sentence
    notes       (code, message): conditions that say what else is wrong
    fails_at    when scheduleTimeoutSeconds ends the job if it has not started
    queue       the queue that the job waits or runs in; "": the root, or none at the moment
    position    its place there while it waits, in coarse steps: 10 stands for 10 to 19; 0: it does not wait
    left_out    what the user may not read
    """

    namespace: str
    name: str
    phase: str
    reason: str
    advice: str
    help: str
    waits: Tuple[Wait, ...] = ()
    notes: Tuple[Tuple[str, str], ...] = ()
    problems: Tuple[Problem, ...] = ()
    roles: Mapping[str, RoleCounts] = dataclasses.field(default_factory=dict)
    fails_at: Optional[datetime.datetime] = None
    queue: str = ""
    position: int = 0
    left_out: Tuple[str, ...] = ()

    @property
    def blocked(self) -> bool:
        """Waiting does not help: a person must change the job or the cluster."""
        return (self.advice in BLOCKED or self.advice in BLOCKED_FOR_NOW and not self._may_end()) and (
            self.phase not in ("Running", *FINISHED))

    def _may_end(self) -> bool:
        """Whether nodes may return, or an administrator may start the queue that was stopped."""
        cause = self.waits[0].cause if self.waits else {}
        nodes = cause.get("nodes", {})
        return bool(nodes.get("notReady") or nodes.get("cordoned") or nodes.get("avoided") or cause.get("code") == "QueueStopped")

    def summary(self) -> str:
        """One line: why, and what to do."""
        why = [one.message for one in self.waits[:1]] or [message for _, message in self.notes[:1]]
        why = why or [f"{one.pod}: {one.message or one.reason}" for one in self.problems[:1]]
        why = why or [f"{self.phase}, {self.reason}" if self.reason != self.phase else self.phase]
        return ". ".join([*(text.rstrip(".") for text in why), "What to do: " + self.help])

    def __str__(self) -> str:
        lines = [f"NerveXJob {self.namespace}/{self.name}",
                 f"  Phase    {self.phase or 'none yet'}" + (f" ({self.reason})" if self.reason else "")]
        if self.queue or self.position:
            more = "+" if self.position > LAST_EXACT_POSITION else ""
            position = f"position {self.position}{more}" if self.position else ""
            lines.append(f"  Queue    {', '.join(filter(None, [self.queue, position]))}")
        for wait in self.waits:
            pods = ", ".join(f"{count} {role}" for role, count in sorted(wait.pods.items()))
            since = f", since {wait.since:%Y-%m-%d %H:%M:%S} UTC" if wait.since else ""
            lines += [f"  Waits    {pods or wait.subject}{since}", f"  Because  {wait.message}"]
        if self.fails_at:
            lines.append(f"  Until    {self.fails_at:%Y-%m-%d %H:%M:%S} UTC: then the job fails (scheduleTimeoutSeconds)")
        lines += [f"  Note     {message}" for _, message in self.notes]
        lines += [f"  Problem  {one.pod}: {': '.join(filter(None, [one.reason, one.message]))}" for one in self.problems]
        lines += [f"  Left out {what}" for what in self.left_out]
        return "\n".join([*lines, f"What to do: {self.help}"])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


# Advice that a person must follow before the job can start.
BLOCKED = {"AskForLess", "ExceedsQuota", "ExceedsLimit", "PlanTooLarge", "InvalidName", "FixRefusal", "FixTemplate",
           "CreatePriorityClass", "CreateAggregatorConfig"}
BLOCKED_FOR_NOW = {"AllowNodes", "FixQueue"}  # unless the cause may end by itself

# Advice of a job that has just been created: for a moment it is the next program's turn.
SETTLING = {"NotObserved", "AboutToBeQueued", "NotPlanned"}
SETTLE_SECONDS = 5.0  # longer than this it is worth telling

with open(os.path.join(os.path.dirname(__file__), "advice.json"), encoding="utf-8") as _file:
    HELP: Dict[str, str] = json.load(_file)  # {job} and {ns} are replaced


def explain(job: Json, group: Optional[Json], pods: Sequence[Json], left_out: Sequence[str] = ()) -> Explanation:
    """`group`: the PodGroup of the job's attempt. `pods`: those of the job."""
    seen = Seen(job, group, pods)
    waits = find_waits(seen)
    meta = job["metadata"]
    code, waits_for_nodes = next((code, waits) for code, waits, applies in RULES if applies(seen))
    text = HELP[code].format(ns=meta["namespace"], job=meta["name"])
    if waits_for_nodes and seen.remedy() == "OpenNodes":
        text += ". Nodes that are cordoned or not ready, as the reason says, may help, too: kubectl get nodes"
    return Explanation(
        namespace=meta["namespace"], name=meta["name"], phase=seen.phase, reason=seen.reason, advice=code, help=text,
        waits=waits, notes=find_notes(seen, waits), problems=tuple(filter(None, map(find_problem, pods))),
        roles=count_roles(seen), queue=seen.status.get("queue", {}).get("name", ""),
        position=seen.status.get("queue", {}).get("position", 0), fails_at=find_schedule_timeout(seen) if waits else None, left_out=tuple(left_out))


class Seen:
    """The objects of one job, and questions that several rules ask."""

    def __init__(self, job: Json, group: Optional[Json], pods: Sequence[Json]) -> None:
        self.job, self.group, self.pods = job, group, pods
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

    def gangs(self) -> List[Json]:
        found: List[Json] = (self.group or {}).get("status", {}).get("gangs", [])
        return found

    def wanted(self, name: str) -> Json:
        """The gang of this name in the PodGroup's spec; {}: it is being released."""
        return next((one for one in self.wanted_gangs() if one["name"] == name), {})

    def wanted_gangs(self) -> List[Json]:
        found: List[Json] = (self.group or {}).get("spec", {}).get("gangs", [])
        return found

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

    def refused_by_scheduler(self) -> bool:
        gang = self.first_waiting()
        now = datetime.datetime.now(datetime.timezone.utc)
        avoided = any((parse_time(one.get("until")) or now) > now
                      for one in (self.group or {}).get("status", {}).get("avoid", []))
        return bool(gang.get("reason") == "RefusedByScheduler" or gang.get("refusals", {}).get("count") and avoided)


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
    if healing and healing <= datetime.datetime.now(datetime.timezone.utc):  # it may be in the future
        since = healing
    return Wait("LostPods" if healing else "Gang", gang.get("reason", ""), gang.get("message", ""), since, gang["name"],
                pods, gang.get("cause", {}), gang.get("remedy", {}).get("code", ""))


def find_notes(seen: Seen, waits: Sequence[Wait]) -> Tuple[Tuple[str, str], ...]:
    known = {one.message for one in waits}
    notes = []
    for kind, status in (("PodsCreated", False), ("PodsRefused", True), ("AggregatorMissing", True), ("Requeued", True),
                         ("RequestsLost", True), ("Failed", True)):
        found = seen.condition(kind, status)
        if found and found.get("message") and found["message"] not in known:
            notes.append((kind, str(found["message"])))
    return tuple(notes)


def find_problem(pod: Json) -> Optional[Problem]:
    status, name = pod.get("status", {}), pod["metadata"]["name"]
    for container in status.get("containerStatuses", []):
        state = container.get("state", {})
        ended, waiting = state.get("terminated"), state.get("waiting", {})
        if ended and ended.get("exitCode"):
            return Problem(name, "ContainerFailed", ended.get("reason", ""), ended.get("message", ""), ended["exitCode"])
        if waiting.get("reason", "ContainerCreating") not in ("ContainerCreating", "PodInitializing"):
            return Problem(name, "ContainerWaiting", waiting["reason"], waiting.get("message", ""))
    if status.get("reason") or status.get("phase") == "Failed":
        return Problem(name, "PodFailed", status.get("reason", ""), status.get("message", ""))
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False" and not pod["spec"].get("nodeName"):
            return Problem(name, "Unschedulable", condition.get("reason", ""), condition.get("message", ""))
    return None


def find_schedule_timeout(seen: Seen) -> Optional[datetime.datetime]:
    seconds, since = seen.spec.get("scheduleTimeoutSeconds"), parse_time(seen.status.get("waitingSince"))
    if not seconds or not since or seen.phase != "Created" or seen.spec.get("suspend"):
        return None
    refused = seen.condition("PodsCreated", False)
    if not (refused and refused.get("reason") == "FailedCreate"):  # the back-off does not count
        since = max(since, parse_time(seen.status.get("nextAttemptTime")) or since)
    return since + datetime.timedelta(seconds=seconds)


def count_roles(seen: Seen) -> Dict[str, RoleCounts]:
    wanted, placed = dict.fromkeys(ROLES, 0), dict.fromkeys(ROLES, 0)
    for gang in seen.wanted_gangs():
        for members in gang["members"]:
            wanted[counted_as(members["role"])] += count_slots(members["slots"])
    if seen.group is None:
        wanted.update(coordinator=1, **{role: int(seen.spec.get(role, {}).get("replicas") or 0)
                                        for role in ("collector", "learner")})
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


def counted_as(role: str) -> str:
    return "learner" if role == "ddp-learner" else role


def count_slots(entries: Sequence[Json]) -> int:
    """An entry stands for `count` slots; absent: 1."""
    return sum(int(one.get("count", 1)) for one in entries)


def parse_time(text: Optional[str]) -> Optional[datetime.datetime]:
    """RFC 3339 in UTC, as Kubernetes writes it; fractions of a second are dropped."""
    if not text:
        return None
    return datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
