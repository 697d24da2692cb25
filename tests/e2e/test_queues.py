"""Queues: which job starts first, what a queue may use, and what a job that waits for its queue says.

Each test has a node of its own with 8 GPUs, and jobs whose collectors need its GPUs. One that is a situation pauses in
its middle (`yield`): alone it goes on at once, and a test of failovers kills the extender there in all of them.
"""

import contextlib
import functools
import inspect
import signal

import kubernetes
import pytest
from support import nodes
from support.jobs import GROUP, VERSION, Jobs, job, refusal_of, template
from support.queues import own_queues
from tools.base import processes
from tools.cluster import pod_groups
from support.wait import always, wait_for

LONG = 60
GPU = "nvidia.com/gpu"


@contextlib.contextmanager
def own_gpus(programs):
    """gpus(name, count, **spec): a job of one collector with so many GPUs of a node."""
    with nodes.own_node(programs.api(), gpus=8) as node:
        nodes.wait_usable(programs.api(), [node])

        def make(name, count, **spec):
            return job(name, collector={"replicas": 1, "template": template(gpus=count, nodeSelector={nodes.OWN: node})},
                       **spec)
        yield make


@pytest.fixture
def gpus(programs):
    with own_gpus(programs) as made:
        yield made


SITUATIONS = []


def situation(story):
    """The story as a test, without its pause."""
    SITUATIONS.append(story)

    @functools.wraps(story)
    def test(**fixtures):
        for _ in story(**fixtures):
            pass
    return test


def wait_running(jobs, *names):
    for name in names:
        jobs.wait_phase(name, "Running", timeout=LONG)


def wait_reason(jobs, name, reason):
    """The message with which the job waits for that reason."""
    def look():
        seen = jobs.condition(name, "Scheduled") or {}
        return seen.get("reason") == reason and jobs.get(name)["status"].get("reason") == reason, seen
    wait_for(look, f"{name} to wait with reason {reason}", LONG)
    return jobs.condition(name, "Scheduled")["message"]


def running(jobs, *names):
    return [name for name in names if jobs.phase(name) == "Running"]


@pytest.mark.versions
@situation
def test_a_queue_within_its_quota_goes_first(jobs, queues, gpus):
    """Of the jobs that wait for a full node, the later one starts: only its queue is within quota."""
    queues.create("guaranteed", quota=[{"resources": {GPU: 8}}])
    queues.create("other")
    jobs.create(gpus("blocks", 8, queue=queues.name("other")))
    wait_running(jobs, "blocks")
    jobs.create(gpus("earlier", 8, queue=queues.name("other")))
    wait_reason(jobs, "earlier", "Unschedulable")
    jobs.create(gpus("later", 8, queue=queues.name("guaranteed")))
    wait_reason(jobs, "later", "Unschedulable")
    yield
    jobs.delete("blocks")
    wait_running(jobs, "later")
    assert jobs.phase("earlier") == "Created"
    (group,) = jobs.pod_groups("later")
    assert group["status"]["queue"]["name"] == queues.name("guaranteed")


@situation
def test_what_is_not_guaranteed_is_shared_by_weight(jobs, queues, gpus):
    queues.create("three", weight=3)
    queues.create("one")
    jobs.create(gpus("blocks", 8, queue=queues.name("one")))
    wait_running(jobs, "blocks")
    ones = [f"one-{i}" for i in range(4)]
    threes = [f"three-{i}" for i in range(4)]
    for name in ones:
        jobs.create(gpus(name, 2, queue=queues.name("one")))
    for name in threes:
        jobs.create(gpus(name, 2, queue=queues.name("three")))
    for name in ones + threes:
        wait_reason(jobs, name, "Unschedulable")
    yield
    jobs.delete("blocks")
    wait_for(lambda: (len(running(jobs, *ones, *threes)) == 4, running(jobs, *ones, *threes)), "four jobs to run", LONG)
    assert len(running(jobs, *ones)) == 1
    assert len(running(jobs, *threes)) == 3


@pytest.mark.versions
@situation
def test_a_limit_holds_although_the_node_is_idle(jobs, queues, gpus):
    queues.create("small", limit=[{"resources": {GPU: 4}}])
    queue = queues.name("small")
    jobs.create(gpus("first", 4, queue=queue))
    wait_running(jobs, "first")
    jobs.create(gpus("second", 2, queue=queue))
    assert wait_reason(jobs, "second", "LimitExceeded") == (
        f"the limit of queue {queue} is {GPU} 4: 4 are used, 2 are needed")
    always(lambda: (jobs.phase("second") == "Created", jobs.phase("second")), "the second job waits", 2)
    yield
    jobs.delete("first")
    wait_running(jobs, "second")


