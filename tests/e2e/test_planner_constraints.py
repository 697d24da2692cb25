"""Constraints that the planner knows besides capacity, node selection and taints. Each gang is placed so that
kube-scheduler agrees at once, or waits without a pod and says why: none runs in part."""

import re

import pytest
from support import nodes
from support.jobs import job, template
from support.wait import wait_for

ZONE = "topology.kubernetes.io/zone"
PAUSE = "registry.k8s.io/pause:3.10"


@pytest.fixture
def pool(target):
    """Two simulated nodes for this test, in two zones; templates choose them by pool.selector."""
    if not target.cluster:
        pytest.skip("the nodes of this cluster are its owner's")

    class Pool:
        api = target.cluster.api()
    with nodes.own_nodes(Pool.api, {ZONE: "a"}, {ZONE: "b", "fast": "yes"}) as (name, names):
        Pool.selector, Pool.names = {nodes.OWN: name}, names

        def ready():
            seen = [Pool.api.get(f"/api/v1/nodes/{one}") for one in names]
            return all(not one["spec"].get("taints") for one in seen), seen
        wait_for(ready, "the nodes to be ready")
        yield Pool


def on_pool(pool, **pod_spec):
    """A template whose pods go to these nodes."""
    return template(nodeSelector=pool.selector, **pod_spec)


def on_host_port(pool, port):
    body = on_pool(pool)
    body["spec"]["containers"][0]["ports"].append({"name": "data", "containerPort": 9000, "hostPort": port})
    return body


def with_collectors(name, count, body, **spec):
    return job(name, collector={"replicas": count, "template": body}, **spec)


def collectors_on(jobs, name):
    return sorted(pod.spec.node_name for pod in jobs.pods(name, "collector"))


def wait_collectors(jobs, name, count):
    """Waits until this many run, so the start was whole; returns their nodes, sorted."""
    jobs.wait_phase(name, "Running")
    jobs.wait_pods(name, count, "Running", role="collector")
    return collectors_on(jobs, name)


def wait_message(jobs, name, pattern):
    """Waits until the job waits with such a message and has no pod."""
    def look():
        found = jobs.condition(name, "Scheduled") or {}
        pods = [pod.metadata.name for pod in jobs.pods(name)]
        said = found.get("status") == "False" and re.search(pattern, found.get("message", ""))
        return bool(said) and not pods, (found, pods)
    wait_for(look, f"job {name} to say {pattern}, without a pod")


def test_pods_with_one_host_port_get_a_node_each(jobs, pool):
    jobs.create(with_collectors("ports", 2, on_host_port(pool, 8080)))
    assert wait_collectors(jobs, "ports", 2) == pool.names


def test_more_pods_with_one_host_port_than_nodes_never_fit(jobs, pool):
    jobs.create(with_collectors("ports", 3, on_host_port(pool, 8080)))
    wait_message(jobs, "ports", "^collector: 1 of 3 can never fit: each needs hostPort TCP/8080; the nodes have "
                                "capacity for 2 even when empty")


def test_a_gang_waits_for_a_host_port_that_a_foreign_pod_holds(jobs, pool, core, namespace):
    core.create_namespaced_pod(namespace, {
        "metadata": {"name": "foreign"},
        "spec": {"nodeName": pool.names[0], "containers": [
            {"name": "main", "image": PAUSE, "ports": [{"containerPort": 1, "hostPort": 8080}]}]}})
    jobs.create(with_collectors("ports", 2, on_host_port(pool, 8080)))
    wait_message(jobs, "ports", "^collector: 1 of 2 does not fit: each needs hostPort TCP/8080; "
                                "1 node has it free, 1 more is full")
    core.delete_namespaced_pod("foreign", namespace, grace_period_seconds=0)
    assert wait_collectors(jobs, "ports", 2) == pool.names


def test_ports_in_the_nodes_own_network_are_host_ports(jobs, pool):
    """The template declares none: the controller adds the main port, the API server makes it a host port."""
    body = on_pool(pool, hostNetwork=True)
    del body["spec"]["containers"][0]["ports"]
    jobs.create(with_collectors("network", 2, body))
    assert wait_collectors(jobs, "network", 2) == pool.names
    jobs.create(with_collectors("second", 1, body))
    wait_message(jobs, "second", r"^collector: does not fit: it needs hostPort TCP/\d+; no node has it free")


def apart(pool, key):
    """A template whose pods keep apart from each other, one per value of that node label."""
    body = on_pool(pool, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "apart"}}, "topologyKey": key}]}})
    body["metadata"] = {"labels": {"app": "apart"}}
    return body


