"""The section of a version in CHANGELOG.md."""

import re

from tools.base.console import Failure


def section(text, version):
    """The text below `## <version> - <date>`, without the heading."""
    found = re.search(rf"^## \[?{re.escape(version)}(?![\w.-])\]?(?P<date>.*)\n(?P<body>(?:(?!## ).*\n?)*)", text, re.MULTILINE)
    if not found:
        raise Failure(f"CHANGELOG.md has no section {version}: begin what is released with '## {version} - YYYY-MM-DD'"
                      + (", where 'Unreleased' stands now" if re.search(r"^## Unreleased", text, re.MULTILINE) else ""))
    if not re.fullmatch(r" - \d{4}-\d{2}-\d{2}\s*", found["date"]):
        raise Failure(f"CHANGELOG.md: the heading of {version} must end with ' - ' and the day, as in '## {version} - 2026-11-30'")
    body = found["body"].strip()
    if not body:
        raise Failure(f"CHANGELOG.md says nothing about {version}")
    return body + "\n"