@situation
def test_a_limit_of_a_parent_holds_for_its_parts_together(jobs, queues, gpus):
    queues.create("lab", limit=[{"resources": {GPU: 4}}], namespaceSelector={"matchLabels": {"no": "namespace"}})
    queues.create("a", parent="lab")
    queues.create("b", parent="lab")
    jobs.create(gpus("first", 4, queue=queues.name("a")))
    wait_running(jobs, "first")
    jobs.create(gpus("second", 2, queue=queues.name("b")))
    assert queues.name("lab") in wait_reason(jobs, "second", "LimitExceeded")
    yield
    jobs.delete("first")
    wait_running(jobs, "second")


@situation
def test_a_queue_that_is_held_starts_nothing_and_what_runs_goes_on(jobs, queues, gpus):
    queues.create("team")
    jobs.create(gpus("runs", 2, queue=queues.name("team")))
    wait_running(jobs, "runs")
    queues.patch("team", stop="Hold")
    jobs.create(gpus("waits", 2, queue=queues.name("team")))
    assert wait_reason(jobs, "waits", "QueueStopped") == f"queue {queues.name('team')} is stopped"
    assert jobs.phase("runs") == "Running"
    yield
    queues.patch("team", stop="None")
    wait_running(jobs, "waits")


@situation
def test_a_queue_that_is_drained_requeues_what_runs(jobs, queues, gpus):
    queues.create("team")
    jobs.create(gpus("runs", 2, queue=queues.name("team"), backoffLimit=0))
    wait_running(jobs, "runs")
    since = jobs.get("runs")["status"]["queuedSince"]
    queues.patch("team", stop="HoldAndDrain")
    requeued = jobs.wait_condition("runs", "Requeued")
    assert requeued["reason"] == "QueueDrained", requeued
    wait_reason(jobs, "runs", "QueueStopped")
    jobs.wait_pods("runs", 0, timeout=LONG)
    yield
    queues.patch("team", stop="None")
    wait_running(jobs, "runs")
    assert jobs.get("runs")["status"]["queuedSince"] == since


@situation
def test_a_job_of_a_deleted_queue_waits_until_the_queue_is_back(jobs, queues, gpus):
    queues.create("team")
    jobs.create(gpus("runs", 2, queue=queues.name("team")))
    wait_running(jobs, "runs")
    queues.delete("team")
    jobs.create(gpus("waits", 2, queue=queues.name("team")))
    assert wait_reason(jobs, "waits", "QueueNotFound") == f"queue {queues.name('team')} does not exist"
    assert jobs.phase("runs") == "Running"
    yield
    queues.create("team")
    wait_running(jobs, "waits")


@situation
def test_the_label_of_a_namespace_moves_only_jobs_that_wait(jobs, queues, gpus, core, namespace):
    # Without a selector a queue is for the namespaces whose label names it.
    for short in ("old", "new"):
        queues.create(short, namespaceSelector=None, limit=[{"resources": {GPU: 4}}])

    def move_to(short):
        core.patch_namespace(namespace, {"metadata": {"labels": {"nervex.sensetime.com/queue": queues.name(short)}}})

    def queue_of(name):
        return jobs.pod_groups(name)[0].get("status", {}).get("queue", {}).get("name")
    move_to("old")
    jobs.create(gpus("runs", 4))
    wait_running(jobs, "runs")
    jobs.create(gpus("waits", 4))
    wait_reason(jobs, "waits", "LimitExceeded")
    assert queue_of("waits") == queues.name("old")
    yield
    move_to("new")
    wait_running(jobs, "waits")
    assert queue_of("waits") == queues.name("new")
    assert queue_of("runs") == queues.name("old")


@situation
def test_a_tree_that_is_made_cyclic_starts_nothing_and_says_so(jobs, queues, gpus):
    queues.create("a")
    queues.create("b", parent="a", namespaceSelector={"matchLabels": {"no": "namespace"}})
    queues.patch("a", parent=queues.name("b"))
    jobs.create(gpus("waits", 2, queue=queues.name("a")))
    assert wait_reason(jobs, "waits", "QueueCycle") == (
        f"the parents of the queues form a cycle: {queues.name('a')} -> {queues.name('b')} -> {queues.name('a')}")
    wait_for(lambda: (any(c["type"] == "Ready" and c["reason"] == "QueueCycle"
                          for c in queues.status("a").get("conditions", [])), queues.status("a")),
             "the queue to say so", 90)
    yield
    queues.patch("a", parent=None)
    wait_running(jobs, "waits")


