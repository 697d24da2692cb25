"""Long-running programs: started so that they outlive this script, found again by pid *and* start
time, so that a pid which the system gave to another process is never signalled."""

import errno
import os
import random
import signal
import socket
import subprocess
import time


def start_time(pid):
    """Field 22 of /proc/<pid>/stat, in clock ticks since boot; None if the process does not exist. A zombie counts
    as ended only after its last thread: until then its sockets are open."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            # the name in brackets may hold blanks and brackets itself
            fields = stat.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" and threads(pid) <= 1 else int(fields[19])


def threads(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def inherited():
    """This process's environment without NERVEX_*: a sourced .local/<name>/env is for users, and our programs read
    flags from variables of the same names."""
    return {name: value for name, value in os.environ.items() if not name.startswith("NERVEX_")}


def start(arguments, log, environment=None):
    """Starts a program in a new session, with output appended to `log`; returns its record."""
    os.makedirs(os.path.dirname(log), exist_ok=True)
    with open(log, "ab") as output:
        begin = output.seek(0, os.SEEK_END)
        child = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/",
            start_new_session=True, env={**inherited(), **(environment or {})})
    return {"pid": child.pid, "start": start_time(child.pid), "log": log, "log_begin": begin, "arguments": arguments}


def logged(process):
    """The log so far of a process from start()."""
    with open(process["log"], "rb") as log:
        log.seek(process["log_begin"])
        return log.read().decode(errors="replace")


def record(pid, log):
    return {"pid": pid, "start": start_time(pid), "log": log}


def alive(process):
    pid = process["pid"]
    try:
        os.waitpid(pid, os.WNOHANG)  # collects it if it is a child of ours and ended
    except ChildProcessError:
        pass
    return process["start"] is not None and start_time(pid) == process["start"]


def send(process, number):
    if not alive(process):
        return False
    try:
        os.kill(process["pid"], number)
    except ProcessLookupError:
        return False
    return True


def stop(processes, patience=10.0):
    """SIGTERM to all at once, SIGKILL to the rest after `patience` seconds. Returns the records of killed processes."""
    waiting = [one for one in processes if send(one, signal.SIGTERM)]
    deadline = time.monotonic() + patience
    while waiting and time.monotonic() < deadline:
        time.sleep(0.02)
        waiting = [one for one in waiting if alive(one)]
    for one in waiting:
        send(one, signal.SIGKILL)
    for one in waiting:
        wait_for_end(one)
    return waiting


def wait_for_end(process, timeout=60.0):
    """Waits after a SIGKILL, which only a hung kernel call can delay."""
    deadline = time.monotonic() + timeout
    while alive(process):
        if time.monotonic() > deadline:
            raise TimeoutError(f"process {process['pid']} did not end within {timeout:g} s of SIGKILL")
        time.sleep(0.005)


def free_port(taken=()):
    """A port on 127.0.0.1 without a listener. Below the kernel's range for outgoing connections, so that it stays
    free until its program binds it."""
    for _ in range(200):
        port = random.randrange(20000, 30000)
        if port in taken:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            return port
    raise RuntimeError("no free port between 20000 and 30000 in 200 attempts")
