"""kill -9 of any program at chosen states of a job's life: the job ends as if nothing had happened, and at
no moment is a rule broken.

A proxy before each program holds a request, so that the job stands still in the state that the test
wants; the program is killed then. Two tables:

    states         every program at every state worth a name
    crash points   one program just before and just after each write of its own. A sample of them, drawn
                   with a seed that is printed; NERVEX_E2E_CRASH_POINTS=all runs every one,
                   NERVEX_E2E_SEED=<number> draws another sample.
"""

import dataclasses
import json
import os
import random
import threading
import time

import pytest
from harness import suite
from harness.fault_proxy import writes

SEED = int(os.environ.get("NERVEX_E2E_SEED", "20261121"))
ALL = os.environ.get("NERVEX_E2E_CRASH_POINTS") == "all"
SAMPLE = 8
# Writes of one undisturbed life, without events and leases (test_what_it_costs prints them): what the crash
# points are drawn from. A life that takes fewer, because two changes shared one write, skips the last.
WRITES = {"controller": 87, "extender": 24, "server": 4}


@dataclasses.dataclass
class State:
    """Reached when the nth request of `actor` that matches is there, before or after it was served."""
    actor: str
    match: callable
    nth: int = 1
    after: bool = False


def status_with(field, value):
    """Matches the controller's write of that."""
    def match(request):
        return (request.kind == "PATCH nervexjobs/status"
                and json.loads(request.body).get("status", {}).get(field) == value)
    return match


STATES = {
    "plan written": State("controller", writes("POST services")),
    "3 of 6 pods created": State("controller", writes("POST pods"), nth=4),
    "first pod bound": State("extender", writes("POST pods/binding"), nth=2),
    "growth written": State("server", writes("PATCH nervexjobs"), after=True),
    "replacement written": State("server", writes("PATCH nervexjobs"), nth=2, after=True),
    "shrink written": State("server", writes("PATCH nervexjobs"), nth=3, after=True),
    "attempt ended": State("controller", status_with("attempt", 2)),
    "coordinator finished": State("controller", status_with("phase", "Succeeded")),
}


undisturbed = {}  # what the first test saw: the end state, seconds, and writes by program
delays = []       # (what, seconds of its life)


class Killer(threading.Thread):
    """Kills a program when `hold` has caught a request, and starts it again. What becomes of the request:
    "drop": it goes with the program; "release": it goes on at once; "late": it goes on when the
    program's successor is at work."""

    def __init__(self, rig, hold, program, request):
        super().__init__(name="killer", daemon=True)
        self.rig, self.hold, self.program, self.request = rig, hold, program, request
        self.over = threading.Event()
        self.error = None
        self.start()

    def run(self):
        try:
            while not self.hold.reached:
                if self.over.wait(0.005):
                    return
            self.rig.kill(self.program)
            if self.request != "late":
                self.hold.drop() if self.request == "drop" else self.hold.release()
            self.rig.start(self.program)
        except BaseException as error:  # shown by the test's own thread
            self.error = error
        finally:
            self.hold.release()

    def finish(self):
        """The life has come to its end."""
        self.over.set()
        self.join(90)
        assert not self.is_alive(), f"{self.program} could not be killed and started again within 90 s"
        if self.error:
            raise self.error
        if not self.hold.reached:
            pytest.skip("this life took another course: the request that was to be held never came")


def live_and_let_die(rig, life, observer, program, hold, request, what):
    begin = time.monotonic()
    killer = Killer(rig, hold, program, request)
    end_state = life.run()
    seconds = time.monotonic() - begin
    killer.finish()
    delays.append((what, seconds))
    assert life.faults_seen(observer) == []
    assert end_state == undisturbed["end state"]


def test_an_undisturbed_life(rig, life, observer):
    """What all others are compared with."""
    marks = {program: proxy.mark() for program, proxy in rig.proxies.items()}
    begin = time.monotonic()
    undisturbed["end state"] = life.run()
    undisturbed["seconds"] = time.monotonic() - begin
    seen = {program: rig.proxies[program].since(mark, writes("*", life.jobs.namespace))
            for program, mark in marks.items()}
    undisturbed["writes"] = {program: len(requests) for program, requests in seen.items()}
    assert life.faults_seen(observer) == []
    assert undisturbed["end state"]["phase"] == "Succeeded"
    assert undisturbed["end state"]["pods"] == [("coordinator", "Succeeded")]
    assert undisturbed["end state"]["left over"] == []
    assert observer.relists == 1, "the observer missed nothing"


# What the others do is the same in all states from "growth written" on.
EARLY = list(STATES)[:4] + ["coordinator finished"]
KILLS = [(program, state) for program in suite.PROGRAMS
         for state in (STATES if program in WRITES else EARLY)]


@pytest.mark.parametrize("program, state", [pytest.param(*kill, id=", ".join(kill)) for kill in KILLS])
def test_a_killed_program_changes_nothing_about_the_end(rig, life, observer, program, state):
    at = STATES[state]
    hold = rig.proxies[at.actor].hold(at.match, at.nth, at.after)
    # What the dead one held never came, or was never answered; what others held goes on.
    request = "drop" if program == at.actor else "release"
    live_and_let_die(rig, life, observer, program, hold, request, f"{program}, {state}")


def crash_points():
    every = [(program, nth, moment) for program, count in WRITES.items()
             for nth in range(1, count + 1) for moment in ("before", "after", "late")]
    return every if ALL else sorted(random.Random(SEED).sample(every, SAMPLE))


@pytest.mark.parametrize("program, nth, moment", [
    pytest.param(*point, id="-".join(map(str, point))) for point in crash_points()])
def test_a_program_may_die_at_any_write(rig, life, observer, program, nth, moment):
    """`late`: it dies just before, and what it had sent reaches the API server after all, when its
    successor is at work."""
    print(f"NERVEX_E2E_SEED={SEED}")
    hold = rig.proxies[program].hold(writes("*"), nth, after=moment == "after", only_one=moment == "late")
    live_and_let_die(rig, life, observer, program, hold, "late" if moment == "late" else "drop",
                     f"{program}, write {nth}, {moment}")


def test_what_it_costs(rig):
    """Nothing is asserted of time: the table is for people (pytest -s)."""
    if not delays:
        pytest.skip("no program was killed")
    print(f"\n{'undisturbed':50} {undisturbed['seconds']:6.1f} s; writes: {undisturbed['writes']}")
    for what, seconds in delays:
        print(f"{what:50} {seconds - undisturbed['seconds']:+6.1f} s")
