"""A tenant with the role `edit` in one namespace forges what the programs read, calls what is not for users, and asks
for what other teams do (docs/reference/marks.md)."""

import json

import kubernetes
import pytest
from support.jobs import GROUP, VERSION, Jobs, job, refusal_of, template
from support.tenant import GPU, LONG, Tenant
from support.wait import always, wait_for

MARKS = ("pod-group-uid", "slot", "incarnation", "placement", "queue", "main-container",
         "tolerates-not-ready-seconds", "tolerates-unreachable-seconds")
SYSTEM = "nervex-system"


@pytest.fixture
def user(users, namespace):
    """The tenant, without a node."""
    return Tenant(users, namespace, "none")


@pytest.fixture
def runs(tenant):
    tenant.run("mine", 1)
    return tenant


# -- calls that are for the programs


def test_a_user_binds_no_pod(tenant, core):
    """Neither by the pod's subresource nor by the old kind Binding."""
    tenant.create_pod("waits", 9)
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "waits"},
               "target": {"apiVersion": "v1", "kind": "Node", "name": tenant.node}}
    assert tenant.call("POST", tenant.pod_path("waits/binding"), binding)[0] == 403
    assert tenant.call("POST", tenant.path("bindings", "", "api/v1"), binding)[0] == 403
    assert core.read_namespaced_pod("waits", tenant.namespace).spec.node_name is None


STATES = {"that it has ended": {"phase": "Succeeded"},
          "that its node is lost": {"conditions": [{"type": "nervex.sensetime.com/NodeLost", "status": "True"}]},
          "where it may be bound": {"nominatedNodeName": "gpu-node-0"}}


@pytest.mark.parametrize("what", STATES)
def test_a_user_does_not_say_of_a_pod(runs, what):
    for pod in runs.jobs.pods("mine"):
        path = runs.pod_path(pod.metadata.name + "/status")
        assert runs.call("PATCH", path, {"status": STATES[what]})[0] == 403
        assert runs.call("PATCH", runs.pod_path(pod.metadata.name), {"status": STATES[what]})[0] == 200
        after = runs.core.read_namespaced_pod(pod.metadata.name, runs.namespace).status
        assert (after.phase, after.nominated_node_name) == (pod.status.phase, pod.status.nominated_node_name)
        assert not [one for one in after.conditions if "NodeLost" in one.type]


def test_a_users_status_of_a_job_is_dropped(runs):
    """In a new object and in an update: the status is a subresource."""
    forged = {"phase": "Running", "attempt": 7, "queuedSince": "2020-01-01T00:00:00Z"}
    runs.jobs.create({**runs.job("forged", 1, suspend=True), "status": forged})
    runs.call("PATCH", runs.path("nervexjobs", "mine"), {"status": {"phase": "Succeeded"}})
    assert runs.call("PATCH", runs.path("nervexjobs", "mine/status"), {"status": {"phase": "Succeeded"}})[0] == 403
    always(lambda: runs.jobs.phase("mine") == "Running", "the job runs", 0.5)
    status = runs.jobs.get("forged").get("status", {})
    assert status.get("attempt") != 7 and not status.get("queuedSince", "").startswith("2020"), status


def test_a_user_resizes_no_pod_of_a_job(runs):
    (pod,) = runs.jobs.pods("mine", "collector")
    change = {"spec": {"containers": [{"name": "nervex-container", "resources": {"requests": {"cpu": "60"}}}]}}
    assert runs.call("PATCH", runs.pod_path(pod.metadata.name + "/resize"), change,
                     "application/strategic-merge-patch+json")[0] == 403
    assert runs.call("PATCH", runs.pod_path(pod.metadata.name), change, "application/strategic-merge-patch+json")[0] == 422


