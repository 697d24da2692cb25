"""CPU time of a cluster's programs."""

import os

from tools.base import usage


def cpu_seconds(cluster):
    """{program: seconds} that the control plane's servers and schedulers have used so far."""
    seconds = {}
    for one in [*cluster.control_plane, *cluster.programs.values()]:
        with open(f"/proc/{one['pid']}/cmdline", "rb") as file:
            words = file.read().decode().split("\0")
        is_ours = one in cluster.programs.values()
        name = os.path.basename(words[0])
        name += " of ours" if is_ours and "scheduler" in name else ""
        seconds[name] = usage.cpu_seconds(one["pid"])
    return seconds
