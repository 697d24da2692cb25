"""Which pods are replaced: rows of docs/concepts/replacement.md, on a real control plane."""

import pytest
from tools.cluster import pod_groups
from support.jobs import GROUP, VERSION, job
from support.replicas_api import pod_of
from support.wait import always, wait_for

NAME = "heal"
SERVER = "system:serviceaccount:nervex-system:nervex-server"


def names(pods, role="collector"):
    return {pod.metadata.name for pod in pods if pod.metadata.labels["replica-type"] == role}


def uids(pods):
    return {pod.metadata.name: pod.metadata.uid for pod in pods}


@pytest.fixture
def running(jobs):
    """A job with 2 base replicas collectors; its 4 pods run."""
    body = job(NAME)
    body["spec"]["collector"]["replicas"] = 2
    jobs.create(body)
    pods = jobs.wait_pods(NAME, 4, "Running")
    jobs.wait_condition(NAME, "Ready")
    return pods


@pytest.fixture
def grown(jobs, running, replicas_api, namespace):
    """With 2 more that its coordinator requested; returns their names."""
    reply = replicas_api.add(namespace, f"{NAME}-coordinator", collectors=2)
    assert reply.status == 200, reply
    jobs.wait_pods(NAME, 6, "Running")
    return [pod_of(url) for url in reply.data["collectors"]]


def wait_replaced(jobs, before, gone, count):
    """Waits until `gone` has a successor with another name and all others are the same pods; returns its name."""
    def look():
        pods = jobs.pods(NAME)
        run = all(pod.status.phase == "Running" for pod in pods)
        return run and len(pods) == count and gone not in uids(pods), uids(pods)
    now = wait_for(look, f"{gone} to be replaced")
    rest = {name: uid for name, uid in before.items() if name != gone}
    assert rest.items() <= now.items()
    (successor,) = now.keys() - rest.keys()
    jobs.wait_names(NAME, count)
    return successor


def replaced(jobs):
    return [(one["role"], one["ordinal"], one.get("incarnation", 0))
            for one in jobs.get(NAME)["status"].get("replaced", [])]


def as_server(jobs, requests):
    """Writes spec.requests as nervex-server would."""
    return jobs.custom.api_client.call_api(
        f"/apis/{GROUP}/{VERSION}/namespaces/{jobs.namespace}/nervexjobs/{NAME}", "PATCH",
        body={"spec": {"requests": requests}},
        header_params={"Content-Type": "application/merge-patch+json", "Accept": "application/json",
                       "Impersonate-User": SERVER},
        auth_settings=["BearerToken"], response_type="object", _return_http_data_only=True)


def patch_group(jobs, body):
    (group,) = jobs.pod_groups(NAME)
    return jobs.custom.api_client.call_api(
        f"/apis/{GROUP}/{VERSION}/namespaces/{jobs.namespace}/podgroups/{group['metadata']['name']}", "PATCH",
        body=body, header_params={"Content-Type": "application/merge-patch+json", "Accept": "application/json"},
        auth_settings=["BearerToken"], response_type="object", _return_http_data_only=True)


# -- taken away: the controller replaces it