WRITES = [
    ("POST", "/apis/nervex.sensetime.com/v1alpha1/queues", {"kind": "Queue", "metadata": {"name": "mine"}, "spec": {}}),
    ("PATCH", "/apis/nervex.sensetime.com/v1alpha1/queues/{queue}", {"spec": {"limit": None}}),
    ("PATCH", "/apis/nervex.sensetime.com/v1alpha1/queues/{queue}/status", {"status": {"use": {}}}),
    ("DELETE", "/apis/nervex.sensetime.com/v1alpha1/queues/{queue}", None),
    ("PATCH", "/api/v1/namespaces/{ns}", {"metadata": {"labels": {"nervex.sensetime.com/queue": "vision"}}}),
    ("POST", "/apis/nervex.sensetime.com/v1alpha1/namespaces/{ns}/podgroups",
     {"kind": "PodGroup", "metadata": {"name": "mine-2"}, "spec": {}}),
    ("DELETE", "/apis/nervex.sensetime.com/v1alpha1/namespaces/{ns}/podgroups/mine-1", None),
    ("PATCH", "/apis/nervex.sensetime.com/v1alpha1/namespaces/{ns}/podgroups/mine-1/status", {"status": {}}),
    ("PATCH", "/apis/nervex.sensetime.com/v1alpha1/namespaces/{ns}/simulations/s/status", {"status": {}}),
    ("POST", "/apis/nervex.sensetime.com/v1alpha1/namespaces/{ns}/aggregatorconfigs",
     {"kind": "AggregatorConfig", "metadata": {"name": "aggregator-config"}, "spec": {}}),
    ("PATCH", "/apis/nervex.sensetime.com/v1alpha1/namespaces/nervex-system/aggregatorconfigs/aggregator-config",
     {"spec": {"aggregator": None}}),
    ("POST", "/apis/nervex.sensetime.com/v1alpha1/namespaces/default/nervexjobs", job("elsewhere")),
    ("PATCH", "/apis/coordination.k8s.io/v1/namespaces/nervex-system/leases/nervex-nervex-extender",
     {"spec": {"holderIdentity": "me"}}),
    ("DELETE", "/apis/coordination.k8s.io/v1/namespaces/nervex-system/leases/nervex-nervex-controller", None),
    ("POST", "/api/v1/namespaces/nervex-system/serviceaccounts/nervex-controller/token", {"spec": {"audiences": []}}),
    ("GET", "/api/v1/namespaces/nervex-system/secrets/nervex-ca", None),
    ("POST", "/api/v1/namespaces/nervex-system/pods", {"metadata": {"name": "a"}, "spec": {"containers": []}}),
    ("PATCH", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical", {"value": 1}),
    ("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/nervex-pod-marks", None),
    ("DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/nervex-mutating-webhook-configuration",
     None),
    ("PATCH", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/queues.nervex.sensetime.com", {"spec": {}}),
    ("PATCH", "/api/v1/nodes/{node}/status", {"status": {"allocatable": {"nvidia.com/gpu": "99"}}}),
]


def test_a_user_writes_no_object_of_administrators_and_programs(tenant, queues):
    queue = queues.create("mine", limit=[{"resources": {GPU: 1}}])
    wrong = []
    for method, path, body in WRITES:
        status, said = tenant.call(method, path.format(ns=tenant.namespace, queue=queue, node=tenant.node), body)
        if status != 403:
            wrong.append((method, path, status, said))
    assert wrong == []


IMPERSONATED = [{"Impersonate-User": f"system:serviceaccount:{SYSTEM}:nervex-controller"},
                {"Impersonate-User": f"system:serviceaccount:{SYSTEM}:nervex-server"},
                {"Impersonate-User": "system:serviceaccount:{ns}:default", "Impersonate-Group": "system:masters"},
                {"Impersonate-User": "system:serviceaccount:kube-system:generic-garbage-collector"}]


def test_a_user_does_not_act_as_an_account_that_the_policies_trust(runs):
    patch = {"metadata": {"annotations": {"nervex.sensetime.com/queue": "vision"}}}
    for who in IMPERSONATED:
        client = kubernetes.client.ApiClient(runs.client.configuration)
        for name, value in who.items():
            client.set_default_header(name, value.format(ns=runs.namespace))
        core = kubernetes.client.CoreV1Api(client)
        said = refusal_of(core.patch_namespaced_pod, "mine-coordinator", runs.namespace, patch)
        assert "cannot impersonate" in said, (who, said)


def test_a_user_changes_no_requests_by_another_way_to_write(runs, kubectl):
    """Server-side apply by force, the subresource scale, a JSON patch, and a new field manager."""
    entry = {"id": 1, "attempt": 1, "role": "collector", "slots": [{"ordinal": 4096}]}
    forged = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "NerveXJob", "metadata": {"name": "mine"},
              "spec": {"requests": {"nextId": 2, "entries": [entry]}}}
    kubectl("--kubeconfig", runs.kubeconfig, "apply", "--server-side", "--force-conflicts", "--field-manager=nervex-server",
            "-f", "-", body=json.dumps(forged))
    runs.call("PATCH", runs.path("nervexjobs", "mine/scale"), {"spec": {"replicas": 1, "requests": forged["spec"]["requests"]}})
    runs.call("PATCH", runs.path("nervexjobs", "mine"),
              [{"op": "add", "path": "/spec/requests", "value": forged["spec"]["requests"]}], "application/json-patch+json")
    assert not runs.jobs.get("mine")["spec"].get("requests", {}).get("entries")
    runs.check_at_most(1, 0.5)


# -- forged objects


def forged_marks(tenant, **spec):
    """The marks that the pods of a job have as its templates forge them."""
    body = tenant.job("forged", 1, **spec)
    own = {f"{GROUP}/{mark}": "7" for mark in MARKS}
    labels = {"group-name": "other", "nervexjob-name": "other", "replica-type": "coordinator", "controller-name": "me"}
    for role in ("coordinator", "collector"):
        body["spec"][role]["template"]["metadata"] = {"annotations": {**own, "kept": "yes"}, "labels": labels}
    tenant.jobs.create(body)
    pods = tenant.jobs.wait_pods("forged", 2, "Running")  # selected by the label
    assert [one.metadata.labels["replica-type"] for one in pods] == ["collector", "coordinator"]
    assert all(one.metadata.annotations["kept"] == "yes" for one in pods)
    return {mark for one in pods for mark in MARKS if one.metadata.annotations.get(f"{GROUP}/{mark}") == "7"}


@pytest.mark.parametrize("with_queue", [True, False])
def test_marks_in_a_template_are_not_those_of_the_pod(tenant, queues, with_queue):
    """The controller writes no queue for a job of the root."""
    spec = {"queue": queues.create("mine")} if with_queue else {}
    assert not forged_marks(tenant, **spec) - {"main-container"}


def test_the_main_container_in_a_template_is_not_that_of_the_pod(tenant):
    assert "main-container" not in forged_marks(tenant)


def test_owners_and_finalizers_in_a_template_reach_no_pod(tenant, core):
    other = core.create_namespaced_config_map(tenant.namespace, {"metadata": {"name": "other"}}).metadata
    body = tenant.job("forged", 1)
    body["spec"]["collector"]["template"]["metadata"] = {
        "name": "chosen", "namespace": "kube-system", "finalizers": ["example.com/stays"], "generateName": "g-",
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": other.uid}]}
    tenant.jobs.create(body)
    (pod,) = tenant.jobs.wait_pods("forged", 1, role="collector")
    assert [one.kind for one in pod.metadata.owner_references] == ["NerveXJob"]
    assert "example.com/stays" not in (pod.metadata.finalizers or [])
    assert pod.metadata.namespace == tenant.namespace and pod.metadata.name.startswith("forged-collector-")


def disguised(tenant, name, owner=None):
    """A plain pod that looks like a collector of the job `mine`."""
    body = tenant.pod(name, 1, labels={
        "group-name": "nervex.sensetime.com", "nervexjob-name": "mine", "controller-name": "nervex-operator",
        "replica-type": "collector", "pod-name": name, "nervex.sensetime.com/base-replica": "true"})
    if owner:
        body["metadata"]["ownerReferences"] = [owner]
    return tenant.core.create_namespaced_pod(tenant.namespace, body)


@pytest.mark.parametrize("how", ["no owner", "an owner that is not its controller", "an owner of another kind"])
def test_a_pod_in_disguise_is_no_pod_of_the_job(runs, replicas_api, how):
    job_uid = runs.jobs.get("mine")["metadata"]["uid"]
    owners = {"no owner": None,
              "an owner that is not its controller": {"apiVersion": f"{GROUP}/{VERSION}", "kind": "NerveXJob",
                                                      "name": "mine", "uid": job_uid, "controller": False},
              "an owner of another kind": {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": job_uid,
                                           "controller": True}}
    disguised(runs, "mine-collector-zzzzz", owners[how])
    if how != "an owner of another kind":  # the garbage collector ends that one
        runs.wait_bound("mine-collector-zzzzz")
    listed = replicas_api.get(namespace=runs.namespace, coordinator="mine-coordinator").data
    assert "zzzzz" not in str(listed)
    always(lambda: (runs.jobs.counts("mine")["Collector"]["active"] <= 1, runs.jobs.get("mine")["status"]),
           "the pod is not counted", 0.7)
    assert runs.jobs.phase("mine") == "Running"


def test_a_pod_with_the_name_of_a_coordinator_is_not_taken_for_it(tenant):
    tenant.create_pod("mine-coordinator", 0, labels={
        "group-name": "nervex.sensetime.com", "nervexjob-name": "mine", "replica-type": "coordinator"})
    tenant.wait_bound("mine-coordinator")
    tenant.jobs.create(tenant.job("mine", 1))
    wait_for(lambda: "mine-coordinator" in str(tenant.jobs.get("mine").get("status")), "the job to name the pod", LONG)
    assert tenant.jobs.phase("mine") != "Running"
    assert not tenant.core.read_namespaced_pod("mine-coordinator", tenant.namespace).metadata.owner_references
    tenant.core.delete_namespaced_pod("mine-coordinator", tenant.namespace, grace_period_seconds=0)
    tenant.jobs.wait_phase("mine", "Running", LONG)


def test_a_service_that_claims_to_be_ours_gets_no_pod_of_a_job(runs):
    """With the labels of ours and addresses outside of the cluster; the controller neither fills nor deletes it."""
    labels = {"group-name": "nervex.sensetime.com", "controller-name": "nervex-operator", "nervexjob-name": "mine"}
    runs.core.create_namespaced_service(runs.namespace, {
        "metadata": {"name": "mine-coordinator", "labels": labels},
        "spec": {"externalName": "example.com", "type": "ExternalName"}})
    runs.jobs.patch("mine", {"spec": {"suspend": True}})
    wait_for(lambda: not runs.jobs.pods("mine"), "the pods to go", LONG)
    runs.jobs.wait_condition("mine", "Suspended")
    runs.jobs.patch("mine", {"spec": {"suspend": False}})
    runs.jobs.wait_phase("mine", "Running", LONG)
    assert runs.core.read_namespaced_service("mine-coordinator", runs.namespace).spec.type == "ExternalName"


def test_a_replica_set_takes_no_pod_of_a_job(runs):
    """It adopts pods that its selector matches and that no other controller owns."""
    labels = {"nervexjob-name": "mine"}
    runs.apps.create_namespaced_replica_set(runs.namespace, {
        "metadata": {"name": "thief"}, "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": template()["spec"]}}})
    wait_for(lambda: runs.apps.read_namespaced_replica_set("thief", runs.namespace).status.observed_generation,
             "the ReplicaSet to be seen", LONG)
    always(lambda: (len(pods := runs.jobs.pods("mine")) == 2 and all(
        one.metadata.owner_references[0].kind == "NerveXJob" for one in pods), pods), "the pods stay the job's", 0.7)


