"""What processes have used of the machine, by pid, as /proc has it."""

import contextlib
import os

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """CPU time of all its threads since its start."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]  # the name in brackets may hold blanks
    return (int(user) + int(system)) / TICK


def resident_mib(pid):
    return _status_mib(pid, "VmRSS:")


def peak_mib(pid):
    """Peak resident memory since its start, or since reset_peak."""
    return _status_mib(pid, "VmHWM:")


def reset_peak(pid):
    """Without the right to reset, the peak remains that of the process's life."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def _status_mib(pid, key):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(key):
                return round(int(line.split()[1]) / 1024, 1)
    return 0.0  # a zombie has none
