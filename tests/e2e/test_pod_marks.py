"""Who may write the marks of pods that our programs believe? The policy of manifests/rbac/pod-marks-policy.yaml refuses
changed values to all users but nervex-controller, also to those who may change pods. docs/reference/marks.md lists the marks."""

import json

import kubernetes
import pytest
from support.jobs import job
from support.wait import wait_for

GROUP = "nervex.sensetime.com"
ANNOTATIONS = ("pod-group-uid", "slot", "incarnation", "placement", "queue", "main-container",
               "tolerates-not-ready-seconds", "tolerates-unreachable-seconds")
REMEDY = "--keep-annotations=false"


def refusal(call, *arguments, **options):
    with pytest.raises(kubernetes.client.ApiException) as caught:
        call(*arguments, **options)
    message = json.loads(caught.value.body)["message"]
    assert caught.value.status == 403 and "ValidatingAdmissionPolicy 'nervex-pod-marks'" in message, message
    return message


def pod(name="tried", **meta):
    return {"metadata": {"name": name, **meta},
            "spec": {"schedulerName": "none", "containers": [{"name": "main", "image": "i"}]}}


@pytest.fixture
def running(jobs):
    """The coordinator of a job that runs."""
    jobs.create(job("mine"))
    jobs.wait_phase("mine", "Running")
    return next(one for one in jobs.pods("mine") if one.metadata.name == "mine-coordinator").metadata


@pytest.mark.parametrize("mark", ANNOTATIONS)
def test_a_pod_with_a_mark_is_refused_with_the_remedy(core, namespace, mark):
    marked = pod(annotations={f"{GROUP}/{mark}": "x"})
    assert REMEDY in refusal(core.create_namespaced_pod, namespace, marked, dry_run="All")


def test_a_pod_without_marks_is_free(core, namespace):
    free = pod(annotations={"a": "b"}, labels={"replica-type": "worker", "group-name": "g"})
    core.create_namespaced_pod(namespace, free)
    core.patch_namespaced_pod("tried", namespace, {"metadata": {"labels": {"replica-type": "ps"}}})
    assert REMEDY in refusal(core.patch_namespaced_pod, "tried", namespace,
                             {"metadata": {"annotations": {f"{GROUP}/queue": "vision"}}})


def test_a_pod_that_names_a_job_as_its_controller_is_refused(core, jobs, namespace, running):
    owner = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "NerveXJob", "name": "mine",
             "uid": jobs.get("mine")["metadata"]["uid"], "controller": True}
    assert "owner reference" in refusal(core.create_namespaced_pod, namespace, pod(ownerReferences=[owner]))
    core.create_namespaced_pod(namespace, pod())
    assert "owner reference" in refusal(core.patch_namespaced_pod, "tried", namespace,
                                        {"metadata": {"ownerReferences": [owner]}})


def test_the_marks_of_a_jobs_pod_are_fixed(core, namespace, running):
    for mark in ("pod-group-uid", "slot", "placement"):
        for value in (None, "x"):
            change = {"metadata": {"annotations": {f"{GROUP}/{mark}": value}}}
            assert REMEDY in refusal(core.patch_namespaced_pod, running.name, namespace, change), (mark, value)
    for label in ("group-name", "nervexjob-name", "controller-name", "replica-type"):
        refusal(core.patch_namespaced_pod, running.name, namespace, {"metadata": {"labels": {label: None}}})


def test_a_pod_stays_with_its_job(users, core, namespace, running):
    """It would run on beside its successor. See test_an_orphaned_pod_keeps_its_marks for the garbage collector."""
    change = {"metadata": {"ownerReferences": None}}
    editor = kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config(config_file=users.kubeconfig("edit")))
    assert "--cascade=orphan" in refusal(editor.patch_namespaced_pod, running.name, namespace, change)
    core.patch_namespaced_pod(running.name, namespace, change, dry_run="All")  # who may change PodGroups


def test_other_changes_of_a_jobs_pod_pass(core, namespace, running):
    change = {"metadata": {"annotations": {"seen-by": "a-webhook"}, "labels": {"a": "b"}, "finalizers": None}}
    core.patch_namespaced_pod(running.name, namespace, change, dry_run="All")
    condition = {"type": "example.com/Checked", "status": "True"}
    core.patch_namespaced_pod_status(running.name, namespace, {"status": {"conditions": [condition]}})


def test_kubectl_debug_copies_a_pod_without_its_marks(kubectl, namespace, running):
    copy = ("debug", running.name, f"--namespace={namespace}", "--image=i", "--attach=false")
    said = kubectl(*copy, "--copy-to=kept", "--keep-annotations=true")
    assert said.returncode != 0 and REMEDY in said.stderr, said
    said = kubectl(*copy, "--copy-to=copied", "--keep-annotations=false")
    assert said.returncode == 0, said


def test_an_orphaned_pod_keeps_its_marks(core, jobs, namespace, running):
    jobs.custom.delete_namespaced_custom_object(GROUP, "v1alpha1", namespace, "nervexjobs", "mine",
                                                propagation_policy="Orphan")
    wait_for(lambda: not core.read_namespaced_pod(running.name, namespace).metadata.owner_references,
             "the garbage collector to orphan the pod", 60)
    assert REMEDY in refusal(core.patch_namespaced_pod, running.name, namespace,
                             {"metadata": {"annotations": {f"{GROUP}/pod-group-uid": None}}})
    refusal(core.patch_namespaced_pod, running.name, namespace, {"metadata": {"labels": {"group-name": None}}})
    wait_for(lambda: not core.read_namespaced_pod(running.name, namespace).metadata.finalizers,
             "the controller to take its finalizer off", 60)
    core.delete_namespaced_pod(running.name, namespace)