# -- what others do


@pytest.fixture
def secret(fresh_namespace, core, custom, tenant):
    """A job of another team that fills the tenant's node; the name of its namespace."""
    with fresh_namespace() as name:
        theirs = Jobs(core, custom, name)
        theirs.create(tenant.job("topsecret", 8))
        theirs.wait_phase("topsecret", "Running", LONG)
        yield name


def check_no_word_of(secret, *texts):
    for text in texts:
        assert secret not in str(text) and "topsecret" not in str(text), text


def test_why_a_job_waits_names_nobody_else(tenant, secret, nervexctl):
    tenant.jobs.create(tenant.job("waits", 8))
    tenant.wait_reason("waits", "Unschedulable")
    tenant.create_pod("plain", 8)
    tenant.wait_pod_says("plain", "does not fit")
    said = [nervexctl(*words, "--kubeconfig", tenant.kubeconfig)
            for words in (("explain", "waits"), ("explain", "waits", "-o", "json"), ("list",), ("list", "-o", "yaml"))]
    assert all(one.returncode == 0 for one in said), said
    check_no_word_of(secret, *(one.stdout + one.stderr for one in said), tenant.jobs.get("waits"),
                     tenant.jobs.pod_groups("waits"),
                     tenant.core.list_namespaced_event(tenant.namespace).items,
                     tenant.core.list_namespaced_pod(tenant.namespace).items)


