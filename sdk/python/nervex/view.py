"""What is known of a job at one time: values, their text as `kubectl nervex explain` prints it, and their JSON as
`explain -o json` has it. Pure. The texts are those of cli/jobs/explain.cpp and view/json.cpp;
tests/golden/explain compares both."""

from __future__ import annotations

import datetime
import html
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from nervex.text import ago, ahead, format_time, parse_time, printable, short_duration, table

Json = Mapping[str, Any]
Rows = List[Sequence[str]]

BASE_GANG = "base"
FINISHED = ("Succeeded", "Failed")
LAST_EXACT_POSITION = 2  # in a queue
SHOWN = 8  # of long lists
SHOWN_NODES = 5

# Advice that a person must follow before the job can start.
BLOCKED = {"AskForLess", "ExceedsQuota", "ExceedsLimit", "PlanTooLarge", "InvalidName", "FixRefusal", "FixTemplate",
           "CreatePriorityClass", "CreateAggregatorConfig"}
BLOCKED_FOR_NOW = {"AllowNodes", "FixPods", "FixQueue"}  # unless the cause may end by itself


def now_in_utc() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


@dataclass(frozen=True)
class NodeUser:
    """A job of the namespace on reserved nodes. `until`: it has ended by then; None: it has no time limit."""

    job: str
    until: Optional[datetime.datetime] = None


@dataclass(frozen=True)
class NodeReservation:
    """Nodes that are reserved for a gang that waits.

    due    the gang starts then at the latest; None: no such time is known
    users  who is on the nodes; who ends first comes first. Empty in watch()
    """

    nodes: Tuple[str, ...]
    since: Optional[datetime.datetime] = None
    due: Optional[datetime.datetime] = None
    users: Tuple[NodeUser, ...] = ()


@dataclass(frozen=True)
class Wait:
    """A part of the job that waits.

    subject      Gang, LostPods, Pods or Requests
    reason       such as Unschedulable
    gang         its name in the PodGroup; "base" starts with the job
    pods         how many of each role
    cause        of the PodGroup: {"code": "NeverFits", "role": "learner", ...}; empty if it gives none
    remedy       of the PodGroup: Wait, AskForLess, AllowNodes, OpenNodes, FixPods or FixQueue; "" if it gives none
    reservation  nodes that are reserved for it, if there are any
    """

    subject: str
    reason: str
    message: str
    since: Optional[datetime.datetime] = None
    gang: str = ""
    pods: Mapping[str, int] = field(default_factory=dict)
    cause: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = ""
    reservation: Optional[NodeReservation] = None

    def title(self) -> str:
        """ "the whole gang", "lost pods of request-1 (2 collectors)" """
        if self.subject == "Requests":
            return "requested replicas"
        counts = ", ".join(count_pods(role, count) for role, count in sorted(self.pods.items()))
        gang = "the whole gang" if self.gang == BASE_GANG else printable(self.gang) + (f" ({counts})" if counts else "")
        return {"LostPods": "lost pods of ", "Pods": "pods of "}.get(self.subject, "") + gang


@dataclass(frozen=True)
class Problem:
    """A pod that does not run. `code`: ContainerFailed, ContainerWaiting, PodFailed, NodeLost, NodeUnavailable or
    Unschedulable.

    node               for NodeLost and NodeUnavailable
    tolerated_seconds  for NodeUnavailable: how long the pod's template tolerates that; None: without a limit
    """

    pod: str
    code: str
    reason: str = ""
    message: str = ""
    exit_code: Optional[int] = None
    restarts: int = 0
    node: str = ""
    tolerated_seconds: Optional[int] = None
    unreachable: bool = False

    def describe(self) -> str:
        """What is wrong, as one phrase."""
        if self.code == "NodeLost":
            return f"its node {self.node} is lost: {self.message}"
        if self.code == "NodeUnavailable":
            lasts = "without a limit" if self.tolerated_seconds is None else (
                "for " + short_duration(datetime.timedelta(seconds=self.tolerated_seconds)))
            return (f"not Ready; its template tolerates that node {self.node} is "
                    f"{'unreachable' if self.unreachable else 'not Ready'} {lasts}")
        if self.code == "Unschedulable":
            return self.message
        if self.code == "PodFailed" and not self.reason:
            return "failed"
        parts = [self.reason, f"exit code {self.exit_code}" if self.code == "ContainerFailed" else "",
                 f"{self.restarts} restarts" if self.restarts else ""]
        return ": ".join(filter(None, [", ".join(filter(None, parts)), self.message]))