@pytest.mark.parametrize("how", ["delete", "force", "evict", "reject"])
def test_a_pod_that_was_taken_away_is_replaced(jobs, core, namespace, running, programs, how):
    before = uids(running)
    gone = sorted(names(running))[0]
    if how == "delete":
        core.delete_namespaced_pod(gone, namespace)
    elif how == "force":
        core.delete_namespaced_pod(gone, namespace, grace_period_seconds=0)
    elif how == "evict":
        core.create_namespaced_pod_eviction(gone, namespace, {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": gone, "namespace": namespace}})
    else:
        programs.api().patch(f"/api/v1/namespaces/{namespace}/pods/{gone}/status",
                             {"status": {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected"}})
    wait_replaced(jobs, before, gone, 4)
    assert [entry[0::2] for entry in replaced(jobs)] == [("collector", 1)]
    wait_for(lambda: jobs.counts(NAME)["Collector"] == {"active": 2, "succeeded": 0, "failed": 0}, "its counts")
    jobs.wait_event(NAME, "PodsLost")


def test_a_requested_pod_is_replaced_too(jobs, core, namespace, grown):
    before = uids(jobs.pods(NAME))
    core.delete_namespaced_pod(grown[0], namespace)
    wait_replaced(jobs, before, grown[0], 6)
    assert replaced(jobs) == [("collector", 4096, 1)]


def test_a_pod_that_is_lost_while_the_controller_is_away_is_replaced(jobs, core, namespace, running, programs):
    before = uids(running)
    gone = sorted(names(running))[0]
    programs.stop("controller")
    core.delete_namespaced_pod(gone, namespace, grace_period_seconds=0)
    # It stays until a controller has recorded what became of it.
    (pod,) = [pod for pod in jobs.pods(NAME) if pod.metadata.name == gone]
    assert pod.metadata.deletion_timestamp and pod.metadata.finalizers == ["nervex.sensetime.com/job-tracking"]
    programs.start("controller")
    wait_replaced(jobs, before, gone, 4)


def test_the_aggregator_is_healed_alone(jobs, core, namespace, running):
    before = uids(running)
    name = f"{NAME}-aggregator"
    core.delete_namespaced_pod(name, namespace)

    def look():
        now = {pod.metadata.name: (pod.metadata.uid, pod.status.phase) for pod in jobs.pods(NAME)}
        return name in now and now[name][0] != before[name] and now[name][1] == "Running", now
    wait_for(look, "another aggregator")
    now = uids(jobs.pods(NAME))
    assert {key: uid for key, uid in now.items() if key != name} == {
        key: uid for key, uid in before.items() if key != name}
    assert replaced(jobs) == [("aggregator", 0, 1)]
    assert jobs.phase(NAME) == "Running"


# -- ended by itself: counted and kept


def test_a_failed_pod_is_counted_and_kept(jobs, core, namespace, running, node_agent):
    before = uids(running)
    failed = sorted(names(running))[0]
    node_agent.set_phase(failed, "Failed")
    wait_for(lambda: jobs.counts(NAME)["Collector"]["failed"] == 1, "the failure to be counted")
    always(lambda: uids(jobs.pods(NAME)) == before, "the same pods")
    core.delete_namespaced_pod(failed, namespace)
    jobs.wait_pods(NAME, 3)
    always(lambda: len(jobs.pods(NAME)) == 3, "no replacement")
    assert jobs.counts(NAME)["Collector"] == {"active": 1, "succeeded": 0, "failed": 1}
    assert replaced(jobs) == []


# -- what users and nervex-server change


def test_base_replicas_go_up_and_down(jobs, per_pod_services, running):
    first = names(running)
    jobs.patch(NAME, {"spec": {"collector": {"replicas": 4}}})
    four = names(jobs.wait_pods(NAME, 6, "Running"))
    assert first < four
    (group,) = jobs.pod_groups(NAME)
    assert {gang["name"] for gang in group["status"]["gangs"]} == {"base", "base-collector-2"}
    jobs.patch(NAME, {"spec": {"collector": {"replicas": 1}}})
    (one,) = names(jobs.wait_pods(NAME, 3, "Running"))
    assert one in first
    wait_for(lambda: len(jobs.services(NAME)) == 3, "services of pods that are gone to go")
    jobs.patch(NAME, {"spec": {"collector": {"replicas": 2}}})
    again = names(jobs.wait_pods(NAME, 4, "Running"))
    assert again & four == {one}
    jobs.wait_condition(NAME, "Ready")


def test_a_base_replica_that_is_scaled_up_and_down_many_times_comes_back(jobs, running, kubectl, namespace):
    def scale(replicas):
        said = kubectl("scale", "nvxjob", NAME, f"--replicas={replicas}", "-n", namespace)
        assert said.returncode == 0, said.stderr
        pods = jobs.wait_pods(NAME, 2 + replicas, "Running")
        return names(pods)
    (stays,) = scale(1)
    wait_for(lambda: replaced(jobs) == [("collector", 1, 1)], "the next incarnation")
    # As after 216 more turns.
    jobs.patch(f"{NAME}/status", {"status": {"replaced": [{"role": "collector", "ordinal": 1, "incarnation": 217}]}})
    seen = scale(2)
    for number in (218, 219):
        scale(1)
        wait_for(lambda: replaced(jobs) == [("collector", 1, number)], "the next incarnation")
        now = scale(2)
        assert now & seen == {stays}
        seen |= now
    status = jobs.wait_condition(NAME, "Ready") and jobs.get(NAME)["status"]
    assert status["continued"] == [{"role": "collector", "ordinal": 1, "incarnation": 218, "namedAs": 61440}]
    assert status["ready"] == "4/4"
    assert jobs.condition(NAME, "ReplacementLimitExceeded") is None


def test_a_base_replica_that_never_had_a_pod_keeps_its_name(jobs, running):
    def wait_planned(collectors):
        def look():
            planned = [[slot for slot in pod_groups.slots(group) if slot[0] == "collector"]
                       for group in jobs.pod_groups(NAME)]
            return [len(one) for one in planned] == [collectors], planned
        jobs.wait(look, f"one PodGroup with {collectors} collectors")

    def scale(replicas):
        jobs.patch(NAME, {"spec": {"collector": {"replicas": replicas}}})
        wait_planned(replicas)
    jobs.patch(NAME, {"spec": {"suspend": True}})
    jobs.wait_condition(NAME, "Suspended")
    body = jobs.get(NAME)["spec"]["collector"]["template"]
    body["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100000"  # fits nowhere
    jobs.patch(NAME, {"spec": {"collector": {"template": body, "replicas": 1}}})
    jobs.patch(NAME, {"spec": {"suspend": False}})
    wait_planned(1)
    for _ in range(3):
        scale(3)
        scale(1)
    assert replaced(jobs) == []


def test_requests_shrink_and_change_incarnations(jobs, grown):
    requests = jobs.get(NAME)["spec"]["requests"]
    (entry,) = requests["entries"]
    before = uids(jobs.pods(NAME))
    entry["slots"][0]["incarnation"] = 1
    as_server(jobs, requests)
    successor = wait_replaced(jobs, before, grown[0], 6)
    assert replaced(jobs) == []

    entry["slots"].pop()
    as_server(jobs, requests)
    left = uids(jobs.wait_pods(NAME, 5, "Running"))
    assert grown[1] not in left
    requests["entries"] = []
    as_server(jobs, requests)
    left = uids(jobs.wait_pods(NAME, 4, "Running"))
    assert successor not in left
    wait_for(lambda: [gang["name"] for gang in jobs.pod_groups(NAME)[0]["status"]["gangs"]] == ["base"],
             "the gang to leave the plan")
    assert left.items() <= before.items()


def test_a_base_pod_that_a_client_removed_stays_away(jobs, running):
    requests = {"next": {"collector": 4096, "learner": 4096}, "nextId": 1, "entries": [],
                "base": [{"role": "collector", "ordinal": 0, "incarnation": 0, "attempt": 1, "removed": True}]}
    as_server(jobs, requests)
    jobs.wait_pods(NAME, 3, "Running")
    (group,) = jobs.pod_groups(NAME)
    wait_for(lambda: ("collector", 0) not in pod_groups.slots(jobs.pod_groups(NAME)[0]), "its slot to go")


def test_a_multi_gpu_learner_is_replaced_as_a_whole(jobs, core, namespace):
    jobs.create(job(NAME))
    jobs.wait_pods(NAME, 2, "Running")
    as_server(jobs, {"next": {"collector": 4096, "learner": 4098}, "nextId": 2, "base": [], "entries": [
        {"id": 1, "attempt": 1, "role": "learner", "resources": {"gpus": "2"}, "gpuSplit": [1, 1],
         "slots": [{"ordinal": 4096, "incarnation": 0}]}]})
    pods = jobs.wait_pods(NAME, 5, "Running")
    first = {pod.metadata.name for pod in pods if "/40" in pod.metadata.annotations["nervex.sensetime.com/slot"]}
    assert len(first) == 3
    core.delete_namespaced_pod(sorted(names(pods, "ddp-learner"))[0], namespace)

    def look():
        now = {pod.metadata.name: pod.status.phase for pod in jobs.pods(NAME)}
        return len(now) == 5 and not first & now.keys() and set(now.values()) == {"Running"}, now
    wait_for(look, "three other pods")
    assert replaced(jobs) == [("learner", 4096, 1)]
    assert jobs.phase(NAME) == "Running"


# -- edited by hand


def test_an_edited_service_is_restored(jobs, core, namespace, per_pod_services, running):
    name = sorted(names(running))[0]
    core.patch_namespaced_service(name, namespace, {
        "spec": {"selector": {"pod-name": "somebody-else"}, "publishNotReadyAddresses": False}})

    def look():
        found = [one.spec for one in jobs.services(NAME) if one.metadata.name == name]
        return bool(found and found[0].selector == {"pod-name": name} and found[0].publish_not_ready_addresses), found
    wait_for(look, "the service's own selector")
    assert uids(jobs.pods(NAME)) == uids(running)


def test_an_edited_service_of_a_namespace_is_restored(jobs, core, namespace, running):
    core.patch_namespaced_service(namespace, namespace, {
        "spec": {"selector": {"pod-name": "somebody-else"}, "publishNotReadyAddresses": False}})

    def look():
        service = jobs.shared_service()
        spec = service and service.spec
        return bool(spec and not spec.selector and spec.publish_not_ready_addresses), spec
    wait_for(look, "the service without a selector")
    jobs.wait_names(NAME, len(running))
    assert uids(jobs.pods(NAME)) == uids(running)


def test_an_edited_pod_group_is_restored(jobs, running):
    before = uids(running)
    (group,) = jobs.pod_groups(NAME)
    spec = {name: value for name, value in group["spec"].items() if name != "highestPlacement"}
    base, = spec["gangs"]
    mine = {**base["members"][0], "name": "mine", "slots": [{"ordinal": 9, "incarnation": 0}]}
    gangs = [{**base, "members": [*base["members"], mine]},
             {"name": "mine", "kind": "Request", "requestId": 9, "members": [{**mine, "name": "mine-too", "slots": []}]}]
    patch_group(jobs, {"spec": {"priority": 1000, "queuedSince": "2020-01-01T00:00:00.000000Z", "gangs": gangs}})

    def look():
        now = jobs.pod_groups(NAME)[0]
        # Written with the next change of the spec, whichever that is.
        restored = {name: value for name, value in now["spec"].items() if name != "highestPlacement"}
        return restored == spec and now["status"]["observedGeneration"] == now["metadata"]["generation"], now["spec"]
    wait_for(look, "the PodGroup's own spec")
    always(lambda: uids(jobs.pods(NAME)) == before, "the same pods")


def test_an_emptied_plan_is_restored_beside_the_coordinator(jobs, running):
    """In any outcome for the others, no pod keeps running outside the plan."""
    (group,) = jobs.pod_groups(NAME)
    gangs = group["status"]["gangs"]
    gangs[0]["placements"] = [place for place in gangs[0]["placements"] if place["role"] != "collector"]
    path = f"/apis/{GROUP}/{VERSION}/namespaces/{jobs.namespace}/podgroups/{group['metadata']['name']}/status"
    jobs.custom.api_client.call_api(
        path, "PATCH", body={"status": {"gangs": gangs}},
        header_params={"Content-Type": "application/merge-patch+json", "Accept": "application/json"},
        auth_settings=["BearerToken"], response_type="object", _return_http_data_only=True)

    def look():
        now = jobs.pod_groups(NAME)[0]
        numbers = {place["number"] for place in pod_groups.placements(now)}
        pods = jobs.pods(NAME)
        theirs = {int(pod.metadata.annotations["nervex.sensetime.com/placement"]) for pod in pods}
        return len(pods) == 4 and numbers == theirs and all(p.status.phase == "Running" for p in pods), (numbers, theirs)
    wait_for(look, "every pod to have a place of the plan")
    assert jobs.phase(NAME) == "Running"
