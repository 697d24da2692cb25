"""`nervex-webhook --host-access=refuse` refuses what level `baseline` of Kubernetes' own Pod Security admission refuses,
and volumes that the node mounts for the author. The table is tests/job/host_access.json."""

import json

import kubernetes
import pytest
from tools.base.tree import ROOT
from support.jobs import job

with open(f"{ROOT}/tests/job/host_access.json", encoding="utf-8") as table:
    ROWS = json.load(table)
CONTAINER_LISTS = ("containers", "initContainers")


@pytest.fixture(scope="module")
def refusing(target):
    if not target.cluster:
        pytest.skip("our programs are not local processes on this cluster")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NERVEX_WEBHOOK_ARGS", "--host-access=refuse")
        target.cluster.restart("webhook")
    yield
    target.cluster.restart("webhook")


@pytest.fixture
def baseline(core, namespace):
    """The test's namespace, which only admits pods of level `baseline`."""
    core.patch_namespace(namespace, {"metadata": {"labels": {
        "pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.36"}}})
    return namespace


def template_of(row, where):
    spec = json.loads(json.dumps(row.get("spec", {})))
    main = {"name": "main", "image": "i"}
    it = {"name": "it" if where == "initContainers" else "main", "image": "i", **row.get("container", {})}
    if where == "initContainers" and {"lifecycle", "livenessProbe"} & it.keys():
        it["restartPolicy"] = "Always"  # else it may have none of these
    if row.get("spec", {}).get("securityContext", {}).get("windowsOptions"):
        main["securityContext"] = {"windowsOptions": {"hostProcess": True}}
    if it.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess"):
        main["securityContext"] = it["securityContext"]  # all of a pod's containers or none
    spec.update({"containers": [main], "initContainers": [it]} if where == "initContainers" else {"containers": [it]})
    return {"metadata": row.get("metadata", {}), "spec": spec}


def causes_of(call, *arguments):
    """The fields that the API server's refusal names; [] if the call is not refused."""
    try:
        call(*arguments, dry_run=True)
        return []
    except kubernetes.client.ApiException as error:
        return sorted(cause["field"] for cause in json.loads(error.body)["details"]["causes"])


def refused_by_pod_security(core, namespace, body):
    pod = {"metadata": {"name": "a", **body["metadata"]}, "spec": body["spec"]}
    try:
        core.create_namespaced_pod(namespace, pod, dry_run="All")
        return False
    except kubernetes.client.ApiException as error:
        says = json.loads(error.body)["message"]
        assert 'violates PodSecurity "baseline:v1.36"' in says, says
        return True


@pytest.mark.parametrize("where", CONTAINER_LISTS)
def test_what_reaches_into_nodes_is_what_pod_security_calls_so(refusing, baseline, core, jobs, where):
    wrong = []
    for row in ROWS:
        if row.get("invalid"):  # Kubernetes refuses it anywhere
            continue
        body = template_of(row, where)
        expected = row["refused"] and not row.get("beyond_baseline")
        if refused_by_pod_security(core, baseline, body) != bool(expected):
            wrong.append(("Pod Security", row["control"], row["when"]))
        seen = causes_of(jobs.create, job("a", coordinator={"template": body}))
        place = "spec.coordinator.template."
        wanted = {place + field.replace("CONTAINER", f"spec.{where}[0]") for field in row["refused"]}
        # a second container that repeats the row's, see above
        if not wanted <= set(seen) or (not wanted and seen):
            wrong.append(("the webhook", row["control"], row["when"], seen))
    assert wrong == []
