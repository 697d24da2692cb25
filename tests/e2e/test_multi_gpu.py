"""Multi-GPU learners: rows S13 to S17 (contract, section 6) on nodes with 8, 8, 0 and 4 GPUs."""

import contextlib

import pytest
from support import nodes as own_nodes
from support.jobs import GROUP, VERSION, job, template
from support.replicas_api import ReplicasApi, pod_of
from support.wait import wait_for
from tools.cluster.nodes import simulated_node

NAME = "row"
COORDINATOR = f"{NAME}-coordinator"
FAILED = ReplicasApi.PATH + "/failed"
PORT = 80  # of the templates
SMALL = "gpu-node-small"

# (learners, gpus) -> aggregators, learners, ddp pods, gpu ports
S13 = {(1, 1): (0, 1, 0, 0), (1, 2): (1, 0, 1, 2), (1, 10): (1, 0, 2, 10), (2, 2): (2, 0, 2, 4)}
ASKS = pytest.mark.parametrize("learners, gpus", S13)
SPLITS = {1: None, 2: [2], 10: [8, 2]}


@pytest.fixture(scope="module", autouse=True)
def nodes(target):
    """8, 8, 0 and 4 GPUs: further nodes with 8 are cordoned meanwhile."""
    if not target.cluster:
        pytest.skip("the nodes of this cluster are its owner's")
    api = target.cluster.api()
    spare = [one["metadata"]["name"] for one in api.get("/api/v1/nodes")["items"]
             if one["status"]["allocatable"].get("nvidia.com/gpu") == "8"][2:]

    def cordon(yes):
        for name in spare:
            api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": yes}})
    cordon(True)
    api.post("/api/v1/nodes", simulated_node(SMALL, 4))  # last: a program that knows it knows the others
    try:
        wait_for(lambda: is_known_as(target.cluster, 3 + len(spare)), "nervex-server to know the nodes")
        yield
    finally:
        own_nodes.remove(api, SMALL)
        cordon(False)


def is_known_as(cluster, gpu_nodes):
    return cluster.metrics("server").get('nervex_cache_objects{kind="nodes"}') == gpu_nodes


@pytest.fixture
def running(jobs, namespace):
    """A job whose coordinator runs; returns its namespace."""
    jobs.create(job(NAME))
    jobs.wait_phase(NAME, "Running")
    return namespace


def ask(api, namespace, learners, gpus):
    reply = api.add(namespace, COORDINATOR, learners={"replicas": learners, "gpus": gpus})
    assert reply.status == 200, reply
    assert reply.json["success"], reply
    return reply.data["learners"]


def listed(api, namespace):
    return api.get(namespace=namespace, coordinator=COORDINATOR).data["learners"]


def ports_of(api, namespace, aggregator):
    """The addresses of an aggregator's GPUs."""
    reply = api.get(namespace=namespace, aggregator=aggregator)
    assert reply.status == 200, reply
    return reply.data["learners"]


def own_aggregators(jobs):
    """The aggregators of learners; the job itself has one, too."""
    return [pod for pod in jobs.pods(NAME, "aggregator") if pod.metadata.name != f"{NAME}-aggregator"]


def counts(jobs, api, namespace):
    aggregators = [pod.metadata.name for pod in own_aggregators(jobs)]
    replies = [api.get(namespace=namespace, aggregator=name) for name in aggregators]
    # 404 of one that has gone meanwhile, or that the server has not heard of yet
    assert {reply.status for reply in replies} <= {200, 404}, replies
    ports = sum(len(reply.data["learners"]) for reply in replies if reply.status == 200)
    return len(aggregators), len(jobs.pods(NAME, "learner")), len(jobs.pods(NAME, "ddp-learner")), ports


def wait_counts(jobs, api, namespace, want):
    def look():
        pods = jobs.pods(NAME)
        seen = counts(jobs, api, namespace)
        calm = all(pod.status.phase == "Running" and not pod.metadata.deletion_timestamp for pod in pods)
        return seen == want and calm, (seen, [(pod.metadata.name, pod.status.phase) for pod in pods])
    wait_for(look, f"(aggregators, learners, ddp pods, gpu ports) to be {want}")