@dataclass(frozen=True)
class RoleCounts:
    """Pods of a role."""

    wanted: int
    placed: int
    running: int
    succeeded: int
    failed: int


@dataclass(frozen=True)
class PlannedNode:
    """A node of the plan. `slots`: role/ordinal of each pod; `reserved`: pods of each role for which it keeps capacity."""

    name: str
    slots: Tuple[str, ...] = ()
    reserved: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class AvoidedNode:
    """A node that the next plan leaves out for some pods, because it refused them."""

    node: str
    pods: str
    until: datetime.datetime


@dataclass(frozen=True)
class Reservation:
    """Capacity for what the coordinator requests first. `until`: None before the coordinator runs, then
    `seconds_after_start` counts."""

    pods: Mapping[str, int]
    until: Optional[datetime.datetime] = None
    seconds_after_start: int = 0


@dataclass(frozen=True)
class Event:
    """An event of a job; docs/reference/events.md has the reasons. `type`: Normal or Warning."""

    time: Optional[datetime.datetime]
    type: str
    reason: str
    message: str
    count: int = 1

    def __str__(self) -> str:
        when = f"{self.time:%Y-%m-%d %H:%M:%S}" if self.time else "-"
        return f"{when} {self.reason}: {self.message}" + (f" ({self.count} times)" if self.count > 1 else "")


