"""The corpus of tests/job/corpus against a real API server, in both directions: a job is refused exactly if the
controller's pods for it are, and where both give reasons, the API server names each field that we name."""

import copy
import json
import os
import re

import kubernetes
import pytest
from tools.base.tree import ROOT

pytestmark = pytest.mark.long

CORPUS = os.path.join(ROOT, "tests", "job", "corpus")
LEARNER = "spec/learner/template"
BELOW = {"job": "", "template": LEARNER, "pod": f"{LEARNER}/spec", "container": f"{LEARNER}/spec/containers/0"}


def read(name):
    with open(os.path.join(CORPUS, name), encoding="utf-8") as file:
        return json.load(file)


BASE, WRONG, RIGHT = read("base.json"), read("wrong.json"), read("right.json")


def set_at(body, pointer, value):
    """A JSON pointer; `-` appends, None removes, missing parents are created."""
    *folders, last = [word.replace("~1", "/").replace("~0", "~") for word in pointer.strip("/").split("/")]
    for word in folders:
        body = body[int(word)] if isinstance(body, list) else body.setdefault(word, {})
    if isinstance(body, list):
        body.append(value) if last == "-" else body.__setitem__(int(last), value)
    elif value is None:
        body.pop(last, None)
    else:
        body[last] = value


def job_of(row):
    body = copy.deepcopy(BASE)
    for pointer, value in sorted(row["set"].items()):
        set_at(body, f"{BELOW[row['in']]}/{pointer}", copy.deepcopy(value))
    return body


def is_about_templates(row):
    """False: the rule concerns the job itself, which the API server does not check."""
    return row["in"] != "job" or any("volumes" in pointer for pointer in row["set"])


def fields(call, *arguments, **more):
    """The refused fields, from the causes; only `None` for an unreadable body. Empty: nothing is refused."""
    try:
        call(*arguments, **more)
        return {}
    except kubernetes.client.ApiException as error:
        status = json.loads(error.body)
        causes = (status.get("details") or {}).get("causes")
        if error.status == 400 or not causes:
            return {None: status["message"]}
        return {cause["field"]: cause["message"] for cause in causes}


@pytest.fixture
def cluster_says(core, namespace):
    """(body): what the API server refuses of the learner's template, by its path in the job."""
    def ask(body):
        template = copy.deepcopy(body["spec"]["learner"]["template"])
        if isinstance(template["spec"].get("volumes"), list):
            template["spec"]["volumes"] += copy.deepcopy(body["spec"]["volumes"])
        inert = {"metadata": {"name": "corpus"}, "template": template}
        found = fields(core.create_namespaced_pod_template, namespace, inert, dry_run="All",
                       field_validation="Strict")
        if found:
            return {field and f"spec.learner.{field}": says for field, says in found.items()}
        # What only pods are refused for. Accounts and classes of the cluster are another matter.
        spec = {key: value for key, value in template["spec"].items()
                if key not in ("serviceAccountName", "runtimeClassName")}
        pod = {"metadata": {**template.get("metadata", {}), "name": "corpus"}, "spec": with_main_port(spec)}
        found = fields(core.create_namespaced_pod, namespace, pod, dry_run="All", field_validation="Strict")
        return {field and f"spec.learner.template.{field}": says for field, says in found.items()}
    return ask


def with_main_port(spec):
    """The pod spec with the port that the controller adds to the main container, which is the first one here."""
    first = spec["containers"][0] if isinstance(spec.get("containers"), list) and spec["containers"] else None
    ports = first.setdefault("ports", []) if isinstance(first, dict) else None
    if not isinstance(ports, list):
        return spec
    if not any(isinstance(port, dict) and port.get("name") == "nervex-port" for port in ports):
        ports.append({"name": "nervex-port", "containerPort": 22271, "protocol": "TCP"})
    return spec


# The API server names less than the field there, or the list of the job is a part of the template's to it.
def is_named(field, theirs):
    if field.startswith("spec.volumes["):
        return any(".template.spec.volumes[" in one for one in theirs)
    field = field.replace("template.metadata.", "template.")
    return any(field == one or field.startswith(one) or re.sub(r"(volumeMounts|items)\[\d+\]", r"\1", field) == one
               for one in theirs)


COARSER = {"a spread by a key that it selects by",  # the path is [0][0] there
           # the controller's own port is the second of two there, ours is the user's
           "a port of the host that the controller adds too",
           "a sidecar's port of the host that the controller adds to the main container",
           # and so is that of terms of affinity
           "pods that are chosen twice by a label of theirs",
           "pods that are chosen twice by an expression",
           # what the pod asks for by default is in no field of its own
           "containers that together ask for more than the pod's limit"}


@pytest.mark.parametrize("row", WRONG, ids=[row["when"] for row in WRONG])
def test_a_wrong_job_is_refused_as_its_pods_would_be(jobs, cluster_says, row):
    body = job_of(row)
    ours = fields(jobs.create, body, dry_run=True)
    said = [f"{field}: {message}" for field, message in ours.items()]
    assert None not in ours, ours
    if row.get("by") == "schema" or row["in"] == "job":
        assert set(row["says"]) <= set(said), said
    else:
        assert sorted(row["says"]) == sorted(said)
    if not is_about_templates(row):
        return
    theirs = cluster_says(body)
    assert theirs, "the API server takes the pod"
    if None in theirs or row["when"] in COARSER:
        return
    assert all(is_named(field, theirs) for field in ours), theirs


@pytest.mark.parametrize("row", RIGHT, ids=[row["when"] for row in RIGHT])
def test_a_right_job_passes_as_its_pods_would(jobs, cluster_says, row):
    body = job_of(row)
    assert cluster_says(body) == {}
    assert fields(jobs.create, copy.deepcopy(body), dry_run=True) == {}
    stored = jobs.create(body, dry_run=True)
    assert stored["spec"]["learner"]["template"] == body["spec"]["learner"]["template"], "untouched"