@situation
def test_a_queue_that_cannot_be_read_holds_its_jobs_and_names_the_field(jobs, queues, gpus):
    queues.create("team", limit=[{"resources": {GPU: "1e99999999999999999999"}}])  # the schema lets it pass
    jobs.create(gpus("waits", 2, queue=queues.name("team")))
    message = wait_reason(jobs, "waits", "QueueUnreadable")
    assert message.startswith(f"queue {queues.name('team')} cannot be read: spec.limit[0].resources: {GPU}"), message
    wait_for(lambda: (any(c["type"] == "Ready" and c["reason"] == "QueueUnreadable"
                          for c in queues.status("team").get("conditions", [])), queues.status("team")),
             "the queue to say so", 90)
    yield
    queues.patch("team", limit=[{"resources": {GPU: 8}}])
    wait_running(jobs, "waits")


@situation
def test_users_of_one_queue_take_turns(jobs, queues, gpus, custom):
    queues.create("team", fairUsers=True)
    jobs.create(gpus("blocks", 8, queue=queues.name("team")))
    wait_running(jobs, "blocks")
    other = kubernetes.client.CustomObjectsApi(kubernetes.client.ApiClient(custom.api_client.configuration))
    other.api_client.set_default_header("Impersonate-User", "ada")
    other.api_client.set_default_header("Impersonate-Group", "system:masters")
    for name in ("mine-1", "mine-2", "mine-3"):
        jobs.create(gpus(name, 4, queue=queues.name("team")))
    other.create_namespaced_custom_object(
        "nervex.sensetime.com", "v1alpha1", jobs.namespace, "nervexjobs", gpus("hers", 4, queue=queues.name("team")))
    for name in ("mine-1", "mine-2", "mine-3", "hers"):
        wait_reason(jobs, name, "Unschedulable")
    yield
    jobs.delete("blocks")
    wait_for(lambda: (len(running(jobs, "mine-1", "mine-2", "mine-3", "hers")) == 2,
                      running(jobs, "mine-1", "mine-2", "mine-3", "hers")), "two jobs to run", LONG)
    assert running(jobs, "mine-1", "mine-2", "mine-3", "hers") == ["mine-1", "hers"]


def test_a_job_names_a_queue_that_is_not_for_its_namespace(jobs, queues, gpus):
    queues.create("closed", namespaceSelector={"matchLabels": {"no": "namespace"}})
    text = refusal_of(jobs.create, gpus("refused", 1, queue=queues.name("closed")))
    assert "spec.queue" in text and queues.name("closed") in text, text


@situation
def test_limits_of_node_classes_keep_jobs_off_their_nodes(jobs, queues, programs):
    model = "nvidia.com/gpu.product"
    with nodes.own_nodes(programs.api(), {model: f"{queues.prefix}-a"}, {model: f"{queues.prefix}-b"}, gpus=8) as (pool, names):
        nodes.wait_usable(programs.api(), names)
        queues.create("team", limit=[{"nodeClass": f"{queues.prefix}-a", "resources": {GPU: 4}}])

        def collectors(name, count):
            return job(name, queue=queues.name("team"), collector={
                "replicas": count, "template": template(gpus=4, nodeSelector={nodes.OWN: pool})})
        jobs.create(collectors("first", 3))
        wait_running(jobs, "first")
        used = sorted(pod.spec.node_name for pod in jobs.pods("first", "collector"))
        assert used == [names[0], names[1], names[1]]
        jobs.create(collectors("second", 1))
        assert f"leave 0 on {queues.prefix}-a" in wait_reason(jobs, "second", "NodeClassLimit")
        yield
        queues.patch("team", limit=[{"nodeClass": f"{queues.prefix}-a", "resources": {GPU: 8}}])
        wait_running(jobs, "second")


def test_the_status_of_a_queue_says_what_it_uses_and_what_waits(jobs, queues, gpus, kubectl):
    queues.create("team", quota=[{"resources": {GPU: 2}}])
    jobs.create(gpus("runs", 6, queue=queues.name("team")))
    wait_running(jobs, "runs")
    jobs.create(gpus("waits", 4, queue=queues.name("team")))
    wait_reason(jobs, "waits", "Unschedulable")

    queues.patch("team", weight=2)  # a change is reported at once, all else once a minute

    def look():
        status = queues.status("team")
        return status.get("running") == 1 and status.get("pending") == 1, status
    wait_for(look, "the status to be written", 90)
    status = queues.status("team")
    assert status["use"][GPU] == "6"
    assert status["borrowed"][GPU] == "4"
    assert status["head"]["priority"] == 0
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "Ready": "True", "NamespacesUnambiguous": "True"}
    header, line = kubectl("get", "nvxq", queues.name("team")).stdout.splitlines()
    assert header.split() == ["NAME", "PENDING", "RUNNING", "SHARE", "READY", "STOP", "AGE"]
    assert line.split()[1:3] == ["1", "1"] and line.split()[4:6] == ["True", "None"]
    for name in ("runs", "waits"):
        jobs.delete(name)
    wait_for(lambda: not jobs.pods("runs"), "the job's pods to go", LONG)
    queues.patch("team", weight=3)

    def is_unused():
        status = queues.status("team")
        return status.get("running") == 0 and "use" not in status and "borrowed" not in status, status
    wait_for(is_unused, "the status to say that nothing is used", 90)