def read_event(event: Json) -> Event:
    time = parse_time(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp"))
    return Event(time, event.get("type", ""), event.get("reason", ""), event.get("message", ""), event.get("count") or 1)


@dataclass(frozen=True)
class Explanation:
    """What is known of a job at one time; docs/reference/job-view.md has the codes. str() is what `kubectl nervex explain`
    prints.

    advice      code: WaitForCapacity, AskForLess, Running ...
    help        what to do, as a sentence
    time        when the job was read
    since       when it reached its phase
    notes       (code, message): conditions, removed replicas and PodDisruptionBudgets that say what else is wrong
    nodes       of the plan
    avoided     nodes that the next plan leaves out
    reserved    capacity for what the coordinator requests first
    events      oldest first
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
    roles: Mapping[str, RoleCounts] = field(default_factory=dict)
    fails_at: Optional[datetime.datetime] = None
    queue: str = ""
    position: int = 0
    left_out: Tuple[str, ...] = ()
    time: datetime.datetime = field(default_factory=now_in_utc)
    created: Optional[datetime.datetime] = None
    since: Optional[datetime.datetime] = None
    nodes: Tuple[PlannedNode, ...] = ()
    avoided: Tuple[AvoidedNode, ...] = ()
    reserved: Optional[Reservation] = None
    events: Tuple[Event, ...] = ()

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
        why = why or [f"{one.pod}: {one.describe()}" for one in self.problems[:1]]
        why = why or [f"{self.phase}, {self.reason}" if self.reason != self.phase else self.phase]
        return ". ".join([*(text.rstrip(".") for text in why), "What to do: " + self.help])

    def to_dict(self) -> Dict[str, Any]:
        """The object of `kubectl nervex explain -o json`, for json.dumps()."""
        return {"apiVersion": "cli.nervex.sensetime.com/v1", "kind": "JobView", **dict(view_json(self))}

    def __str__(self) -> str:
        sections = [("Roles", role_rows(self)), ("Planned nodes", node_rows(self)), ("Problems", problem_rows(self)),
                    ("Last events", event_rows(self))]
        return "\n".join([
            f"NerveXJob {self.namespace}/{self.name}", table(list(summary_rows(self)), "  "),
            *(f"\n{title}\n{table(rows, '  ')}" for title, rows in sections if rows),
            f"\nWhat to do: {self.help}", *self.left_out])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


# -- text


def count_pods(role: str, count: int) -> str:
    """ "2 collectors" """
    return f"{count} {printable(role)}{'' if count == 1 else 's'}"


def sum_pods(pods: Mapping[str, int]) -> str:
    """ "1 collector, 2 ddp-learners and 4 learners" """
    counts = [count_pods(role, count) for role, count in sorted(pods.items())]
    return " and ".join(filter(None, [", ".join(counts[:-1]), *counts[-1:]]))


def summary_rows(view: Explanation) -> Iterator[Sequence[str]]:
    yield "Phase", phase_text(view)
    if view.queue or view.position:
        position = f"position {view.position}{'+' if view.position > LAST_EXACT_POSITION else ''}" if view.position else ""
        yield "Queue", ", ".join(filter(None, [printable(view.queue), position]))
    for wait in view.waits:
        yield "Waits", wait.title() + (f", since {ago(wait.since, view.time)}" if wait.since else "")
        yield "Because", printable(wait.message)
        if wait.reservation:
            yield from reservation_rows(wait.reservation, view.time)
    if view.fails_at:
        yield "Until", f"{ahead(view.fails_at, view.time)}: then the job fails (scheduleTimeoutSeconds)"
    if view.avoided:
        last = max(view.avoided, key=lambda one: one.until)
        more = f", and {len(view.avoided) - 1} more before then" if len(view.avoided) > 1 else ""
        yield "Avoided", f"node {printable(last.node)} for {printable(last.pods)} until {ahead(last.until, view.time)}{more}"
    if view.reserved:
        until = (ahead(view.reserved.until, view.time) if view.reserved.until
                 else f"{view.reserved.seconds_after_start} s after the coordinator starts")
        yield "Reserved", f"capacity for {sum_pods(view.reserved.pods)}, until {until}"
    for code, message in view.notes:
        yield "Note", ("requeued: " if code == "Requeued" else "") + printable(message)


def reservation_rows(reservation: NodeReservation, now: datetime.datetime) -> Iterator[Sequence[str]]:
    more = len(reservation.nodes) - SHOWN_NODES
    names = ", ".join(map(printable, reservation.nodes[:SHOWN_NODES])) + (f" and {more} more" if more > 0 else "")
    yield "Keeps", names + (f", since {ago(reservation.since, now)}" if reservation.since else "")
    if not reservation.due:
        yield "Starts", "not known: a job on these nodes has no time limit"
    elif reservation.due <= now:
        yield "Starts", "when the jobs there have ended: their time is over"
    else:
        yield "Starts", f"{ahead(reservation.due, now)}, at the latest: then the jobs there have reached their limits"
    if reservation.users:
        more = len(reservation.users) - SHOWN_NODES
        users = (f"{printable(one.job)} {f'until {format_time(one.until)}' if one.until else 'without time limit'}"
                 for one in reservation.users[:SHOWN_NODES])
        yield "Holders", ", ".join(users) + (f" and {more} more" if more > 0 else "")


def phase_text(view: Explanation) -> str:
    """ "Created (Unschedulable) since 2026-11-21T14:03:12Z, 2m5s ago" """
    if not view.phase:
        return "none yet" + (f", created {ago(view.created, view.time)}" if view.created else "")
    return (view.phase + (f" ({printable(view.reason)})" if view.reason else "")
            + (f" since {ago(view.since, view.time)}" if view.since else ""))


def role_rows(view: Explanation) -> Rows:
    rows = [(role, *map(str, (one.wanted, one.placed, one.running, one.succeeded, one.failed)))
            for role, one in view.roles.items()]
    return [("ROLE", "WANTED", "PLACED", "RUNNING", "SUCCEEDED", "FAILED"), *rows] if rows else []


def node_rows(view: Explanation) -> Rows:
    return [(printable(node.name), ", ".join([*map(printable, node.slots),
                                              *([f"{sum_pods(node.reserved)} reserved"] if node.reserved else [])]))
            for node in view.nodes]


def problem_rows(view: Explanation) -> Rows:
    rows: Rows = [(printable(one.pod), printable(one.describe())) for one in view.problems[:SHOWN]]
    return rows + ([(f"and {len(view.problems) - SHOWN} more",)] if len(view.problems) > SHOWN else [])


def event_rows(view: Explanation) -> Rows:
    return [(short_duration(view.time - one.time) + " ago" if one.time else "-",
             "Warning" if one.type == "Warning" else "Normal", printable(one.reason),
             printable(one.message) + (f" (x{one.count})" if one.count > 1 else ""))
            for one in view.events[-SHOWN:]]


# -- JSON


def view_json(view: Explanation) -> Iterator[Tuple[str, Any]]:
    yield from (("namespace", view.namespace), ("name", view.name), ("time", format_time(view.time)))
    yield from times(created=view.created, since=view.since, failsAt=view.fails_at)
    yield "phase", view.phase
    if view.reason:
        yield "reason", view.reason
    if view.queue or view.position:
        yield "queue", {key: value for key, value in (("name", view.queue), ("position", view.position)) if value}
    if view.left_out:
        yield "leftOut", list(view.left_out)
    yield "waits", [wait_json(one) for one in view.waits]
    yield "avoidedNodes", [{"node": one.node, "set": one.pods, "until": format_time(one.until)} for one in view.avoided]
    if view.reserved:
        yield "reserved", {"pods": dict(view.reserved.pods), **(
            dict(times(until=view.reserved.until)) if view.reserved.until
            else {"secondsAfterStart": view.reserved.seconds_after_start})}
    yield "notes", [{"code": code, "message": message} for code, message in view.notes]
    yield "roles", [{"role": role, "wanted": one.wanted, "placed": one.placed, "running": one.running,
                     "succeeded": one.succeeded, "failed": one.failed} for role, one in view.roles.items()]
    yield "nodes", [{"name": one.name, "slots": list(one.slots), **({"reserved": dict(one.reserved)} if one.reserved else {})}
                    for one in view.nodes]
    yield "problems", [problem_json(one) for one in view.problems]
    yield "events", [{**dict(times(time=one.time)), "type": "Warning" if one.type == "Warning" else "Normal",
                      "reason": one.reason, "message": one.message, "count": one.count} for one in view.events]
    yield "advice", {"code": view.advice, "message": view.help}


def times(**named: Optional[datetime.datetime]) -> Iterator[Tuple[str, str]]:
    return ((name, format_time(time)) for name, time in named.items() if time)


def wait_json(wait: Wait) -> Json:
    return {"subject": wait.subject, **dict(times(since=wait.since)), "reason": wait.reason, "message": wait.message,
            **({"gang": wait.gang} if wait.gang else {}), **({"pods": dict(wait.pods)} if wait.pods else {}),
            **({"reservation": reservation_json(wait.reservation)} if wait.reservation else {})}


def reservation_json(reservation: NodeReservation) -> Json:
    users = [{"job": one.job, **dict(times(until=one.until))} for one in reservation.users]
    return {"nodes": list(reservation.nodes), **dict(times(since=reservation.since, due=reservation.due)),
            **({"usedBy": users} if users else {})}


def problem_json(problem: Problem) -> Json:
    optional = {"reason": problem.reason, "node": problem.node, "exitCode": problem.exit_code,
                "restarts": problem.restarts or None, "toleratedSeconds": problem.tolerated_seconds}
    return {"pod": problem.pod, "code": problem.code, "message": problem.describe(),
            **{name: value for name, value in optional.items() if value not in (None, "")}}
