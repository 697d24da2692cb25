"""Many gangs compete for capacity for half of them, while thieves take capacity, nodes come and go, kubelets reject
pods and our programs are killed: at every moment each gang is whole or absent (docs/reliability.md), and no queue uses
more than its limit.

    NERVEX_E2E_SEED=<number>          draws other faults
    NERVEX_E2E_CONTENTION=<seconds>   how long faults last (make contention: 20 minutes)
    NERVEX_E2E_PREEMPTION=full        jobs of three priorities preempt each other while faults last, queues reclaim, and
                                      nodes are reserved, on which jobs with a limit and preemptible ones start
"""

import collections
import json
import os
import time

import pytest
from tools.cluster import kubelet
from support import chaos, history, nodes
from support.audit import Audit
from support.cost import cpu_seconds
from support.jobs import GROUP, VERSION, job, template
from support.queues import own_queues
from support.wait import conflict, lasting, wait_for
from test_priority import priority_class  # noqa: F401  a fixture

SEED = os.environ.get("NERVEX_E2E_SEED", "20261122")
SECONDS = float(os.environ.get("NERVEX_E2E_CONTENTION", "40"))
PREEMPTION = os.environ.get("NERVEX_E2E_PREEMPTION", "off")

JOBS, FIT = 40, 20
GPUS = 15               # of a gang of 16: its aggregator takes none
NODES, ON_A_NODE = 39, 8  # room for 20 gangs and 12 GPUs besides, so that a gang that has lost a node may be healed
# Of two queues that have half of the jobs each. One alone may reach it; both limits are more than fit.
LIMIT = 12 * GPUS
# With preemption: what each queue is guaranteed, so that all that fits is guaranteed to one of them.
PREEMPTS = {"quota": [{"resources": {"nvidia.com/gpu": FIT // 2 * GPUS}}], "reclaim": "Any",
            "preemption": "LowerPriority", "minRuntimeSeconds": 20} if PREEMPTION != "off" else {}
RESERVE_AFTER = "20s"
# Of the jobs in turn, with preemption: the shorter limit ends in time for a reservation that waits for a longer one.
LIMITS = [{"activeDeadlineSeconds": 86_400}, {"activeDeadlineSeconds": 43_200}, {"preemptible": True}]
REJECTED = 5            # every fifth job's learner is rejected by the first kubelet that gets it
CURSED = 3              # every third job's collectors are rejected by one node

# Seconds. What a gang's quorum may be there in part: until its loss is noticed, then until it is healed or requeued,
# then until its pods are gone; and as long as the programs that see to it are away.
BIND, LOST, HEALING, MARGIN = 10, 5, 20, 10
DEADLINES = f"--healing-deadline={HEALING}s --bind-deadline={BIND}s --node-lost-after={LOST}s"
KNOWN_AFTER = 5         # seconds after which a thief has to be known to everybody
SETTLED = 240
# Of all our programs in 30 s, when all is settled: the numbers in a waiting gang's message are corrected once more, up
# to a minute after the last change, on its PodGroup and its job.
MOST_WRITES = 2 * (JOBS - FIT) + 10

pytestmark = pytest.mark.long


@pytest.fixture
def pool(programs, jobs):
    """(label that selects them, names). Jobs are deleted before their nodes: otherwise each loss would be healed."""
    with nodes.own_nodes(programs.api(), *[{}] * NODES, gpus=ON_A_NODE) as (name, names):
        nodes.wait_usable(programs.api(), names)
        yield {nodes.OWN: name}, names
        jobs.custom.delete_collection_namespaced_custom_object(GROUP, VERSION, jobs.namespace, "nervexjobs")
        wait_for(lambda: (not any(pods_of_gangs(jobs)), pods_of_gangs(jobs)), "the jobs' pods to go", SETTLED)


@pytest.fixture
def queues(custom, namespace):
    """The names of two queues with equal shares."""
    with own_queues(custom, namespace) as made:
        yield [made.create(short, limit=[{"resources": {"nvidia.com/gpu": LIMIT}}], **PREEMPTS)
               for short in ("even", "odd")]


@pytest.fixture
def priorities(request):
    """The names of PriorityClasses, which the jobs get in turn."""
    if PREEMPTION == "off":
        return [""]
    make = request.getfixturevalue("priority_class")
    return [make(value) for value in (10, 20, 30)]


@pytest.fixture
def set_preemption(programs, monkeypatch):
    """Sets the flag of the extenders that are started from now on."""
    others = os.environ.get("NERVEX_EXTENDER_ARGS", "")
    def set_mode(mode):
        reserves = "" if mode == "off" else f" --reserve-after={RESERVE_AFTER}"
        monkeypatch.setenv("NERVEX_EXTENDER_ARGS", f"{others} {DEADLINES} --preemption={mode}{reserves}")
    return set_mode


@pytest.fixture
def suite(programs, pool, set_preemption, monkeypatch):
    """Two controllers and two extenders, with deadlines that a test can wait for."""
    set_preemption(PREEMPTION)
    programs.restart("extender")
    for program in ("extender", "controller"):
        programs.start_second(program)
    yield programs
    monkeypatch.undo()
    for program in ("extender", "controller"):
        programs.drop_second(f"{program}-2")
    programs.restart("extender")


def gang(number, labels, names, queues, priorities):
    """Coordinator, aggregator, 13 collectors and a learner."""
    def member(**annotations):
        # Requeued jobs have pods of the same names again.
        return {**template(gpus=1, nodeSelector=labels),
                "metadata": {"annotations": kubelet.annotations(ends="by-uid", **annotations)}}
    learner = member(rejected="OutOfcpu") if number % REJECTED == 0 else member()
    collector = member(rejected_on=names[number % len(names)]) if number % CURSED == 0 else member()
    named = {"priorityClassName": priorities[number % len(priorities)]} if priorities[0] else {}
    limits = LIMITS[number % len(LIMITS)] if priorities[0] else {}
    return job(f"c-{number:02}", queue=queues[number % 2], **named, **limits, coordinator={"template": member()},
               collector={"replicas": GPUS - 2, "template": collector}, learner={"replicas": 1, "template": learner})


def pods_of_gangs(jobs):
    """{job: phases of the pods bound}, and how many pods are not."""
    bound, unbound = collections.defaultdict(list), 0
    for pod in jobs.core.list_namespaced_pod(jobs.namespace).items:
        name = (pod.metadata.labels or {}).get("nervexjob-name")
        if name and pod.spec.node_name:
            bound[name].append("Terminating" if pod.metadata.deletion_timestamp else pod.status.phase)
        elif name:
            unbound += 1
    return bound, unbound


def create_again(jobs, make):
    """Deletes the job that has run longest, if one runs, and creates it again behind all others."""
    found = jobs.custom.list_namespaced_custom_object(GROUP, VERSION, jobs.namespace, "nervexjobs")["items"]
    running = [one["metadata"] for one in found if one.get("status", {}).get("phase") == "Running"]
    if not running:
        return
    name = min(running, key=lambda one: one["creationTimestamp"])["name"]
    jobs.delete(name)
    again = make(int(name.removeprefix("c-")))
    wait_for(lambda: jobs.create(again), f"{name} to be gone", SETTLED, not_yet=[conflict])


def settled(jobs):
    """As many gangs as fit are whole, and no pods of the others exist."""
    bound, unbound = pods_of_gangs(jobs)
    partly = {name: collections.Counter(phases) for name, phases in bound.items() if phases != ["Running"] * (GPUS + 1)}
    whole = len(bound) - len(partly)
    return whole == FIT and not partly and not unbound, {"whole": whole, "in part": partly, "unbound": unbound}


def thieves_by_kind(changes, thieves):
    """Counts by what was stored when each took its place, not by intention."""
    found = collections.Counter()
    for thief in thieves:
        if not thief.group:
            bound = any(isinstance(one.what, history.Pod) and one.what.uid == thief.uid and one.what.node
                        for one in changes)
            found["thief: by the default scheduler" if bound else "thief: found no place"] += 1
            continue
        group = history.group_at(changes, thief.group, history.first_seen(changes, thief.uid))
        found["thief: " + ("after commit" if group and group.committed else "before commit")] += 1
    return found


def longest_in_part(changes, faults):
    """Prints the longest times; returns those above the limit for a gang in part."""
    times = sorted(history.in_part(changes, LOST, time.monotonic()), key=lambda one: -one.seconds)
    too_long = []
    for one in times:
        allowed = BIND + LOST + HEALING + MARGIN
        for program in ("extender", "controller", "scheduler"):
            outages, seconds = faults.downtime(program, one.begin, one.end)
            # A restarted extender starts to count from zero how long a node is lost.
            allowed += seconds + (LOST * outages if program == "extender" else 0)
        if one in times[:3]:
            print(f"{one.group} was there in part for {one.seconds:.1f} s of {allowed:.1f}, "
                  f"with {one.least} of {one.quorum} pods at the least")
        if one.seconds > allowed:
            too_long.append(f"{one.group}: {one.seconds:.1f} s, allowed {allowed:.1f}; {one}")
    print(f"times that a gang was there in part, starts and ends included: {len(times)}")
    return too_long


def end_preemption(suite, jobs, set_preemption):
    """Nothing more is preempted: the rest would come minutes later, within the rate of its queue."""
    events = jobs.core.list_namespaced_event(jobs.namespace).items
    preempted = [one for one in events if one.reason == "Requeued" and (one.message or "").startswith("Preempted")]
    print(f"{sum(one.count or 1 for one in preempted):5}  jobs preempted")
    assert preempted, "nothing was preempted"
    set_preemption("off")
    suite.drop_second("extender-2")
    suite.restart("extender")
    suite.start_second("extender")


def test_gangs_are_whole_or_absent_under_all_faults(jobs, queues, priorities, suite, set_preemption, pool, namespace):
    labels, names = pool
    print(f"NERVEX_E2E_SEED={SEED} NERVEX_E2E_CONTENTION={SECONDS:g} NERVEX_E2E_PREEMPTION={PREEMPTION}")
    def make(number):
        return gang(number, labels, names, queues, priorities)
    faults = chaos.Chaos(suite, namespace, labels, names, SEED, chaos.Flaps(
        short=(1, LOST - 2), long=(LOST + 3, HEALING - 5), endless=(HEALING + LOST + 2, HEALING + LOST + 10)))
    seen = history.History(suite.api(), namespace, f"{nodes.OWN}={labels[nodes.OWN]}", faults.groups_changed).start()
    try:
        faults.start()
        try:
            began = time.monotonic()
            for number in range(JOBS):
                jobs.create(gang(number, labels, names, queues, priorities))
            while time.monotonic() < began + SECONDS and not faults.errors:
                lasting(1)
            # On a slow machine a round of all kills takes longer than that, and gangs that stay where they are leave
            # nothing to rob.
            def happened():
                if any(what.startswith("thief") for what in faults.lacking()):
                    create_again(jobs, make)
                return bool(faults.errors) or not faults.lacking(), faults.lacking()
            wait_for(happened, "every kind of fault", max(SECONDS, 120), interval=2)
        finally:
            faults.stop()
        if PREEMPTION != "off":
            end_preemption(suite, jobs, set_preemption)
        began = time.monotonic()
        wait_for(lambda: settled(jobs), f"{FIT} of {JOBS} gangs to be whole and nothing to be there of others", SETTLED)
        print(f"settled {time.monotonic() - began:.1f} s after the last fault")
        seen.catch_up()
        check(jobs, seen.changes(), faults)
        check_limits(seen.changes(), queues)
        check_quiet(jobs, suite)
    finally:
        seen.stop()


def check_quiet(jobs, suite):
    Audit(suite.settings).writes_when_quiet(jobs.namespace)
    calm, before = Audit(suite.settings), cpu_seconds(suite)
    lasting(30)
    used = {name: round(seconds - before[name], 2) for name, seconds in cpu_seconds(suite).items()}
    written = calm.writes(jobs.namespace)
    print(f"in 30 s with {JOBS - FIT} gangs that wait: CPU seconds {used}, writes {dict(written)}")
    assert sum(written.values()) <= MOST_WRITES, written
    ok, now = settled(jobs)
    assert ok, now


def check_limits(changes, queues):
    most = history.most_used(changes, "nvidia.com/gpu")
    print(f"the most GPUs that a queue used at once, of {LIMIT}: {most}")
    assert set(most) == set(queues), "the pods name their queues"
    assert max(most.values()) <= LIMIT


def check(jobs, changes, faults):
    happened = faults.done + thieves_by_kind(changes, faults.thieves)
    happened["pods that a kubelet rejected"] = len(history.rejected(changes))
    for what, count in sorted(happened.items()):
        print(f"{count:5}  {what}")
    judged = history.Bindings(KNOWN_AFTER).judge(changes)
    print(f"{judged.count:5}  pods bound")
    too_long = longest_in_part(changes, faults)
    assert judged.broken == [], "\n".join(judged.broken)
    assert too_long == [], "\n".join(too_long)

    assert faults.lacking() == [], "these never happened"
    wanted = [*(f"thief: {kind}" for kind in chaos.THIEVES), "pods that a kubelet rejected"]
    assert [what for what in wanted if not happened[what]] == [], "these never happened"
    statuses = [jobs.get(f"c-{number:02}")["status"] for number in range(JOBS)]
    print("attempts of the jobs:", dict(collections.Counter(one.get("attempt", 0) for one in statuses)))
    failed = [one for one in statuses if one.get("failedAttempts")]
    assert failed == [], "no fault was the job's own:\n" + json.dumps(failed, indent=1)
    assert collections.Counter(one["phase"] for one in statuses) == {"Running": FIT, "Created": JOBS - FIT}
