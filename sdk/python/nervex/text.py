"""Times and tables as `kubectl nervex` prints them. Pure. The rules are those of cli/text.h."""

from __future__ import annotations

import datetime
import re
from typing import Optional, Sequence

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def parse_time(text: Optional[str]) -> Optional[datetime.datetime]:
    """RFC 3339 in UTC, as Kubernetes writes it."""
    if not text:
        return None
    fraction = re.match(r"\.(\d{1,6})", text[19:])
    return datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(
        tzinfo=datetime.timezone.utc, microsecond=int(fraction[1].ljust(6, "0")) if fraction else 0)


def format_time(time: datetime.datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def short_duration(duration: datetime.timedelta) -> str:
    """As in kubectl: "75s", "2m30s", "45m", "5h10m", "3d4h"; "0s" if it is negative."""
    seconds = max(0, int(duration.total_seconds()))
    minutes, hours, days, years = seconds // 60, seconds // 3600, seconds // 86400, seconds // (365 * 86400)
    for below, count, unit, rest, rest_unit in (
            (120, seconds, "s", 0, ""), (600, minutes, "m", seconds % 60, "s"), (3 * 3600, minutes, "m", 0, ""),
            (8 * 3600, hours, "h", minutes % 60, "m"), (2 * 86400, hours, "h", 0, ""), (8 * 86400, days, "d", hours % 24, "h"),
            (2 * 365 * 86400, days, "d", 0, ""), (8 * 365 * 86400, years, "y", days % 365, "d")):
        if seconds < below:
            return f"{count}{unit}" + (f"{rest}{rest_unit}" if rest else "")
    return f"{years}y"


def ago(then: datetime.datetime, now: datetime.datetime) -> str:
    """ "2026-11-21T14:03:12Z, 2m5s ago" """
    return f"{format_time(then)}, {short_duration(now - then)} ago"


def ahead(then: datetime.datetime, now: datetime.datetime) -> str:
    """ "2026-11-21T14:03:12Z, in 8m" """
    return f"{format_time(then)}, in {short_duration(then - now)}"


def printable(text: str) -> str:
    """Text of objects must not control a terminal."""
    return CONTROL.sub(lambda found: " " if found[0] in "\n\t" else "?", text)


def table(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Columns are as wide as their widest cell, two spaces apart."""
    widths = [max((len(row[column]) for row in rows if column < len(row)), default=0)
              for column in range(max(map(len, rows), default=0))]
    return "\n".join((indent + "  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row))).rstrip() for row in rows)
