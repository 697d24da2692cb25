"""Queues: which job starts first, what a queue may use, and what a job that waits for its queue says.

Each test has a node of its own with 8 GPUs, and jobs whose collectors need its GPUs.
"""

import contextlib
import uuid

import kubernetes
import pytest
from support import nodes
from support.jobs import job, refusal_of, template
from support.wait import always, wait_for

LONG = 60
PLURAL = ("nervex.sensetime.com", "v1alpha1", "queues")
GPU = "nvidia.com/gpu"


class Queues:
    """Queues of one test. Their names begin alike, and they are deleted with the test."""

    def __init__(self, custom, namespace):
        self.custom, self.namespace, self.prefix, self.made = custom, namespace, f"q{uuid.uuid4().hex[:6]}", []

    def name(self, short):
        return f"{self.prefix}-{short}"

    def selector(self):
        """Of the namespace of the test."""
        return {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}

    def create(self, short, **spec):
        name = self.name(short)
        if "parent" in spec:
            spec["parent"] = self.name(spec["parent"])
        spec.setdefault("namespaceSelector", self.selector())
        self.custom.create_cluster_custom_object(*PLURAL, {
            "apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": spec})
        self.made.append(name)
        return name

    def patch(self, short, **spec):
        self.custom.api_client.call_api(
            f"/apis/{PLURAL[0]}/{PLURAL[1]}/queues/{self.name(short)}", "PATCH", body={"spec": spec},
            header_params={"Content-Type": "application/merge-patch+json", "Accept": "application/json"},
            auth_settings=["BearerToken"], response_type="object", _return_http_data_only=True)

    def status(self, short):
        return self.custom.get_cluster_custom_object(*PLURAL, self.name(short)).get("status", {})

    def delete(self, short):
        with contextlib.suppress(kubernetes.client.ApiException):
            self.custom.delete_cluster_custom_object(*PLURAL, self.name(short))


@pytest.fixture
def queues(custom, namespace):
    made = Queues(custom, namespace)
    yield made
    for name in made.made:
        with contextlib.suppress(kubernetes.client.ApiException):
            custom.delete_cluster_custom_object(*PLURAL, name)


@pytest.fixture
def gpus(programs):
    """gpus(name, count, **spec): a job of one collector with so many GPUs of the test's node."""
    with nodes.own_node(programs.api(), gpus=8) as node:
        nodes.wait_usable(programs.api(), [node])

        def make(name, count, **spec):
            return job(name, collector={"replicas": 1, "template": template(gpus=count, nodeSelector={nodes.OWN: node})},
                       **spec)
        yield make


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
    jobs.delete("blocks")
    wait_running(jobs, "later")
    assert jobs.phase("earlier") == "Created"
    (group,) = jobs.pod_groups("later")
    assert group["status"]["queue"]["name"] == queues.name("guaranteed")


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
    jobs.delete("blocks")
    wait_for(lambda: (len(running(jobs, *ones, *threes)) == 4, running(jobs, *ones, *threes)), "four jobs to run", LONG)
    assert len(running(jobs, *ones)) == 1
    assert len(running(jobs, *threes)) == 3


def test_a_limit_holds_although_the_node_is_idle(jobs, queues, gpus):
    queues.create("small", limit=[{"resources": {GPU: 4}}])
    queue = queues.name("small")
    jobs.create(gpus("first", 4, queue=queue))
    wait_running(jobs, "first")
    jobs.create(gpus("second", 2, queue=queue))
    assert wait_reason(jobs, "second", "LimitExceeded") == (
        f"the limit of queue {queue} is {GPU} 4: 4 are used, 2 are needed")
    always(lambda: (jobs.phase("second") == "Created", jobs.phase("second")), "the second job waits", 2)
    jobs.delete("first")
    wait_running(jobs, "second")


def test_a_limit_of_a_parent_holds_for_its_parts_together(jobs, queues, gpus):
    queues.create("lab", limit=[{"resources": {GPU: 4}}], namespaceSelector={"matchLabels": {"no": "namespace"}})
    queues.create("a", parent="lab")
    queues.create("b", parent="lab")
    jobs.create(gpus("first", 4, queue=queues.name("a")))
    wait_running(jobs, "first")
    jobs.create(gpus("second", 2, queue=queues.name("b")))
    assert queues.name("lab") in wait_reason(jobs, "second", "LimitExceeded")


