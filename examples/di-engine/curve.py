#!/usr/bin/env python3
"""Draws the reward over time as SVG, from the logs that DI-engine's commander writes into the job's folder of the
shared volume. Needs the standard library alone.

    python3 curve.py FOLDER/cartpole/log/commander curve.svg --mark 14:43:54="a collector removed"
"""

import argparse
import datetime
import html
import os
import re

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 36, 42
STYLE = """text { font: 12px sans-serif; fill: #333 } .grid { stroke: #ddd }
.stop { stroke: #b58900; stroke-dasharray: 6 4 } .mark { stroke: #999; stroke-dasharray: 2 3 }
.evaluation { stroke: #1f6fb2; fill: none; stroke-width: 2 } .evaluation-point { fill: #1f6fb2 }
.collection { fill: #9ecae1 }"""


def read_rewards(path):
    """[(time, mean reward)] of the tasks that ended: an entry begins with its time, its values follow line by line."""
    with open(path, encoding="utf-8") as file:
        entries = re.split(r"^(?=\[\d{4}-\d\d-\d\d )", file.read(), flags=re.MULTILINE)
    found = []
    for entry in entries:
        begin = re.match(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\]", entry)
        reward = re.search(r"^reward_mean: (\S+)$", entry, re.MULTILINE)
        if begin and reward:
            found.append((datetime.datetime.fromisoformat(begin[1]), float(reward[1])))
    return found


def draw(evaluations, collections, stop, marks):
    """The picture. `marks`: [(time, label)]."""
    begin = min(when for when, _ in evaluations + collections)
    length = max(1.0, *((when - begin).total_seconds() for when, _ in evaluations + collections + marks))
    highest = max(stop, *(reward for _, reward in evaluations + collections)) * 1.05

    def x(when):
        return LEFT + (when - begin).total_seconds() / length * (WIDTH - LEFT - RIGHT)

    def y(reward):
        return HEIGHT - BOTTOM - reward / highest * (HEIGHT - TOP - BOTTOM)

    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
             f"<style>{STYLE}</style>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    for reward in range(0, int(highest) + 1, 50):
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(reward):.1f}" y2="{y(reward):.1f}"/>'
                     f'<text x="{LEFT - 8}" y="{y(reward) + 4:.1f}" text-anchor="end">{reward}</text>')
    step = next(one for one in (10, 20, 30, 60, 120, 300, 600, 3600) if length / one <= 12 or one == 3600)
    for seconds in range(0, int(length) + 1, step):
        at = x(begin + datetime.timedelta(seconds=seconds))
        lines.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{seconds}</text>')
    lines.append(f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 6}" text-anchor="middle">'
                 "seconds since the first task ended</text>")
    lines.append(f'<line class="stop" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(stop):.1f}" y2="{y(stop):.1f}"/>')
    for number, (when, label) in enumerate(marks):
        height = TOP + 26 + 15 * number
        side, shift = ("end", -4) if x(when) > WIDTH * 0.6 else ("start", 4)
        lines.append(f'<line class="mark" x1="{x(when):.1f}" x2="{x(when):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
                     f'<text x="{x(when) + shift:.1f}" y="{height}" text-anchor="{side}">{html.escape(label)}</text>')

    def dots(kind, radius, tasks):
        return [f'<circle class="{kind}" cx="{x(when):.1f}" cy="{y(reward):.1f}" r="{radius}"/>' for when, reward in tasks]

    lines += dots("collection", 2.5, collections)
    points = " ".join(f"{x(when):.1f},{y(reward):.1f}" for when, reward in evaluations)
    lines.append(f'<polyline class="evaluation" points="{points}"/>')
    lines += dots("evaluation-point", 3.5, evaluations)
    lines.append(f'<text x="{LEFT}" y="18"><tspan fill="#1f6fb2">&#9679; mean reward of an evaluation</tspan>'
                 f'<tspan dx="16" fill="#5ba3cf">&#9679; of a collect task, which explores</tspan>'
                 f'<tspan dx="16" fill="#b58900">- - stop value {stop:g}</tspan></text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def parse_mark(text, day):
    clock, _, label = text.partition("=")
    return datetime.datetime.combine(day, datetime.time.fromisoformat(clock)), label


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", help="folder log/commander")
    parser.add_argument("picture", help="the file to write")
    parser.add_argument("--stop", type=float, default=195, help="stop value (default: 195)")
    parser.add_argument("--mark", action="append", default=[], metavar="HH:MM:SS=LABEL", help="what happened then")
    options = parser.parse_args()
    evaluations = read_rewards(os.path.join(options.logs, "commander_evaluator_logger.txt"))
    collections = read_rewards(os.path.join(options.logs, "commander_collector_logger.txt"))
    if not evaluations:
        parser.error(f"no evaluation has ended in {options.logs}")
    marks = [parse_mark(one, evaluations[0][0].date()) for one in options.mark]
    with open(options.picture, "w", encoding="utf-8") as file:
        file.write(draw(evaluations, collections, options.stop, marks))


if __name__ == "__main__":
    main()
