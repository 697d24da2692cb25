"""What `kubectl create` says about a job: defaults, and refusals that name the field."""

import copy
import json

import kubernetes
import pytest
from support.jobs import job, load_job, template


def refusal(call, *arguments):
    """What the API server says; the call must be refused."""
    with pytest.raises(kubernetes.client.ApiException) as caught:
        call(*arguments)
    status = json.loads(caught.value.body)
    assert caught.value.status in (400, 403, 422), status
    return status["message"]


def with_policy(policy):
    return job("policy", cleanPodPolicy=policy)


# -- W1 to W6: the clean-up policy


@pytest.mark.parametrize("policy, stored", [("Running", "Running"), ("All", "All"), ("None", "None"), ("ALL", "All")])
def test_w1_a_known_policy_is_stored(jobs, policy, stored):
    assert jobs.create(with_policy(policy))["spec"]["cleanPodPolicy"] == stored


@pytest.mark.parametrize("spec", [{"cleanPodPolicy": ""}, {}], ids=["empty", "absent"])
def test_w2_no_policy_becomes_running(jobs, spec):
    assert jobs.create(job("policy", **spec))["spec"]["cleanPodPolicy"] == "Running"


def test_w3_an_unknown_policy_is_refused(jobs):
    says = refusal(jobs.create, with_policy("hello"))
    assert "spec.cleanPodPolicy" in says
    assert "Invalid CleanPodPolicy" in says
    for allowed in ("Running", "All", "None"):
        assert allowed in says


@pytest.mark.parametrize("policy", ["All", "None", "Running"])
def test_w4_a_known_policy_is_stored_on_update(jobs, policy):
    jobs.create(with_policy("Running"))
    assert jobs.patch("policy", {"spec": {"cleanPodPolicy": policy}})["spec"]["cleanPodPolicy"] == policy


def test_w5_an_emptied_policy_becomes_running_on_update(jobs):
    jobs.create(with_policy("All"))
    assert jobs.patch("policy", {"spec": {"cleanPodPolicy": ""}})["spec"]["cleanPodPolicy"] == "Running"


def test_w6_an_unknown_policy_is_refused_on_update(jobs):
    jobs.create(with_policy("All"))
    assert "Invalid CleanPodPolicy" in refusal(jobs.patch, "policy", {"spec": {"cleanPodPolicy": "hello"}})
    assert jobs.get("policy")["spec"]["cleanPodPolicy"] == "All"


# -- wrong jobs


def change(path, value):
    """Sets, or with None removes, what is at `path` of a job ("spec.coordinator.template")."""
    def apply(body):
        *folders, last = [int(word) if word.isdigit() else word for word in path.split("/")]
        place = body
        for word in folders:
            place = place[word]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return apply


COORDINATOR = "spec/coordinator/template/spec"
MAIN = COORDINATOR + "/containers/0"
WRONG = {
    # what is wrong: (how, the field that must be named, words that must be said)
    "C5: a thousandth of a GPU":
        (change(MAIN + "/resources/limits", {"nvidia.com/gpu": "1m"}),
         "spec.coordinator.template.spec.containers[0].resources.limits[nvidia.com/gpu]", "integer"),
    "more requested than the limit":
        (change(MAIN + "/resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
         "spec.coordinator.template.spec.containers[0].resources.requests[cpu]", "limit"),
    "no quantity":
        (change(MAIN + "/resources/requests/memory", "much"),
         "spec.coordinator.template.spec.containers[0].resources.requests[memory]", "much"),
    "no image":
        (change(MAIN + "/image", None), "spec.coordinator.template.spec.containers[0].image", "Required"),
    "no containers":
        (change(COORDINATOR + "/containers", []), "spec.coordinator.template.spec.containers", "Required"),
    "a misspelt field":
        (change(MAIN + "/comand", ["true"]), "spec.coordinator.template.spec.containers[0].comand", "did you mean `command`"),
    "a wrong type":
        (change(MAIN + "/command", "python3"), "spec.coordinator.template.spec.containers[0].command", "must be a list"),
    "two containers of one name":
        (change(COORDINATOR + "/containers", 2 * template()["spec"]["containers"]),
         "spec.coordinator.template.spec.containers[1].name", "Duplicate"),
    "no coordinator":
        (change("spec/coordinator", None), "spec.coordinator", "Required"),
    "a negative floor":
        (change("spec/learner/replicas", -1), "spec.learner.replicas", "between 0 and"),
    "a floor without a template":
        (change("spec/collector", {"replicas": 1}), "spec.collector.template", "Required"),
    "a floor above the limit":
        (change("spec/collector/maxReplicas", 0), "spec.collector.replicas", "maxReplicas"),
    "a volume named twice":
        (change("spec/volumes", [{"name": "data", "emptyDir": {}}]), "spec.volumes[0].name", "Duplicate"),
    "a name that no service can have":
        (change("metadata/name", "2-learn"), "metadata.name", "begin with a letter"),
    "a name too long for the pods":
        (change("metadata/name", "a" * 46), "metadata.name", "45"),
}


def good_job():
    body = job("wrong")
    body["spec"]["coordinator"]["template"]["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    body["spec"]["coordinator"]["template"]["spec"]["containers"][0]["resources"].setdefault("limits", {})
    body["spec"]["collector"]["replicas"] = 1
    return body


def test_the_job_that_the_wrong_ones_are_made_from_is_good(jobs):
    jobs.create(good_job(), dry_run=True)


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_job_is_refused_with_its_field(jobs, what):
    apply, field, words = WRONG[what]
    body = copy.deepcopy(good_job())
    apply(body)
    says = refusal(jobs.create, body)
    assert f"{field}: " in says
    assert words in says


def test_all_errors_are_told_at_once(jobs):
    says = refusal(jobs.create, load_job("examples/wrong-job.yaml"))
    assert "spec.cleanPodPolicy: " in says
    assert "spec.learner.template.spec.containers[0].resources.limits[nvidia.com/gpu]: " in says


def test_a_wrong_change_is_refused_too(jobs):
    jobs.create(good_job())
    says = refusal(jobs.patch, "wrong", {"spec": {"collector": {"replicas": -5}}})
    assert "spec.collector.replicas: " in says


# -- spec.requests belongs to nervex-server


def test_requests_of_others_do_not_come_in(jobs):
    requests = {"next": {"collector": 5000, "learner": 5000}, "entries": []}
    assert "requests" not in jobs.create(job("requests", requests=requests))["spec"]
    assert "requests" not in jobs.patch("requests", {"spec": {"requests": requests}})["spec"]