# The last one: the extender is killed while the job still runs.
@situation
def test_a_job_may_run_as_long_as_its_queue_allows(jobs, queues, gpus):
    queues.create("short", maxRuntimeSeconds=5)
    jobs.create(gpus("long", 1, queue=queues.name("short"), activeDeadlineSeconds=3600, backoffLimit=0))
    wait_running(jobs, "long")
    yield
    jobs.wait_phase("long", "Failed", timeout=LONG)
    assert jobs.get("long")["status"]["reason"] == "DeadlineExceeded"
    (event,) = jobs.events("long", "NerveXJobFailed")
    assert queues.name("short") in event.message, event.message


def test_pods_of_a_deleted_job_end_when_their_queue_is_drained(jobs, queues, gpus, core, namespace):
    queues.create("team")
    jobs.create(gpus("runs", 2, queue=queues.name("team")))
    wait_running(jobs, "runs")
    kubernetes.client.CustomObjectsApi(core.api_client).delete_namespaced_custom_object(
        GROUP, VERSION, namespace, "nervexjobs", "runs", propagation_policy="Orphan")

    wait_for(lambda: not any(one.metadata.owner_references for one in jobs.pods("runs")),
             "the garbage collector to orphan the pods", LONG)
    assert jobs.pods("runs")
    queues.patch("team", stop="HoldAndDrain")
    jobs.wait_pods("runs", 0, timeout=LONG)


def kill_the_leader(programs):
    """The standby takes over. kube-scheduler calls `extender`, which is started again in any case."""
    leader, standby = ("extender", "extender-2") if programs.is_leader("extender") else ("extender-2", "extender")
    processes.send(programs.programs[leader], signal.SIGKILL)
    wait_for(lambda: programs.is_leader(standby), f"{standby} to lead", LONG)
    if leader == "extender":
        programs.start("extender")
    return standby


def kill_both(programs):
    """One is started again, with empty caches."""
    for name in ("extender", "extender-2"):
        processes.send(programs.programs[name], signal.SIGKILL)
    programs.start("extender")
    return "extender"


def decided(groups):
    """{(namespace, PodGroup): what the planner has decided}, without times and messages, which it may renew."""
    return {(one["metadata"]["namespace"], one["metadata"]["name"]): (
        one["status"].get("queue", {}).get("name"),
        [(gang["name"], gang["reason"], gang["committed"]) for gang in one["status"]["gangs"]],
        pod_groups.placements(one)) for one in groups if one.get("status", {}).get("gangs")}


@pytest.mark.parametrize("fail_over", [kill_both, pytest.param(kill_the_leader, marks=pytest.mark.extended)])
def test_a_failover_in_the_middle_of_each_situation_changes_nothing(fail_over, core, custom, programs, fresh_namespace):
    with contextlib.ExitStack() as stack:
        fixtures = {"core": core, "custom": custom, "programs": programs}
        stories = []
        programs.start_second("extender")
        for story in SITUATIONS:
            namespace = stack.enter_context(fresh_namespace())
            own = {**fixtures, "namespace": namespace, "jobs": Jobs(core, custom, namespace),
                   "gpus": stack.enter_context(own_gpus(programs)),
                   "queues": stack.enter_context(own_queues(custom, namespace))}
            stories.append(story(**{name: own[name] for name in inspect.signature(story).parameters}))
            next(stories[-1])

        def stored():
            return decided(programs.api().get("/apis/nervex.sensetime.com/v1alpha1/podgroups")["items"])
        before = stored()
        leader = fail_over(programs)
        wait_for(lambda: programs.is_leader(leader), "an extender to lead", LONG)
        cycles = "nervex_scheduling_algorithm_duration_seconds_count"
        wait_for(lambda: programs.metrics(leader).get(cycles, 0) > 0, "the new leader's first cycle", LONG)
        after = stored()
        assert {key: after[key] for key in before if key in after} == {
            key: before[key] for key in before if key in after}
        for story in stories:
            assert list(story) == []
