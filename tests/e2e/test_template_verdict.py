"""The API server's own verdict about pod templates shows when the job is created: our verdict equals that on the
pod, for any version of the cluster."""

import copy
import json

import kubernetes
import pytest
from support.jobs import job

LEARNER = "spec.learner.template.spec"


def set_at(place, path, value):
    *folders, last = [int(word) if word.isdigit() else word for word in path.split("/")]
    for word in folders:
        place = place[word]
    place[last] = value


# what is wrong: (path in the learner's pod spec, value, field that must be named)
WRONG = {
    "a mount of an unknown volume":
        ("containers/0/volumeMounts", [{"name": "dat", "mountPath": "/d"}], "containers[0].volumeMounts[0].name"),
    "a port beyond the range": ("containers/0/ports/0/containerPort", 70000, "containers[0].ports[0].containerPort"),
    "a port name that is too long":
        ("containers/0/ports/0/name", "a-name-of-16-bytes", "containers[0].ports[0].name"),
    "a port name twice":
        ("containers/0/ports", [{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}],
         "containers[0].ports[1].name"),
    "a probe without a handler": ("containers/0/livenessProbe", {"periodSeconds": 5}, "containers[0].livenessProbe"),
    "a probe with two handlers":
        ("containers/0/livenessProbe", {"exec": {"command": ["true"]}, "tcpSocket": {"port": 80}},
         "containers[0].livenessProbe.tcpSocket"),
    "a variable with two sources":
        ("containers/0/env", [{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
         "containers[0].env[0].valueFrom"),
    "a variable without a name": ("containers/0/env", [{"name": "", "value": "1"}], "containers[0].env[0].name"),
    "a volume without a source that is needed":
        ("volumes", [{"name": "v", "hostPath": {"path": ""}}], "volumes[0].hostPath.path"),
    "a volume with two sources":
        ("volumes", [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}], "volumes[0].hostPath"),
    "an unknown toleration operator":
        ("tolerations", [{"key": "a", "operator": "Exist"}], "tolerations[0].operator"),
    "a node selector that is no label": ("nodeSelector", {"a b": "c"}, "nodeSelector"),
    "an affinity without terms":
        ("affinity", {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
         "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"),
    "a spread without a key":
        ("topologySpreadConstraints", [{"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "DoNotSchedule"}],
         "topologySpreadConstraints[0].topologyKey"),
    "a security context that contradicts itself":
        ("containers/0/securityContext", {"privileged": True, "allowPrivilegeEscalation": False},
         "containers[0].securityContext"),
    "DNS settings that need more": ("dnsPolicy", "None", "dnsConfig"),
    "huge pages that are not whole":
        ("containers/0/resources", {"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}},
         "containers[0].resources"),
    "a deadline of no time": ("activeDeadlineSeconds", 0, "activeDeadlineSeconds"),
    "a hostname with dots": ("hostname", "a.b", "hostname"),
    "an init container without an image": ("initContainers", [{"name": "i"}], "initContainers[0].image"),
}
RIGHT = {
    "nothing special": ("terminationGracePeriodSeconds", 5),
    "a variable twice": ("containers/0/env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
    "a variable that the controller sets": ("containers/0/env", [{"name": "KUBERNETES_POD_NAME", "value": "x"}]),
    "another scheduler": ("schedulerName", "default-scheduler"),
    "a node": ("nodeName", "gpu-node-0"),
    "a sidecar": ("initContainers", [{"name": "s", "image": "i", "restartPolicy": "Always"}]),
    "a mount of a volume of the job": ("containers/0/volumeMounts", [{"name": "shared", "mountPath": "/d"}]),
}


def job_with(path, value):
    body = job("verdict", suspend=True, volumes=[{"name": "shared", "emptyDir": {}}])
    set_at(body["spec"]["learner"]["template"]["spec"], path, value)
    return body


def refused(call, *arguments, **more):
    """The causes; None if it is not refused."""
    try:
        call(*arguments, **more)
        return None
    except kubernetes.client.ApiException as error:
        status = json.loads(error.body)
        assert error.status == 422, status
        return status["details"]["causes"]


def pod_of(body):
    spec = copy.deepcopy(body["spec"]["learner"]["template"]["spec"])
    spec.setdefault("volumes", []).extend(body["spec"]["volumes"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "verdict"}, "spec": spec}


@pytest.mark.parametrize("what", WRONG)
def test_a_job_is_refused_for_what_its_pods_would_be(jobs, core, namespace, what):
    path, value, field = WRONG[what]
    body = job_with(path, value)
    assert refused(core.create_namespaced_pod, namespace, pod_of(body), dry_run="All"), "the API server takes the pod"
    causes = refused(jobs.create, body, dry_run=True)
    assert causes, "the job is accepted"
    assert any(one["field"].startswith(f"{LEARNER}.{field}") for one in causes), causes
    assert all(one["field"].startswith(LEARNER) for one in causes), causes


@pytest.mark.parametrize("what", RIGHT)
def test_a_job_is_accepted_whose_pods_would_be(jobs, core, namespace, what):
    body = job_with(*RIGHT[what])
    assert refused(core.create_namespaced_pod, namespace, pod_of(body), dry_run="All") is None
    assert refused(jobs.create, body, dry_run=True) is None


def test_a_wrong_volume_of_the_job_is_reported_with_its_field(jobs):
    body = job("verdict", suspend=True, volumes=[{"name": "a", "emptyDir": {}},
                                                 {"name": "b", "hostPath": {"path": "/x", "type": "Folder"}}])
    body["spec"]["learner"]["template"]["spec"]["volumes"] = [{"name": "own", "emptyDir": {}}]
    causes = refused(jobs.create, body, dry_run=True)
    assert {one["field"] for one in causes} == {"spec.volumes[1].hostPath.type"}, causes


def test_all_errors_are_reported_together_ours_first(jobs):
    body = job_with("containers/0/ports/0/containerPort", 70000)
    body["spec"]["cleanPodPolicy"] = "hello"
    body["spec"]["collector"]["template"]["spec"]["containers"][0]["image"] = ""
    fields = [one["field"] for one in refused(jobs.create, body, dry_run=True)]
    assert fields == ["spec.cleanPodPolicy", "spec.collector.template.spec.containers[0].image",
                      f"{LEARNER}.containers[0].ports[0].containerPort"]


def test_a_change_of_a_template_is_checked_too(jobs):
    jobs.create(job("verdict", suspend=True))
    causes = refused(jobs.patch, "verdict", {"spec": {"learner": {"template": {
        "spec": {"activeDeadlineSeconds": 0}}}}})
    assert [one["field"] for one in causes] == [f"{LEARNER}.activeDeadlineSeconds"]


def test_a_dry_run_leaves_no_object(jobs, core):
    jobs.create(job("verdict", suspend=True))
    assert core.list_namespaced_pod_template("nervex-system").items == []
