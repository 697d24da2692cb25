"""Figures of several rounds as tables, for the terminal and for pages."""

import os
import statistics


def spread(values):
    """{median, least, most} of the available measurements; None if there are none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return {"median": statistics.median(known), "least": min(known), "most": max(known)}


def table(cells):
    """For the terminal."""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in cells)


def markdown(cells):
    head, *rest = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([head, "|" + "---|" * len(cells[0]), *rest])


def write_chapter(path, marks, text, heading=""):
    """Writes the text between the two marks of a page, keeping other chapters; at its end if the marks are missing."""
    begin, end = marks
    page = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            page = file.read()
    if begin not in page:
        page = f"{page.rstrip()}\n\n{heading}{begin}\n{end}\n".lstrip()
    before, rest = page.split(begin, 1)
    after = rest.split(end, 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{begin}\n\n{text}\n\n{end}{after}")
