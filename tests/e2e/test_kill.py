"""kill -9 of any program at chosen states of a job's life: the job ends as without kills, and no rule is broken at any
moment.

A proxy before each program holds a request, so that the job stands still in the state that the test
wants; the program is killed then. Two kinds of moments:

    states         every program at every state worth a name
    crash points   one program just before and just after each write of its own

The ordinary run has few lives that bear many kills: each program dies at all of its states in one life, and
each of some further lives has a crash point of every program, drawn with a seed that is printed. How many
writes there are to draw from is what the undisturbed life took.

    NERVEX_E2E_SEED=<number>                    draws other crash points
    NERVEX_E2E_CRASH_POINTS=all                 one life for every single state and crash point (make faults)
    NERVEX_E2E_CRASH_POINTS=controller-40-late  that point alone (more of them: separated by commas)
"""

import contextlib
import dataclasses
import itertools
import json
import os
import random
import threading
import time

import pytest
from tools.cluster import suite
from support.fault_proxy import writes
from support.job_life import JobLife
from support.jobs import Jobs
from support.observer import Observer
from support.replicas_api import ReplicasApi

SEED = int(os.environ.get("NERVEX_E2E_SEED", "20261121"))
CHOSEN = os.environ.get("NERVEX_E2E_CRASH_POINTS", "sample")
ALL = CHOSEN == "all"
LIVES = 4  # with a sample of crash points, one of each program
WRITERS = ("controller", "extender", "server")
MOMENTS = ("before", "after", "late")
# A life takes fewer writes than another one by this share at most: when two changes come to share one write.
FEWER = 0.15

pytestmark = pytest.mark.long


@dataclasses.dataclass
class State:
    """Reached when, after that step of the life, the nth matching request of `actor` arrives, before or after it was
    served."""
    step: str
    actor: str
    match: callable
    nth: int = 1
    after: bool = False


def status_with(field, value):
    """Matches the controller's write of that status."""
    def match(request):
        return (request.kind == "PUT nervexjobs/status"
                and json.loads(request.body).get("status", {}).get(field) == value)
    return match


STATES = {
    "plan written": State("start", "controller", writes("POST services")),
    "3 of 6 pods created": State("start", "controller", writes("POST pods"), nth=4),
    "first pod bound": State("start", "extender", writes("POST pods/binding"), nth=2),
    "growth written": State("grow", "server", writes("PATCH nervexjobs"), after=True),
    "replacement written": State("replace", "server", writes("PATCH nervexjobs"), after=True),
    "shrink written": State("shrink", "server", writes("PATCH nervexjobs"), after=True),
    "attempt ended": State("retry", "controller", status_with("attempt", 2)),
    "coordinator finished": State("end", "controller", status_with("phase", "Succeeded")),
}


@dataclasses.dataclass
class Kill:
    """`program` dies when `hold` has caught a request. Then the request is lost with the program ("drop"), continues
    at once ("release"), or continues when the program's successor works ("late")."""
    what: str
    program: str
    hold: object
    request: str


class Killer(threading.Thread):
    """Kills programs as their holds are reached, one after another, and restarts them."""

    def __init__(self, rig):
        super().__init__(name="killer", daemon=True)
        self.rig = rig
        self.waiting = []
        self.done = []
        self.over = threading.Event()
        self.error = None
        self.start()

    def arm(self, *kills):
        self.waiting = [*self.waiting, *kills]

    def run(self):
        try:
            while not self.over.wait(0.005):
                for kill in [one for one in self.waiting if one.hold.reached and one not in self.done]:
                    self.rig.kill(kill.program)
                    if kill.request != "late":
                        kill.hold.drop() if kill.request == "drop" else kill.hold.release()
                    self.rig.start(kill.program)
                    kill.hold.release()
                    self.done.append(kill)
        except BaseException as error:  # shown by the test's own thread
            self.error = error
        finally:
            for kill in self.waiting:
                kill.hold.release()

    def finish(self):
        """Ends the life. Returns the kills that were never reached."""
        self.over.set()
        self.join(90)
        assert not self.is_alive(), "a program could not be killed and started again within 90 s"
        if self.error:
            raise self.error
        return [kill for kill in self.waiting if kill not in self.done]


