"""Many gangs compete for capacity for half of them, while thieves take capacity, nodes come and go, kubelets reject
pods and our programs are killed: at every moment each gang is whole or absent (docs/reliability.md), no queue uses more
than its limit, and no gang takes the nodes that another one has reserved.

    NERVEX_E2E_SEED=<number>          draws other faults
    NERVEX_E2E_CONTENTION=<seconds>   how long faults last (make contention: 20 minutes)
    NERVEX_E2E_PREEMPTION=full        jobs of three priorities preempt each other while faults last, queues reclaim, and
                                      nodes are reserved, on which jobs with a limit and preemptible ones start
    NERVEX_E2E_QUEUES=on              (the default with preemption full) queues are parts of others, have limits of node
                                      classes, and are changed, deleted and created again; workers finish, jobs end and
                                      leave pods, replicas are requested, and gangs of another operator come and go
"""

import collections
import contextlib
import json
import os
import threading
import time

import pytest
from kubernetes.utils import parse_quantity
from tools.cluster import kubelet
from support import chaos, foreign_gangs, history, nodes, queue_chaos
from support.audit import Audit
from support.cost import cpu_seconds
from support.jobs import GROUP, VERSION, job, template
from support.kept_nodes import KeptNodes
from support.queue_limits import Limits
from support.queues import PLURAL, own_queues
from support.replicas_api import ReplicasApi
from support.stored import CLASS, Pod
from support.wait import away, conflict, lasting, wait_for
from test_priority import priority_class  # noqa: F401  a fixture

SEED = os.environ.get("NERVEX_E2E_SEED", "20261122")
SECONDS = float(os.environ.get("NERVEX_E2E_CONTENTION", "40"))
PREEMPTION = os.environ.get("NERVEX_E2E_PREEMPTION", "off")
QUEUES = os.environ.get("NERVEX_E2E_QUEUES", "on" if PREEMPTION == "full" else "off") == "on"

