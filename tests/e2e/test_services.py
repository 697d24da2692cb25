"""What names pods in DNS? One Service per namespace, or one per pod where that is impossible. The contract's tests
show that both work (test_controller.py, test_job_life.py, test_multi_gpu.py)."""

import json

import kubernetes
import pytest
from support.jobs import Jobs, job, template
from support.wait import always, wait_for

NAME = "named"


def collectors(count, **pod_spec):
    return job(NAME, collector={"replicas": count, "template": template(**pod_spec)})


def start(jobs, body, pods):
    jobs.create(body)
    return jobs.wait_pods(body["metadata"]["name"], pods, "Running")


def own_services(jobs, name=NAME):
    return [one.metadata.name for one in jobs.services(name)]


def names(pods):
    return [one.metadata.name for one in pods]


def mode(jobs, name=NAME):
    return jobs.get(name)["status"]["services"]


# -- whose is the Service?


def test_the_service_exists_until_the_last_job_is_deleted(jobs):
    start(jobs, job("one"), 2)
    start(jobs, job("two"), 2)
    uid = jobs.shared_service().metadata.uid
    jobs.delete("one")
    jobs.wait_pods("one", 0)
    always(lambda: jobs.shared_service() and jobs.shared_service().metadata.uid == uid, "the service of both jobs")
    jobs.wait_names("two", 2)
    jobs.delete("two")
    wait_for(lambda: jobs.shared_service() is None, "the service to go")
    start(jobs, job("three"), 2)
    jobs.wait_names("three", 2)


def test_the_service_is_deleted_if_the_last_job_was_deleted_without_a_controller(jobs, programs):
    start(jobs, job(NAME), 2)
    programs.stop("controller")
    jobs.delete(NAME)
    programs.start("controller")
    wait_for(lambda: jobs.shared_service() is None, "the service to go")


def foreign(core, namespace, **metadata):
    return core.create_namespaced_service(namespace, {
        "metadata": {"name": namespace, **metadata}, "spec": {"selector": {"app": "mine"}, "ports": [{"port": 80}]}})


@pytest.mark.parametrize("labels", [{}, {"group-name": "nervex.sensetime.com"}], ids=["unlabelled", "labelled"])
def test_a_service_of_another_owner_is_not_touched(jobs, core, namespace, labels):
    theirs = foreign(core, namespace, labels=labels)
    pods = start(jobs, collectors(2), 4)
    told = jobs.wait_condition(NAME, "PerPodServices")
    assert told["reason"] == "ServiceNameTaken"
    assert f"service {namespace}/{namespace} belongs to another owner" in told["message"]
    assert (own_services(jobs), mode(jobs)) == (names(pods), "PerPod")
    jobs.wait_names(NAME, 4)
    jobs.wait_event(NAME, "ServiceNameTaken")
    assert jobs.shared_service().metadata.resource_version == theirs.metadata.resource_version
    jobs.delete(NAME)
    jobs.wait_pods(NAME, 0)
    assert jobs.shared_service().metadata.uid == theirs.metadata.uid


def test_a_service_that_gets_another_owner_is_not_touched_and_running_pods_keep_their_names(jobs, core, namespace):
    before = start(jobs, collectors(1), 3)
    core.patch_namespaced_service(namespace, namespace, {"metadata": {"labels": {"controller-name": "another"}}})
    wait_for(lambda: (own_services(jobs) == names(before), own_services(jobs)), "a service for each pod")
    assert jobs.wait_condition(NAME, "PerPodServices")["reason"] == "ServiceNameTaken"
    jobs.wait_names(NAME, 3)
    assert {one.metadata.uid for one in jobs.pods(NAME)} == {one.metadata.uid for one in before}
    assert jobs.shared_service().metadata.labels["controller-name"] == "another"


@pytest.mark.versions
def test_a_namespace_that_begins_with_a_digit(core, custom):
    """Its name is valid for a Service from Kubernetes 1.36 on; earlier API servers refuse it and pods have their
    own."""
    name = "0-nervex-e2e"
    core.create_namespace({"metadata": {"name": name, "labels": {"nervex-e2e": "true"}}})
    try:
        wait_for(lambda: core.list_namespaced_service_account(name).items, f"the service account of {name}")
        jobs = Jobs(core, custom, name)
        start(jobs, job(NAME), 2)
        jobs.wait_names(NAME, 2)
        version = kubernetes.client.VersionApi(core.api_client).get_code()
        relaxed = (int(version.major), int(version.minor.rstrip("+"))) >= (1, 36)
        assert mode(jobs) == ("Shared" if relaxed else "PerPod")
        assert (jobs.condition(NAME, "PerPodServices") is None) == relaxed
    finally:
        core.delete_namespace(name, grace_period_seconds=0)


# -- whose are its EndpointSlices?

KUBERNETES = "endpointslice-controller.k8s.io"


@pytest.fixture
def slices(core, namespace):
    """The slices of the namespace's Service, of one managing program, or of all (None)."""
    api = kubernetes.client.DiscoveryV1Api(core.api_client)

    def look(manager=None):
        selector = f"kubernetes.io/service-name={namespace}"
        if manager:
            selector += f",endpointslice.kubernetes.io/managed-by={manager}"
        # As text: the client refuses slices without endpoints.
        reply = api.list_namespaced_endpoint_slice(namespace, label_selector=selector, _preload_content=False)
        return json.loads(reply.data)["items"]

    def delete(one):
        api.delete_namespaced_endpoint_slice(one["metadata"]["name"], namespace)

    def patch(one, body):
        api.patch_namespaced_endpoint_slice(one["metadata"]["name"], namespace, body)
    look.delete, look.patch = delete, patch
    return look