@pytest.mark.parametrize("key", ["kubernetes.io/hostname", ZONE])
def test_pods_with_anti_affinity_get_a_domain_each(jobs, pool, key):
    jobs.create(with_collectors("apart", 2, apart(pool, key)))
    assert wait_collectors(jobs, "apart", 2) == pool.names


def test_more_pods_with_anti_affinity_than_zones_never_fit(jobs, pool):
    jobs.create(with_collectors("apart", 3, apart(pool, ZONE)))
    wait_message(jobs, "apart", f"^collector: 1 of 3 can never fit: each needs a {ZONE} of its own")


def test_pods_with_affinity_get_a_zone_that_holds_them_all(jobs, target):
    zones = [{ZONE: "a"}] * 2 + [{ZONE: "b"}] * 4
    with nodes.own_nodes(target.cluster.api(), *zones, gpus=8) as (name, names):
        nodes.wait_usable(target.cluster.api(), names)
        together = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "together"}}}]}}
        body = template(gpus=7, nodeSelector={nodes.OWN: name}, affinity=together)
        body["metadata"] = {"labels": {"app": "together"}}
        jobs.create(with_collectors("together", 4, body))
        assert wait_collectors(jobs, "together", 4) == names[2:]
        jobs.create(with_collectors("waits", 4, body))
        wait_message(jobs, "waits", f"2 of 4 do not fit in one {ZONE}, as pod affinity requires: a has capacity for 2")


def test_preferred_nodes_are_filled_first(jobs, pool):
    prefers = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 10, "preference": {"matchExpressions": [{"key": "fast", "operator": "Exists"}]}}]}}
    jobs.create(with_collectors("prefers", 2, on_pool(pool, affinity=prefers)))
    assert wait_collectors(jobs, "prefers", 2) == [pool.names[1]] * 2


def add_claim(core, namespace):
    """Claim data with a volume that can only be used in zone b, bound; returns the volume's name."""
    name = f"data-{namespace}"
    core.create_persistent_volume({
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": "",
                 "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/data"},
                 "claimRef": {"namespace": namespace, "name": "data"},
                 "nodeAffinity": {"required": {"nodeSelectorTerms": [
                     {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}]}}}})
    core.create_namespaced_persistent_volume_claim(namespace, {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": name,
                 "resources": {"requests": {"storage": "1Gi"}}}})
    wait_for(lambda: core.read_namespaced_persistent_volume_claim("data", namespace).status.phase == "Bound",
             "the claim to be bound")
    return name


@pytest.fixture
def claim(pool, core, namespace):
    name = add_claim(core, namespace)
    yield "data"
    core.delete_persistent_volume(name)


def test_a_late_claim_starts_the_job_and_no_node_is_avoided(jobs, pool, core, namespace):
    """No node is at fault for a missing claim: none is avoided, and the gang is planned as soon as the claim exists,
    not after the pause that follows a refused plan."""
    body = on_pool(pool, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    jobs.create(with_collectors("late", 1, body))

    def refused():
        statuses = [group.get("status", {}) for group in jobs.pod_groups("late")]
        gangs = [gang for status in statuses for gang in status.get("gangs", [])]
        return bool(gangs) and gangs[0]["reason"] == "RefusedByScheduler", statuses
    wait_for(refused, "kube-scheduler to refuse the plan")
    (group,) = jobs.pod_groups("late")
    assert not group["status"].get("avoid"), group["status"]
    assert group["status"]["gangs"][0]["refusals"]["waitsFor"] == ["data=missing"], group["status"]
    wait_message(jobs, "late", 'persistentvolumeclaim "data" not found')
    volume = add_claim(core, namespace)
    try:
        assert wait_collectors(jobs, "late", 1) == [pool.names[1]]
        assert jobs.get("late")["status"]["attempt"] == 1
    finally:
        core.delete_persistent_volume(volume)


def test_pods_go_where_their_volume_is(jobs, pool, claim):
    body = on_pool(pool, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}])
    jobs.create(with_collectors("volume", 2, body))
    assert wait_collectors(jobs, "volume", 2) == [pool.names[1]] * 2


def test_a_gang_waits_for_a_node_that_reaches_its_volume(jobs, pool, claim):
    def cordon(is_it):
        pool.api.call("PATCH", f"/api/v1/nodes/{pool.names[1]}", {"spec": {"unschedulable": is_it}},
                      "application/merge-patch+json")
    cordon(True)
    body = on_pool(pool, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}])
    jobs.create(with_collectors("volume", 1, body))
    wait_message(jobs, "volume", r"^collector: no node is allowed: \d+ do not match nodeSelector or affinity, "
                                 r"1 cannot reach its volume, 1 is cordoned")
    cordon(False)
    assert wait_collectors(jobs, "volume", 1) == [pool.names[1]]