# -- S13: what is asked for


@ASKS
def test_s13_the_answer_names_each_learner_once(jobs, running, replicas_api, learners, gpus):
    urls = ask(replicas_api, running, learners, gpus)
    role = "learner" if gpus == 1 else "aggregator"
    assert len(set(urls)) == learners
    for url in urls:
        assert url.startswith(f"{NAME}-{role}-") and url.endswith(f".{running}:{PORT}")
    (entry,) = jobs.get(NAME)["spec"]["requests"]["entries"]
    assert (entry.get("gpuSplit") or None) == SPLITS[gpus]
    assert len(entry["slots"]) == learners


@ASKS
def test_s13_pods_and_ports_are_as_many_as_asked_for(jobs, running, replicas_api, learners, gpus):
    ask(replicas_api, running, learners, gpus)
    wait_counts(jobs, replicas_api, running, S13[learners, gpus])


def test_s13_the_templates_gpus_do_not_matter(jobs, namespace, replicas_api):
    jobs.create(job(NAME, learner={"template": template(gpus=4)}))
    jobs.wait_phase(NAME, "Running")
    urls = ask(replicas_api, namespace, 1, 1)
    assert urls[0].startswith(f"{NAME}-learner-")
    assert not jobs.get(NAME)["spec"]["requests"]["entries"][0].get("gpuSplit")


def test_s13_each_pod_has_its_share_its_ranks_and_its_ports(jobs, services_mode, running, replicas_api, node_agent):
    (url,) = ask(replicas_api, running, 1, 10)
    wait_counts(jobs, replicas_api, running, S13[1, 10])
    pods = sorted(jobs.pods(NAME, "ddp-learner"), key=lambda pod: -gpus_of(pod))
    first, second = [pod.metadata.name for pod in pods]
    assert [gpus_of(pod) for pod in pods] == [8, 2]
    master = f"{first}.{running}" if services_mode == "shared" else first
    ranks = ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "START_RANK", "MASTER_ADDR", "MASTER_PORT")
    assert environment(node_agent, first, ranks) == ["10", "8", "0", "localhost", "10314"]
    assert environment(node_agent, second, ranks) == ["10", "2", "8", master, "10314"]
    for name, gpu_ranks in ((first, range(1, 8)), (second, range(8, 10))):
        assert environment(node_agent, name, ["KUBERNETES_AGGREGATOR_URL", "LEARNER_PORT"]) == [url, str(PORT)]
        wanted = {"nervex-port": PORT, "master-port": 10314, **{f"gpu-port-{rank}": PORT + rank for rank in gpu_ranks}}
        (pod,) = [one for one in pods if one.metadata.name == name]
        assert {port.name: port.container_port for port in pod.spec.containers[0].ports} == wanted
        for service in [one for one in jobs.services(NAME) if one.metadata.name == name]:
            assert {port.name: port.port for port in service.spec.ports} == wanted
    jobs.wait_names(NAME, 5)


def gpus_of(pod):
    return int(pod.spec.containers[0].resources.limits["nvidia.com/gpu"])


def environment(node_agent, pod, names):
    values = node_agent.environment(pod)
    return [values[name] for name in names]


# -- S14, S15: what clients and aggregators are told


@ASKS
def test_s14_a_coordinator_gets_the_addresses_of_learners_alone(jobs, running, replicas_api, learners, gpus):
    urls = ask(replicas_api, running, learners, gpus)
    wait_for(lambda: sorted(listed(replicas_api, running)) == sorted(urls), "the learners to be listed")
    for url in urls:
        assert replicas_api.get(namespace=running, name=pod_of(url)).data["learners"] == [url]


def test_s15_an_aggregator_gets_an_address_for_each_gpu(jobs, running, replicas_api):
    (url,) = ask(replicas_api, running, 1, 10)
    wait_counts(jobs, replicas_api, running, S13[1, 10])
    first, second = [pod.metadata.name for pod in sorted(jobs.pods(NAME, "ddp-learner"), key=lambda pod: -gpus_of(pod))]
    assert ports_of(replicas_api, running, pod_of(url)) == (
        [f"{first}.{running}:{PORT + rank}" for rank in range(8)] +
        [f"{second}.{running}:{PORT + rank}" for rank in range(8, 10)])
    assert len(replicas_api.get(namespace=running, name=second).data["learners"]) == 2