def test_the_command_line_shows_a_tenant_nothing_of_others(tenant, secret, nervexctl):
    for words in (("list", "-A"), ("top",), ("queue", "-A")):
        said = nervexctl(*words, "--kubeconfig", tenant.kubeconfig)
        assert said.returncode == 0 or "forbidden" in said.stderr or "cannot" in said.stderr, said
        check_no_word_of(secret, said.stdout)
    for command in ("explain", "logs"):
        said = nervexctl(command, "topsecret", "-n", secret, "--kubeconfig", tenant.kubeconfig)
        assert said.returncode != 0 and ("forbidden" in said.stderr or "cannot" in said.stderr), said
        assert "Running" not in said.stdout


def simulate(tenant, name="asks", **spec):
    tenant.custom.create_namespaced_custom_object(GROUP, VERSION, tenant.namespace, "simulations", {
        "apiVersion": f"{GROUP}/{VERSION}", "kind": "Simulation", "metadata": {"name": name}, "spec": spec})

    def look():
        found = tenant.custom.get_namespaced_custom_object(GROUP, VERSION, tenant.namespace, "simulations", name)
        return "completionTime" in found.get("status", {}), found
    return wait_for(lambda: look()[1] if look()[0] else False, "the Simulation to be answered", LONG)


def test_a_simulation_names_nobody_else(tenant, secret):
    answer = simulate(tenant, job=tenant.job("asked", 8)["spec"])
    assert answer["status"]["verdict"] == "Waits", answer
    check_no_word_of(secret, answer)