def test_a_queue_that_is_held_starts_nothing_and_what_runs_goes_on(jobs, queues, gpus):
    queues.create("team")
    jobs.create(gpus("runs", 2, queue=queues.name("team")))
    wait_running(jobs, "runs")
    queues.patch("team", stop="Hold")
    jobs.create(gpus("waits", 2, queue=queues.name("team")))
    assert wait_reason(jobs, "waits", "QueueStopped") == f"queue {queues.name('team')} is stopped"
    assert jobs.phase("runs") == "Running"
    queues.patch("team", stop="None")
    wait_running(jobs, "waits")


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
    queues.patch("team", stop="None")
    wait_running(jobs, "runs")
    assert jobs.get("runs")["status"]["queuedSince"] == since


def test_a_job_may_run_as_long_as_its_queue_allows(jobs, queues, gpus):
    queues.create("short", maxRuntimeSeconds=3)
    jobs.create(gpus("long", 1, queue=queues.name("short"), activeDeadlineSeconds=3600, backoffLimit=0))
    jobs.wait_phase("long", "Failed", timeout=LONG)
    assert jobs.get("long")["status"]["reason"] == "DeadlineExceeded"
    (event,) = jobs.events("long", "NerveXJobFailed")
    assert queues.name("short") in event.message, event.message


def test_a_job_of_a_deleted_queue_waits_until_the_queue_is_back(jobs, queues, gpus):
    queues.create("team")
    jobs.create(gpus("runs", 2, queue=queues.name("team")))
    wait_running(jobs, "runs")
    queues.delete("team")
    jobs.create(gpus("waits", 2, queue=queues.name("team")))
    assert wait_reason(jobs, "waits", "QueueNotFound") == f"queue {queues.name('team')} does not exist"
    assert jobs.phase("runs") == "Running"
    queues.create("team")
    wait_running(jobs, "waits")


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
    move_to("new")
    wait_running(jobs, "waits")
    assert queue_of("waits") == queues.name("new")
    assert queue_of("runs") == queues.name("old")


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
    queues.patch("a", parent=None)
    wait_running(jobs, "waits")


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
    jobs.delete("blocks")
    wait_for(lambda: (len(running(jobs, "mine-1", "mine-2", "mine-3", "hers")) == 2,
                      running(jobs, "mine-1", "mine-2", "mine-3", "hers")), "two jobs to run", LONG)
    assert running(jobs, "mine-1", "mine-2", "mine-3", "hers") == ["mine-1", "hers"]


def test_a_failover_of_the_extender_keeps_the_order(jobs, queues, gpus, programs):
    queues.create("guaranteed", quota=[{"resources": {GPU: 8}}])
    queues.create("other")
    jobs.create(gpus("blocks", 8, queue=queues.name("other")))
    wait_running(jobs, "blocks")
    jobs.create(gpus("earlier", 8, queue=queues.name("other")))
    jobs.create(gpus("later", 8, queue=queues.name("guaranteed")))
    for name in ("earlier", "later"):
        wait_reason(jobs, name, "Unschedulable")
    programs.stop("extender")
    jobs.delete("blocks")
    programs.start("extender")
    wait_running(jobs, "later")
    assert jobs.phase("earlier") == "Created"


def test_a_job_names_a_queue_that_is_not_for_its_namespace(jobs, queues, gpus):
    queues.create("closed", namespaceSelector={"matchLabels": {"no": "namespace"}})
    text = refusal_of(jobs.create, gpus("refused", 1, queue=queues.name("closed")))
    assert "spec.queue" in text and queues.name("closed") in text, text


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
        queues.patch("team", limit=[{"nodeClass": f"{queues.prefix}-a", "resources": {GPU: 8}}])
        wait_running(jobs, "second")


def test_the_status_of_a_queue_says_what_it_uses_and_what_waits(jobs, queues, gpus):
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