class Stage:
    """Lives, each in a separate namespace and under an observer."""

    def __init__(self, target, core, custom, rig, fresh_namespace, node_agents):
        self.target, self.core, self.custom, self.rig = target, core, custom, rig
        self.fresh_namespace, self.node_agents = fresh_namespace, node_agents
        self.delays = []  # (what, seconds of its life)

    @contextlib.contextmanager
    def life(self):
        url = self.target.env["NERVEX_SERVER_URL"]
        with self.fresh_namespace() as namespace:
            observer = Observer(self.rig.api, namespace).start()
            try:
                jobs = Jobs(self.core, self.custom, namespace)
                yield JobLife(jobs, self.node_agents(namespace), ReplicasApi(url)), observer
            finally:
                observer.stop()
                self.rig.calm()


@dataclasses.dataclass
class Undisturbed:
    end_state: dict
    seconds: float
    writes: dict  # of each program, without events and leases


@pytest.fixture(scope="module")
def stage(target, core, custom, rig_of_module, fresh_namespace, node_agents):
    one = Stage(target, core, custom, rig_of_module, fresh_namespace, node_agents)
    yield one
    for what, seconds in one.delays:  # nothing is asserted of time: for people (pytest -s)
        print(f"{what:50} {seconds:6.1f} s")


@pytest.fixture(scope="module")
def undisturbed(stage):
    """The life that all others are compared with."""
    with stage.life() as (life, observer):
        marks = {program: proxy.mark() for program, proxy in stage.rig.proxies.items()}
        begin = time.monotonic()
        end_state = life.run()
        seconds = time.monotonic() - begin
        assert life.faults_seen(observer) == []
        assert observer.relists == 1, "the observer missed nothing"
        took = {program: len(stage.rig.proxies[program].since(mark, writes("*", life.jobs.namespace)))
                for program, mark in marks.items()}
    stage.delays.append(("undisturbed", seconds))
    print(f"writes of an undisturbed life: {took}")
    return Undisturbed(end_state, seconds, took)


def live_and_let_die(stage, undisturbed, what, kills_of_step):
    """One life; `kills_of_step(step, namespace)` are armed before that step. Returns the kills that were not reached
    and the number of writes by program."""
    print(f"NERVEX_E2E_SEED={SEED}: {what}")
    with stage.life() as (life, observer):
        killer = Killer(stage.rig)
        marks = {program: proxy.mark() for program, proxy in stage.rig.proxies.items()}
        begin = time.monotonic()
        try:
            end_state = life.run(before=lambda step: killer.arm(*kills_of_step(step, life.jobs.namespace)))
        finally:
            missed = killer.finish()
        stage.delays.append((what, time.monotonic() - begin))
        assert life.faults_seen(observer) == []
        assert end_state == undisturbed.end_state
        took = {program: len(stage.rig.proxies[program].since(mark, writes("*", life.jobs.namespace)))
                for program, mark in marks.items()}
        return missed, took


def test_an_undisturbed_life(undisturbed):
    assert undisturbed.end_state["phase"] == "Succeeded"
    assert undisturbed.end_state["pods"] == [("coordinator", "Succeeded")]
    assert undisturbed.end_state["left over"] == []
    assert all(undisturbed.writes[program] for program in WRITERS), undisturbed.writes


# -- states

# What the others do is the same in all states from "growth written" on.
EARLY = [*list(STATES)[:4], "coordinator finished"]


def states_of(program):
    return list(STATES) if program in WRITERS else EARLY


def kill_at(rig, program, name):
    at = STATES[name]
    hold = rig.proxies[at.actor].hold(at.match, at.nth, at.after)
    # What the dead one held never came, or was never answered; what others held goes on.
    return Kill(f"{program}, {name}", program, hold, "drop" if program == at.actor else "release")