def test_a_simulation_asks_for_no_job_of_others(tenant, secret):
    for number, name in enumerate(("topsecret", f"{secret}/topsecret", f"../{secret}/topsecret")):
        answer = simulate(tenant, f"asks-{number}", grow={"job": name, "replicas": 1})
        assert answer["status"]["verdict"] == "Invalid", answer
        assert "neither waits nor runs" in answer["status"]["message"]


def test_a_simulation_in_a_queue_of_others_says_no_more_than_admission(tenant, queues):
    queue = queues.create("theirs", namespaceSelector={"matchLabels": {"no": "namespace"}}, limit=[{"resources": {GPU: 3}}])
    answer = simulate(tenant, job=tenant.job("asked", 8, queue=queue)["spec"])["status"]
    assert answer["verdict"] in ("Waits", "Never", "Invalid") and "limit" not in answer["message"], answer


def test_a_message_of_a_container_does_not_reach_a_terminal(tenant, node_agent, nervexctl):
    """Container and event write what they like; an administrator looks at it."""
    tenant.run("mine", 1)
    evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e\r\nReady"
    tenant.core.create_namespaced_event(tenant.namespace, {
        "metadata": {"name": "forged"}, "reason": evil[:80], "message": evil, "type": "Warning",
        "involvedObject": {"kind": "NerveXJob", "name": "mine", "namespace": tenant.namespace,
                           "uid": tenant.jobs.get("mine")["metadata"]["uid"]}})
    node_agent.finish("mine-coordinator", 1, evil)
    tenant.jobs.wait_phase("mine", "Failed", LONG)
    for words in (("explain", "mine"), ("list",), ("list", "-o", "wide"), ("top",), ("explain", "mine", "-o", "yaml")):
        said = nervexctl(*words, *(("-n", tenant.namespace) if words[0] != "top" else ("-A",)))
        raw = [c for c in said.stdout + said.stderr if ord(c) in (0x1b, 0x07, 0x9b, 0x202e, 0x0d)]
        assert not raw, (words, said.stdout)


def test_a_flood_of_events_does_not_hide_why_a_job_waits(tenant, nervexctl):
    tenant.jobs.create(tenant.job("waits", 9))
    tenant.wait_reason("waits", "Unschedulable")
    uid = tenant.jobs.get("waits")["metadata"]["uid"]
    for i in range(150):
        tenant.core.create_namespaced_event(tenant.namespace, {
            "metadata": {"name": f"noise-{i}"}, "reason": "Noise", "message": "x" * 1000, "type": "Warning",
            "lastTimestamp": "2035-01-01T00:00:00Z", "source": {"component": "nervex-controller"},
            "involvedObject": {"kind": "NerveXJob", "name": "waits", "namespace": tenant.namespace, "uid": uid}})
    said = nervexctl("explain", "waits", "-n", tenant.namespace)
    assert said.returncode in (0, 1) and "do not fit" in said.stdout or "does not fit" in said.stdout, said
    assert len(said.stdout) < 100_000