def test_a_gang_over_quota_waits_and_starts_when_the_quota_is_raised(jobs, pool, core, namespace):
    core.create_namespaced_resource_quota(namespace, {
        "metadata": {"name": "team"}, "spec": {"hard": {"pods": "3"}}})
    wait_for(lambda: (core.read_namespaced_resource_quota("team", namespace).status.used or {}).get("pods") == "0",
             "the quota's use to be counted")
    jobs.create(with_collectors("quota", 3, on_pool(pool)))  # and coordinator and aggregator
    wait_message(jobs, "quota", "^over quota by pods 2: resourcequota team allows 3, 0 are used")
    assert jobs.get("quota")["status"]["reason"] == "OverQuota"
    created = [event for event in jobs.events("quota") if "quota" in (event.message or "") and
               event.reason == "FailedCreate"]
    assert not created, "pods were created until the quota was used up"
    core.patch_namespaced_resource_quota("team", namespace, {"spec": {"hard": {"pods": "5"}}})
    wait_collectors(jobs, "quota", 3)


def test_a_pod_that_is_being_shrunk_occupies_what_it_has(jobs, pool, core, namespace):
    """Its spec requests less by now, but the kubelet has not applied it."""
    core.create_namespaced_pod(namespace, {
        "metadata": {"name": "shrinks"},
        "spec": {"nodeName": pool.names[0], "containers": [
            {"name": "main", "image": PAUSE, "resources": {"requests": {"cpu": "1"}}}]}})
    has = {"name": "main", "image": PAUSE, "imageID": "", "ready": True, "restartCount": 0,
           "allocatedResources": {"cpu": "60"}, "resources": {"requests": {"cpu": "60"}}}
    wait_for(lambda: core.read_namespaced_pod("shrinks", namespace).status.phase == "Running", "the pod to run")
    core.patch_namespaced_pod_status("shrinks", namespace, {"status": {"containerStatuses": [has]}})
    body = on_pool(pool)
    body["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "33"
    jobs.create(with_collectors("resized", 2, body))
    wait_message(jobs, "resized", "^collector: 1 of 2 does not fit: each needs cpu 33; 1 node has it free, "
                                  "1 more is full")
    core.delete_namespaced_pod("shrinks", namespace, grace_period_seconds=0)
    assert wait_collectors(jobs, "resized", 2) == pool.names


def enlarged(jobs):
    """What the planner has learned about the sizes of that job's pods."""
    (group,) = jobs.pod_groups("enlarged")
    return [(one["name"], one["requests"]) for one in group.get("status", {}).get("enlarged", [])]


def test_a_gang_whose_pods_are_enlarged_at_creation_starts(jobs, pool, core, namespace):
    """A LimitRange fills in missing requests of the template."""
    core.create_namespaced_limit_range(namespace, {
        "metadata": {"name": "defaults"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "20"}}]}})
    body = on_pool(pool)
    body["spec"]["containers"][0]["resources"] = {}
    jobs.create(with_collectors("enlarged", 2, body))
    assert wait_collectors(jobs, "enlarged", 2) == [pool.names[0]] * 2
    wait_for(lambda: enlarged(jobs) == [("collector", {"cpu": "20", "pods": "1"})], "the plan to know it")


def test_a_gang_that_is_enlarged_beyond_one_node_is_planned_again_and_starts(jobs, pool, core, namespace):
    """By their template both fit one node with 64 CPUs, which is the first plan; after admission they do not."""
    core.create_namespaced_limit_range(namespace, {
        "metadata": {"name": "defaults"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "40"}}]}})
    body = on_pool(pool)
    body["spec"]["containers"][0]["resources"] = {}
    jobs.create(with_collectors("enlarged", 2, body))
    assert wait_collectors(jobs, "enlarged", 2) == pool.names
    assert jobs.get("enlarged")["status"]["attempt"] == 1
    assert enlarged(jobs) == [("collector", {"cpu": "40", "pods": "1"})]


@pytest.mark.extended  # waits for the controller's next dry run, a minute; tests/controller has the decision
def test_a_job_starts_when_the_limit_range_that_made_its_pods_too_large_is_deleted(jobs, pool, core, namespace):
    """The controller's dry run of the waiting job's pods shows it."""
    core.create_namespaced_limit_range(namespace, {
        "metadata": {"name": "defaults"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "70"}}]}})
    body = on_pool(pool)
    body["spec"]["containers"][0]["resources"] = {}
    jobs.create(with_collectors("enlarged", 2, body))
    wait_message(jobs, "enlarged", "2 of 2 can never fit: .*a LimitRange or a webhook raises the pods")
    core.delete_namespaced_limit_range("defaults", namespace)
    jobs.wait_phase("enlarged", "Running", timeout=180)
    assert enlarged(jobs) == []