@pytest.mark.versions
def test_jobs_share_a_slice_that_belongs_to_the_controller_and_names_end_with_their_job(jobs, slices):
    start(jobs, job("one"), 2)
    start(jobs, job("two"), 2)
    jobs.wait_names("one", 2)
    jobs.wait_names("two", 2)
    assert len(slices("nervex-controller")) == len(slices()) == 1
    slices.delete(slices()[0])
    wait_for(lambda: len(slices()) == 1, "the slice to come back")
    jobs.wait_names("one", 2)
    jobs.delete("one")
    wait_for(lambda: (not [name for name in jobs.addresses() if name.startswith("one-")], jobs.addresses()),
             "the names to go with their job")
    jobs.wait_names("two", 2)
    jobs.delete("two")
    wait_for(lambda: not slices(), "the slice to go with the last job")


@pytest.mark.parametrize("label", ["group-name", "service.kubernetes.io/headless"])
def test_removed_labels_of_a_slice_are_restored(jobs, slices, label):
    """Without some of them none of our watches sees it any more: it is found by its name."""
    start(jobs, job(NAME), 2)
    jobs.wait_names(NAME, 2)
    (before,) = slices()
    slices.patch(before, {"metadata": {"labels": {label: None}}})
    wait_for(lambda: (slices()[0]["metadata"]["labels"] == before["metadata"]["labels"], slices()), "its labels")
    jobs.wait_names(NAME, 2)


def test_slices_follow_pods_that_changed_while_no_controller_ran(jobs, core, namespace, programs, node_agent):
    start(jobs, collectors(1), 3)
    jobs.wait_names(NAME, 3)
    programs.stop("controller")
    (gone,) = [one.metadata.name for one in jobs.pods(NAME) if one.metadata.labels["replica-type"] == "collector"]
    node_agent.set_phase(gone, "Failed")
    programs.start("controller")
    wait_for(lambda: (gone not in jobs.addresses(), jobs.addresses()), "the name of the pod that failed to go")
    assert f"{NAME}-coordinator" in jobs.addresses()


def test_an_upgrade_takes_names_over_from_kubernetes_without_a_gap(jobs, core, namespace, programs, slices):
    """In 0.1 the Service had a selector, so the controller manager wrote slices and an Endpoints object."""
    start(jobs, collectors(1), 3)
    programs.stop("controller")
    service = jobs.shared_service()
    core.patch_namespaced_service(namespace, namespace, {"spec": {"selector": dict(service.metadata.labels)}})
    for one in slices("nervex-controller"):
        slices.delete(one)
    wait_for(lambda: slices(KUBERNETES), "the slices of the controller manager")
    jobs.wait_names(NAME, 3)
    programs.start("controller")

    def taken_over():
        assert len(jobs.addresses()) == 3, "a name was gone meanwhile"
        objects = core.list_namespaced_endpoints(namespace, _preload_content=False)
        left = [one["metadata"]["name"] for one in json.loads(objects.data)["items"]]
        return not left and len(slices()) == len(slices("nervex-controller")) == 1, (left, slices())
    wait_for(taken_over, "our slice alone")
    always(lambda: (taken_over()[0], slices()), "our slice alone")
    assert jobs.shared_service().metadata.uid == service.metadata.uid
    jobs.wait_names(NAME, 3)


# -- whose names are others


def test_a_template_with_names_of_its_own_keeps_them_and_has_a_service(jobs, namespace):
    pods = start(jobs, collectors(1, hostname="worker", subdomain="workers"), 3)
    (collector,) = [one for one in pods if one.metadata.labels["replica-type"] == "collector"]
    assert (collector.spec.hostname, collector.spec.subdomain) == ("worker", "workers")
    assert own_services(jobs) == [collector.metadata.name]
    jobs.wait_names(NAME, 3)
    assert mode(jobs) == "Shared"


# -- a flag that changes


def test_running_pods_keep_their_kind_of_service_when_the_flag_changes(jobs, controller_with):
    """As in an upgrade of the suite. Later pods of the job are named like their attempt."""
    def grow(name, replicas):
        jobs.patch(name, {"spec": {"collector": {"replicas": replicas}}})
        jobs.wait_pods(name, 2 + replicas, "Running")
        jobs.wait_names(name, 2 + replicas)

    controller_with("--services=per-pod")
    old = start(jobs, job("old"), 2)
    assert own_services(jobs, "old") == names(old)
    controller_with()
    new = start(jobs, job("new"), 2)
    grow("old", 1)
    grow("new", 1)
    assert own_services(jobs, "old") == names(jobs.pods("old"))
    assert (own_services(jobs, "new"), mode(jobs, "old"), mode(jobs, "new")) == ([], "PerPod", "Shared")
    controller_with("--services=per-pod")
    grow("new", 2)
    assert (own_services(jobs, "new"), mode(jobs, "new")) == ([], "Shared")
    for before in (old, new):
        now = {one.metadata.uid for name in ("old", "new") for one in jobs.pods(name)}
        assert {one.metadata.uid for one in before} <= now