def test_s15_the_jobs_own_aggregator_has_no_learners(running, replicas_api):
    assert ports_of(replicas_api, running, f"{NAME}-aggregator") == []


# -- S16, S17: a learner is one thing


@pytest.mark.parametrize("role", ["aggregator", "ddp-learner"])
def test_s16_replacing_any_pod_replaces_the_learner_and_keeps_the_ports(jobs, running, replicas_api, role):
    (url,) = ask(replicas_api, running, 1, 10)
    wait_counts(jobs, replicas_api, running, S13[1, 10])
    before = {pod.metadata.name for pod in jobs.pods(NAME, "ddp-learner") + own_aggregators(jobs)}
    failed = pod_of(url) if role == "aggregator" else jobs.pods(NAME, role)[0].metadata.name
    reply = replicas_api.call("POST", FAILED, {"namespace": running, "coordinator": COORDINATOR, "learners": [failed]})
    assert reply.status == 200, reply
    (replacement,) = reply.data["learners"]
    assert replacement != url

    def replaced():
        now = {pod.metadata.name for pod in jobs.pods(NAME, "ddp-learner") + own_aggregators(jobs)}
        return not now & before, now
    wait_for(replaced, "every pod of the learner to be another one")
    wait_counts(jobs, replicas_api, running, S13[1, 10])
    assert listed(replicas_api, running) == [replacement]


def test_s17_deleting_a_learner_leaves_none_of_its_pods(jobs, per_pod_services, running, replicas_api):
    (url,) = ask(replicas_api, running, 1, 10)
    wait_counts(jobs, replicas_api, running, S13[1, 10])
    reply = replicas_api.call("DELETE", body={"namespace": running, "coordinator": COORDINATOR,
                                              "learners": {"replicas": 1}})
    assert reply.status == 200, reply
    assert reply.data["learners"] == [url]
    wait_counts(jobs, replicas_api, running, (0, 0, 0, 0))

    def alone():
        names = {service.metadata.name for service in jobs.services(NAME)}
        return names == {COORDINATOR, f"{NAME}-aggregator"}, names
    wait_for(alone, "the learner's services to be gone")


# -- what is needed for it


@contextlib.contextmanager
def without_aggregator_config(custom):
    place = (GROUP, VERSION, "nervex-system", "aggregatorconfigs")
    config = custom.get_namespaced_custom_object(*place, "aggregator-config")
    custom.delete_namespaced_custom_object(*place, "aggregator-config")

    def create():
        config["metadata"] = {"name": "aggregator-config", "namespace": "nervex-system"}
        custom.create_namespaced_custom_object(*place, config)
        config.clear()
    try:
        yield create
    finally:
        if config:
            create()


def test_without_an_aggregator_config_the_client_is_told_to_retry(custom, jobs, running, replicas_api):
    body = {"namespace": running, "coordinator": COORDINATOR, "learners": {"replicas": 1, "gpus": 2}}

    def answer():
        reply = replicas_api.call("POST", body=body)
        assert reply.status == 200, reply
        return reply.json
    with without_aggregator_config(custom) as create:
        refused = wait_for(lambda: not (one := answer())["success"] and one, "nervex-server to miss it")
        assert "AggregatorConfig" in refused["message"]
        create()
        wait_for(lambda: answer()["success"], "nervex-server to see it")


def test_a_learner_beyond_any_bound_is_refused(running, replicas_api):
    for gpus in (1025, 1_000_000):
        reply = replicas_api.add(running, COORDINATOR, learners={"replicas": 1, "gpus": gpus})
        assert reply.status == 400
        assert "at most 1024" in reply.json["message"]
    reply = replicas_api.add(running, COORDINATOR, learners={"replicas": 1000, "gpus": 1024})
    assert reply.status == 409
    assert "5000" in reply.json["message"]
