"""A tenant with the role `edit` in one namespace, where gangs of another operator may run, tries to start what a Queue
forbids or to hide what it uses: PodGroups of scheduling.x-k8s.io may be changed at any time.

Each test has a node of its own with 8 GPUs.
"""

import kubernetes
import pytest
from support import foreign_gangs, nodes
from support.foreign_gangs import LABEL
from support.tenant import GPU, LONG
from support.wait import wait_for
from test_foreign_gangs import kind  # noqa: F401  a fixture

API = f"apis/{foreign_gangs.GROUP}/v1alpha1"
LIMIT = [{"resources": {GPU: 4}}]


class Gangs:
    """Of the tenant, who may write their PodGroups."""

    def __init__(self, tenant):
        self.tenant = tenant

    def create(self, name, min_member, **spec):
        status, said = self.tenant.call("POST", self.tenant.path("podgroups", group=API), {
            "apiVersion": f"{foreign_gangs.GROUP}/v1alpha1", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": min_member, **spec}})
        assert status == 201, said

    def patch(self, name, **spec):
        status, said = self.tenant.call("PATCH", self.tenant.path("podgroups", name, API), {"spec": spec})
        assert status == 200, said

    def add(self, gang, *names, gpus=1, **spec):
        for name in names:
            self.tenant.create_pod(name, gpus, labels={LABEL: gang}, **spec)


@pytest.fixture
def gangs(kind, tenant, core):  # noqa: F811
    rbac = kubernetes.client.RbacAuthorizationV1Api(core.api_client)
    rbac.create_namespaced_role(tenant.namespace, {"metadata": {"name": "gangs"}, "rules": [
        {"apiGroups": [foreign_gangs.GROUP], "resources": ["podgroups"], "verbs": ["*"]}]})
    rbac.create_namespaced_role_binding(tenant.namespace, {
        "metadata": {"name": "gangs"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gangs"},
        "subjects": [{"kind": "ServiceAccount", "name": "user-edit", "namespace": tenant.namespace}]})
    wait_for(lambda: tenant.call("GET", tenant.path("podgroups", group=API))[0] == 200, "the role to apply")
    return Gangs(tenant)


@pytest.fixture
def others(other_team):
    """The jobs of another team, with a quota of nearly the whole node."""
    with other_team(7) as theirs:
        yield theirs


def test_a_raised_minimum_starts_nothing_in_a_queue_that_is_held(gangs, tenant, queues):
    queues.create("team")
    gangs.create("grows", 1)
    gangs.add("grows", "grows-0")
    tenant.wait_bound("grows-0")
    queues.patch("team", stop="Hold")
    tenant.create_pod("plain", 1)
    tenant.wait_pod_says("plain", "is stopped")
    gangs.patch("grows", minMember=4)
    gangs.add("grows", "grows-1", "grows-2", "grows-3")
    tenant.check_at_most(1, 1.5)


def test_a_raised_minimum_does_not_go_before_the_quota_of_others(gangs, tenant, queues, others):
    queues.create("mine")
    gangs.create("grows", 1)
    gangs.add("grows", "grows-0")
    tenant.wait_bound("grows-0")
    tenant.run("blocks", 7)
    others.create(tenant.job("theirs", 7))
    wait_for(lambda: (others.condition("theirs", "Scheduled") or {}).get("reason") == "Unschedulable", "it to wait", LONG)
    gangs.patch("grows", minMember=5)
    gangs.add("grows", *(f"grows-{i}" for i in range(1, 5)))
    tenant.jobs.delete("blocks")
    wait_for(lambda: (others.phase("theirs") == "Running" or tenant.gpus_in_use() == 5, tenant.gpus_in_use()),
             "one of them to start", LONG)
    assert others.phase("theirs") == "Running"


def test_a_raised_minimum_stays_within_the_limit(gangs, tenant, queues):
    queues.create("small", limit=LIMIT)
    gangs.create("grows", 1)
    gangs.add("grows", "grows-0", gpus=2)
    tenant.wait_bound("grows-0")
    gangs.patch("grows", minMember=3)
    gangs.add("grows", "grows-1", "grows-2", gpus=2)
    tenant.check_at_most(4, 1)


def test_a_gang_with_the_uid_of_a_jobs_podgroup_as_its_name_hides_no_use(gangs, tenant, queues):
    queue = queues.create("small", limit=LIMIT)
    tenant.run("old", 4, slow=True, queue=queue)
    uid = tenant.jobs.pod_groups("old")[0]["metadata"]["uid"]
    tenant.jobs.delete("old")
    wait_for(lambda: not tenant.jobs.pod_groups("old"), "its PodGroup to go", LONG)
    assert tenant.gpus_in_use() == 4
    tenant.create_pod("before", 1)
    tenant.wait_pod_says("before", "the limit of queue")
    gangs.create(uid, 1)
    tenant.create_pod("after", 1)
    tenant.check_at_most(4, 1.5)


def test_pods_that_change_their_gang_count_in_one_of_them(gangs, tenant, queues):
    queues.create("small", limit=LIMIT)
    gangs.create("a", 1)
    gangs.create("b", 5)
    gangs.add("a", "a-0", "a-1", gpus=2)
    tenant.wait_bound("a-0", "a-1")
    for gang in ("b", "none", None):
        for pod in ("a-0", "a-1"):
            tenant.core.patch_namespaced_pod(pod, tenant.namespace, {"metadata": {"labels": {LABEL: gang}}})
        name = f"more-after-{gang or 'nothing'}"
        tenant.create_pod(name, 1)
        tenant.wait_pod_says(name, "the limit of queue")
    tenant.check_at_most(4)


def test_a_pod_with_a_node_that_leaves_its_gang_is_not_bound_beyond_the_limit(gangs, tenant, queues):
    """Pods that have a nomination are passed by the filter, whichever gang has them then."""
    queues.create("small", limit=LIMIT)
    gangs.create("a", 4)
    gangs.create("b", 9)
    gangs.add("a", *(f"a-{i}" for i in range(3)))
    for i in range(3):
        tenant.core.patch_namespaced_pod(f"a-{i}", tenant.namespace, {"metadata": {"labels": {LABEL: "b"}}})
    gangs.add("a", *(f"a-{i}" for i in range(3, 7)))
    wait_for(lambda: ((used := tenant.gpus_in_use()) == 4, used), "the gang to start", LONG)
    for i in range(3):
        tenant.core.patch_namespaced_pod(f"a-{i}", tenant.namespace, {"metadata": {"labels": {LABEL: "a"}}})
    tenant.check_at_most(4, 1)


ODD = {"minResources beyond any number": {"minResources": {GPU: "9223372036854775807", "cpu": "1e18"}},
       "many minResources": {"minResources": {f"example.com/r{i}": 1 for i in range(5000)}},
       "a time-out of a lifetime": {"scheduleTimeoutSeconds": 2**31 - 1}}


@pytest.mark.parametrize("spec", ODD)
def test_odd_gangs_do_not_delay_others(gangs, tenant, programs, spec):
    gangs.create("odd", 2**31 - 1 if "time" in spec else 2, **ODD[spec])
    gangs.add("odd", "odd-0", "odd-1")
    tenant.create_pod("honest", 1)
    tenant.wait_bound("honest")
    assert nodes.is_usable(programs.api().get(f"/api/v1/nodes/{tenant.node}"))