JOBS, FIT = 40, 20
GPUS = 15               # of a gang of 16: its aggregator takes none
NODES, ON_A_NODE = 39, 8  # room for 20 gangs and 12 GPUs besides, so that a gang that has lost a node may be healed
# Of two queues that have half of the jobs each. One alone may reach it; both limits are more than fit.
LIMIT = 12 * GPUS
# With preemption: what each queue is guaranteed, so that all that fits is guaranteed to one of them.
PREEMPTS = {"quota": [{"resources": {"nvidia.com/gpu": FIT // 2 * GPUS}}], "reclaim": "Any",
            "preemption": "LowerPriority", "minRuntimeSeconds": 20} if PREEMPTION != "off" else {}
# With changes of queues: of all together. In the end it holds none back.
LIMIT_OF_ALL, CALM_LIMIT_OF_ALL = 18 * GPUS, NODES * ON_A_NODE
CLASSES = ("storm-a", "storm-b")  # of the nodes in turn
CLEAN = ("None", "Running", "All")
RESERVE_AFTER = "20s"
# Of the jobs in turn, with preemption: the shorter limit ends in time for a reservation that waits for a longer one.
LIMITS = [{"activeDeadlineSeconds": 86_400}, {"activeDeadlineSeconds": 43_200}, {"preemptible": True}]
REJECTED = 5            # every fifth job's learner is rejected by the first kubelet that gets it
CURSED = 3              # every third job's collectors are rejected by one node

# Seconds. What a gang's quorum may be there in part: until its loss is noticed, then until it is healed or requeued,
# then until its pods are gone; and as long as the programs that see to it are away.
BIND, LOST, HEALING, MARGIN = 10, 5, 20, 10
DEADLINES = f"--healing-deadline={HEALING}s --bind-deadline={BIND}s --node-lost-after={LOST}s"
KNOWN_AFTER = 5         # seconds after which a thief, a Queue or a reservation has to be known to everybody
SETTLED = 240
# Until every kind of fault has happened, when only those that have not are left to do.
FAULTS = 300
# Of all our programs in 30 s, when all is settled: the numbers in a waiting gang's message are corrected once more, up
# to a minute after the last change, on its PodGroup and its job.
MOST_WRITES = 2 * (JOBS - FIT) + 10

pytestmark = pytest.mark.long


@pytest.fixture
def pool(programs, jobs):
    """(label that selects them, names). Jobs are deleted before their nodes: otherwise each loss would be healed."""
    labels = [{CLASS: CLASSES[number % len(CLASSES)]} for number in range(NODES)]
    with nodes.own_nodes(programs.api(), *labels, gpus=ON_A_NODE) as (name, names):
        nodes.wait_usable(programs.api(), names)
        yield {nodes.OWN: name}, names
        jobs.custom.delete_collection_namespaced_custom_object(GROUP, VERSION, jobs.namespace, "nervexjobs")
        wait_for(lambda: (not any(pods_of_gangs(jobs)), pods_of_gangs(jobs)), "the jobs' pods to go", SETTLED)


def limit(amount, **by_class):
    """The limit of a Queue: by_class(a=...): on nodes of class storm-a."""
    return [{"resources": {"nvidia.com/gpu": amount}},
            *({"nodeClass": f"storm-{key}", "resources": {"nvidia.com/gpu": most}} for key, most in by_class.items())]


@pytest.fixture
def queues(custom, namespace):
    """The Queues, and the names of those of the jobs, with equal shares."""
    with own_queues(custom, namespace) as made:
        if QUEUES:
            closed = {"matchLabels": {"no": "namespace"}}
            made.create("lab", limit=limit(LIMIT_OF_ALL), namespaceSelector=closed)
            made.create("inner", parent="lab", namespaceSelector=closed)
        parents = {"even": {"parent": "lab"}, "odd": {"parent": "inner"}} if QUEUES else {"even": {}, "odd": {}}
        yield made, [made.create(short, limit=limit(LIMIT), **parents[short], **PREEMPTS) for short in parents]


@pytest.fixture
def guests(programs, core, queues, fresh_namespace):
    """The gangs of another operator, in a namespace of their own, and its queue. None without changes of queues."""
    if not QUEUES:
        yield None, {}
        return
    made, _ = queues
    foreign_gangs.install(programs.api())
    foreign_gangs.wait_known(programs)
    with fresh_namespace() as name:
        queue = made.create("guests", parent="lab",
                            namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": name}})
        yield foreign_gangs.Gangs(programs.api(), core, name), {name: queue}
    foreign_gangs.uninstall(programs.api())


def plans_of(made):
    """Of queue_chaos.CHANGES: which parts of which specs."""
    even, odd, lab, inner = map(made.name, ("even", "odd", "lab", "inner"))
    lower = [(name, {"limit": limit(gangs * GPUS)}) for name in (even, odd) for gangs in (3, 6, 8)]
    return {"limit lowered": lower,
            "limit of the parent lowered": [(lab, {"limit": limit(gangs * GPUS)}) for gangs in (10, 15)]
            + [(inner, {"limit": limit(7 * GPUS)})],
            "class limit": [(even, {"limit": limit(LIMIT, a=60)}), (odd, {"limit": limit(LIMIT, b=40)}),
                            (lab, {"limit": limit(LIMIT_OF_ALL, a=120, b=130)}), (inner, {"limit": limit(LIMIT, a=0)})],
            "moved": [(odd, {"parent": lab}), (even, {"parent": inner})],
            "deleted": [(even, {}), (odd, {})]}


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
    cleans = {"cleanPodPolicy": CLEAN[number // len(LIMITS) % len(CLEAN)]} if QUEUES else {}
    reserves = {"reservedReplicas": GPUS - 1} if QUEUES and number % 4 == 1 else {}
    if reserves:  # one more than there are, so that one of the first requests finds its capacity reserved
        limits = {**limits, "reservationSeconds": 30}
    return job(f"c-{number:02}", queue=queues[number % 2], **named, **limits, **cleans,
               coordinator={"template": member()},
               collector={"replicas": GPUS - 2, "template": collector, **reserves},
               learner={"replicas": 1, "template": learner})


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


CREATING = threading.Lock()


def create_again(jobs, make, name=""):
    """Deletes the job, or that which has run longest, if one runs, and creates it again behind all others."""
    found = jobs.custom.list_namespaced_custom_object(GROUP, VERSION, jobs.namespace, "nervexjobs")["items"]
    running = [one["metadata"] for one in found if one.get("status", {}).get("phase") == "Running"]
    if not name and not running:
        return
    name = name or min(running, key=lambda one: one["creationTimestamp"])["name"]
    again = make(int(name.removeprefix("c-")))
    with CREATING:
        jobs.delete(name)
        wait_for(lambda: jobs.create(again), f"{name} to be gone", SETTLED, not_yet=[conflict, away])


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
            bound = any(isinstance(one.what, Pod) and one.what.uid == thief.uid and one.what.node
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


@pytest.fixture
def queue_faults(jobs, queues, guests, priorities, suite, pool, custom, env):
    """Faults of Queues and of their use; None without changes of queues."""
    if not QUEUES:
        return None
    (labels, names), (made, leaves), (gangs, _) = pool, queues, guests
    specs = {made.name(short): custom.get_cluster_custom_object(*PLURAL, made.name(short))["spec"]
             for short in ("lab", "inner", "even", "odd")}
    def again(name):
        create_again(jobs, lambda number: gang(number, labels, names, leaves, priorities), name)
    return queue_chaos.QueueChaos(suite.api(), jobs, ReplicasApi(env["NERVEX_SERVER_URL"]), SEED, specs, plans_of(made),
                                  again, gangs, names)


def test_gangs_are_whole_or_absent_under_all_faults(jobs, queues, guests, priorities, suite, set_preemption, pool,
                                                    queue_faults):
    (labels, names), (made, leaves), (_, guest_queues) = pool, queues, guests
    print(f"NERVEX_E2E_SEED={SEED} NERVEX_E2E_CONTENTION={SECONDS:g} NERVEX_E2E_PREEMPTION={PREEMPTION} "
          f"NERVEX_E2E_QUEUES={'on' if QUEUES else 'off'}")
    def make(number):
        return gang(number, labels, names, leaves, priorities)
    faults = chaos.Chaos(suite, jobs.namespace, labels, names, SEED, chaos.Flaps(
        short=(1, LOST - 2), long=(LOST + 3, HEALING - 5), endless=(HEALING + LOST + 2, HEALING + LOST + 10)))
    seen = history.History(suite.api(), [jobs.namespace, *guest_queues], f"{nodes.OWN}={labels[nodes.OWN]}",
                           faults.groups_changed).start()
    try:
        with contextlib.ExitStack() as stack:
            began = time.monotonic()
            stack.callback(faults.stop)
            faults.start()
            for number in range(JOBS):
                # The webhook refuses what it cannot check in time, as while the API server is busy.
                wait_for(lambda: jobs.create(make(number)), "a job to be created", SETTLED, not_yet=[away])
            if queue_faults:
                stack.callback(queue_faults.stop)
                queue_faults.start()
            running = [one for one in (faults, queue_faults) if one]
            def failed():
                return any(one.errors for one in running)
            while time.monotonic() < began + SECONDS and not failed():
                lasting(1)
            # On a slow machine a round of all kills takes longer than that, and gangs that stay where they are leave
            # nothing to rob.
            faults.finish()
            def happened():
                lacking = [what for one in running for what in one.lacking()]
                if any(what.startswith("thief") for what in lacking):
                    create_again(jobs, make)
                return failed() or not lacking, lacking
            wait_for(happened, "every kind of fault", max(SECONDS, FAULTS), interval=2)
        if QUEUES:
            made.patch("lab", limit=limit(CALM_LIMIT_OF_ALL))
        if PREEMPTION != "off":
            end_preemption(suite, jobs, set_preemption)
        began = time.monotonic()
        wait_for(lambda: settled(jobs), f"{FIT} of {JOBS} gangs to be whole and nothing to be there of others", SETTLED)
        print(f"settled {time.monotonic() - began:.1f} s after the last fault")
        seen.catch_up()
        check(jobs, seen.changes(), faults)
        check_queues(seen.changes(), leaves, guest_queues, queue_faults)
        check_quiet(jobs, suite)
        check_use(seen, made, guest_queues)
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


def check_queues(changes, queues, guest_queues, queue_faults):
    for what, count in sorted(queue_faults.done.items() if queue_faults else ()):
        print(f"{count:5}  {what}")
    limits = Limits(KNOWN_AFTER, guest_queues).judge(changes)
    kept = KeptNodes(KNOWN_AFTER, time.time() - time.monotonic()).judge(changes)
    most = {queue: amount for (queue, node_class, resource), amount in sorted(limits.most.items())
            if (node_class, resource) == ("", "nvidia.com/gpu")}
    print(f"the most GPUs that a queue used at once: {most}; of {limits.count} bindings under a limit {limits.after} "
          f"were allowed by an earlier one; {kept.reservations} reservations, {kept.count} bindings on reserved nodes")
    assert set(queues) <= set(most), "the pods name their queues"
    broken = limits.broken + kept.broken
    assert broken == [], f"{len(broken)} bindings:\n" + "\n".join(broken[:40])


def check_use(seen, made, guest_queues):
    """Each Queue says what its pods use; its status is written once a minute."""
    def look():
        seen.catch_up()
        use = Limits(KNOWN_AFTER, guest_queues).judge(seen.changes()).use()
        counted = {name: use[name] for name in made.made}
        said = {name: {resource: parse_quantity(amount) for resource, amount in made.use(name).items()}
                for name in counted}
        return counted == said, {"counted": counted, "said": said}
    wait_for(look, "the Queues to say what is used", 90, interval=5)


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