def die_at_states(stage, undisturbed, program, states):
    missed, _ = live_and_let_die(
        stage, undisturbed, f"{program}, {len(states)} states" if len(states) > 1 else f"{program}, {states[0]}",
        lambda step, _: [kill_at(stage.rig, program, name) for name in states if STATES[name].step == step])
    assert [kill.what for kill in missed] == [], "never came to be"


if ALL:
    @pytest.mark.parametrize("program, state", [
        pytest.param(program, state, id=f"{program}, {state}") for program in suite.PROGRAMS for state in states_of(program)])
    def test_a_program_killed_in_a_state_changes_nothing_about_the_end(stage, undisturbed, program, state):
        die_at_states(stage, undisturbed, program, [state])


if ALL or CHOSEN == "sample":
    @pytest.mark.parametrize("program", suite.PROGRAMS)
    def test_a_killed_program_changes_nothing_about_the_end(stage, undisturbed, program):
        """It dies in each of its states, all in one life."""
        die_at_states(stage, undisturbed, program, states_of(program))


# -- crash points


def kill_at_write(rig, namespace, program, nth, moment):
    """`late`: it dies just before the write, which reaches the API server when its successor works."""
    hold = rig.proxies[program].hold(writes("*", namespace), nth, after=moment == "after", only_one=moment == "late")
    return Kill(f"{program}-{nth}-{moment}", program, hold, "late" if moment == "late" else "drop")


def die_at_writes(stage, undisturbed, points):
    """One life with these crash points. Returns those beyond its end, if it took fewer writes than the undisturbed
    one: the difference is limited."""
    missed, took = live_and_let_die(
        stage, undisturbed, " ".join("-".join(map(str, point)) for point in points),
        lambda step, namespace: [kill_at_write(stage.rig, namespace, *point) for point in points] if step == "start" else [])
    for kill in missed:
        program, nth, _ = kill.what.split("-")
        # The last write of a life may come when all others have ended, and so has the killer.
        assert took[program] <= int(nth), f"{kill.what} came to pass, and no program was killed"
        # One may be another try after a conflict, which this life had none of.
        least = min(undisturbed.writes[program] - 1, undisturbed.writes[program] * (1 - FEWER))
        assert took[program] >= least, f"{program} wrote {took[program]} times, undisturbed {undisturbed.writes[program]}"
    return missed


if CHOSEN == "sample":
    @pytest.mark.parametrize("number", range(1, LIVES + 1))
    def test_a_program_may_die_at_any_write(stage, undisturbed, number):
        """A sample: one point of each program in one life."""
        chance = random.Random(f"{SEED} {number}")
        points = [(program, chance.randint(1, undisturbed.writes[program]), chance.choice(MOMENTS))
                  for program in WRITERS]
        assert len(die_at_writes(stage, undisturbed, points)) < len(points), "no program was killed"
elif ALL:
    @pytest.mark.parametrize("program, moment", itertools.product(WRITERS, MOMENTS))
    def test_a_program_may_die_at_any_write(stage, undisturbed, program, moment):
        """Every write in turn, until a life ends before the next one."""
        failures = []
        for nth in range(1, 3 * undisturbed.writes[program]):
            try:
                if die_at_writes(stage, undisturbed, [(program, nth, moment)]):
                    break
            except (Exception, pytest.fail.Exception) as error:
                failures.append(f"NERVEX_E2E_CRASH_POINTS={program}-{nth}-{moment}: {error}")
        else:
            failures.append(f"there was no end to the writes of {program}")
        assert failures == [], "\n".join(failures)
else:
    @pytest.mark.parametrize("point", CHOSEN.split(","))
    def test_a_program_may_die_at_any_write(stage, undisturbed, point):
        program, nth, moment = point.split("-")
        assert die_at_writes(stage, undisturbed, [(program, int(nth), moment)]) == []
