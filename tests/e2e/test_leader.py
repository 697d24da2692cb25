"""Two controllers, or two extenders: one leads, the other takes over after the leader ends."""

import signal
import time

import pytest
from tools.base import processes
from support.jobs import job
from support.wait import wait_for

PROGRAMS = ["controller", "extender"]
# What a leader's death may cost: the lease (8 s here), the standby's retry, and the job's own start.
TAKE_OVER = 60


def lease(programs, name):
    program = programs.programs[name]["program"]
    return programs.api().get(
        f"/apis/coordination.k8s.io/v1/namespaces/nervex-system/leases/nervex-{program}")["spec"]


@pytest.fixture(params=PROGRAMS)
def pair(request, programs):
    """(leader, standby) of one program. kube-scheduler calls the extender's standby: it always answers filter and
    bind."""
    first = request.param
    second = programs.start_second(first)
    leader, standby = first, second
    if first == "extender":
        leader, standby = second, first
        assert programs.stop(first)  # gives its lease back
        wait_for(lambda: programs.is_leader(second), f"{second} to lead", timeout=TAKE_OVER)
        programs.start(first)
    wait_for(lambda: programs.is_leader(leader), f"{leader} to lead", timeout=TAKE_OVER)
    assert not programs.is_leader(standby)
    programs.revives = False  # these tests see to it themselves who leads
    yield leader, standby
    programs.revives = True


def starts(jobs, name):
    jobs.create(job(name))
    jobs.wait_phase(name, "Running", timeout=TAKE_OVER)
    jobs.wait_pods(name, 2, "Running")


def test_the_standby_is_ready_and_keeps_its_caches(jobs, programs, pair):
    _, standby = pair
    starts(jobs, "seen")

    def sees_all():  # of all tests: other namespaces are still being emptied
        stored = len(programs.api().get("/apis/nervex.sensetime.com/v1alpha1/podgroups")["items"])
        seen = programs.metrics(standby)['nervex_cache_objects{kind="podgroups"}']
        return seen == stored > 0, f"{seen} of {stored}"

    wait_for(sees_all, "the standby to have the PodGroups in its cache")
    shown = programs.metrics(standby)
    assert shown["nervex_caches_synced"] == 1
    if standby != "extender":  # which binds
        assert not any('method="P' in series and 'code="2' in series for series in shown), "the standby writes"


def test_when_the_leader_is_killed_the_standby_goes_on(jobs, programs, pair):
    leader, standby = pair
    held = lease(programs, leader)
    processes.send(programs.programs[leader], signal.SIGKILL)
    starts(jobs, "meanwhile")
    assert programs.is_leader(standby)
    now = lease(programs, leader)
    assert now["holderIdentity"] != held["holderIdentity"]
    assert now["leaseTransitions"] == held["leaseTransitions"] + 1


def test_when_the_leader_ends_the_standby_leads_without_waiting_for_the_lease(programs, pair):
    leader, standby = pair
    assert programs.stop(leader)
    begin = time.monotonic()
    wait_for(lambda: programs.is_leader(standby), "the standby to lead", timeout=TAKE_OVER)
    print(f"{leader}: {time.monotonic() - begin:.1f} s from the leader's end to the next leader")


def test_a_leader_stopped_past_its_lease_writes_nothing_and_ends(jobs, programs, pair, audit):
    leader, standby = pair
    stopped = programs.programs[leader]
    jobs.create(job("before"))
    processes.send(stopped, signal.SIGSTOP)  # perhaps in the middle of its writes
    wait_for(lambda: programs.is_leader(standby), "the standby to lead", timeout=TAKE_OVER)
    starts(jobs, "during")
    jobs.wait_phase("before", "Running", timeout=TAKE_OVER)
    before = jobs.wait_pods("before", 2, "Running")
    transitions = lease(programs, leader)["leaseTransitions"]
    holder = lease(programs, leader)["holderIdentity"]

    written = audit.written_by(leader)
    assert audit.written_by(standby), "the audit log tells the two apart"
    with open(stopped["log"], "rb") as log:
        offset = log.seek(0, 2)
    processes.send(stopped, signal.SIGCONT)
    wait_for(lambda: not processes.alive(stopped), "the old leader to end")
    with open(stopped["log"], "rb") as log:
        log.seek(offset)
        text = log.read().decode()
    assert "leader election lost" in text, text
    # A write that was on its way when it was stopped may still arrive: its preconditions are of the old object.
    assert audit.written_by(leader) == written, "it wrote when it was continued"
    assert lease(programs, leader)["holderIdentity"] == holder
    assert lease(programs, leader)["leaseTransitions"] == transitions

    names = [pod.metadata.name for pod in jobs.pods("before")]
    assert sorted(names) == sorted(pod.metadata.name for pod in before), "a pod was made or deleted"
    assert jobs.phase("before") == "Running"
