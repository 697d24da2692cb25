"""A job's status, as a value."""

from __future__ import annotations

import datetime
import html
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from nervex.text import parse_time
from nervex.view import FINISHED


@dataclass(frozen=True)
class Status:
    """A job at one time.

    phase       Created, Running, Succeeded or Failed; "" while no controller has seen it
    reason      why it is in this phase; docs/reference/conditions.md has them all
    queue       the queue that the job waits or runs in; "": the root, or none at the moment
    position    its place there while it waits, in coarse steps: 10 stands for 10 to 19; 0: it does not wait
    ready       ready pods out of the wanted: "3/4"
    conditions  by type; each has status, reason and message
    manifest    the whole object
    """

    namespace: str
    name: str
    uid: str
    phase: str
    reason: str
    queue: str
    position: int
    ready: str
    attempt: int
    created: Optional[datetime.datetime]
    finished_at: Optional[datetime.datetime]
    conditions: Mapping[str, Mapping[str, Any]] = field(repr=False)
    manifest: Mapping[str, Any] = field(repr=False)

    @property
    def finished(self) -> bool:
        return self.phase in FINISHED

    @property
    def succeeded(self) -> bool:
        return self.phase == "Succeeded"

    @property
    def observed(self) -> bool:
        """Whether the status reflects the current spec."""
        generation = self.manifest["metadata"].get("generation", 0)
        return bool(self.manifest.get("status", {}).get("observedGeneration", -1) >= generation)

    def is_condition_true(self, condition: str) -> bool:
        """Whether the job has this condition with status True."""
        return bool(self.conditions.get(condition, {}).get("status") == "True")

    def _repr_html_(self) -> str:
        return table([self])


def read_status(job: Mapping[str, Any]) -> Status:
    meta, status = job["metadata"], job.get("status", {})
    conditions: Dict[str, Mapping[str, Any]] = {one["type"]: one for one in status.get("conditions", [])}
    return Status(
        namespace=meta["namespace"], name=meta["name"], uid=meta["uid"], phase=status.get("phase", ""),
        reason=status.get("reason", ""), queue=status.get("queue", {}).get("name", ""),
        position=status.get("queue", {}).get("position", 0), ready=status.get("ready", ""), attempt=status.get("attempt", 1),
        created=parse_time(meta.get("creationTimestamp")), finished_at=parse_time(status.get("completionTime")),
        conditions=conditions, manifest=job)


class JobList(List[Status]):
    """Jobs; a table in a notebook."""

    def _repr_html_(self) -> str:
        return table(self)


COLUMNS = ("namespace", "name", "phase", "queue", "position", "ready", "reason", "created")


def table(jobs: Iterable[Status]) -> str:
    def row(cells: Sequence[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    values = [[getattr(one, column) for column in COLUMNS] for one in jobs]
    rows = [row([cell or "" for cell in cells], "td") for cells in values]
    return "<table>" + row(COLUMNS, "th") + "".join(rows) + "</table>"
