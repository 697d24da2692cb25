"""Who may write spec.requests, and what may nervex-server write? The API server enforces a policy itself, so that
running jobs grow and shrink while nervex-webhook is down."""

import itertools
import json

import kubernetes
import pytest
from support.jobs import Jobs, job, refusal_of
from support.wait import wait_for

SERVER = "system:serviceaccount:nervex-system:nervex-server"
NO_HOOKS = "nervex-e2e/no-hooks"


@pytest.fixture
def server_jobs(target, namespace):
    """The jobs of the test's namespace as nervex-server writes them."""
    if not target.cluster:
        pytest.skip("who nervex-server is on this cluster is its owner's choice")
    client = kubernetes.config.new_client_from_config(config_file=target.kubeconfig)
    client.default_headers["Impersonate-User"] = SERVER
    return Jobs(kubernetes.client.CoreV1Api(client), kubernetes.client.CustomObjectsApi(client), namespace)


@pytest.fixture(scope="module")
def no_hooks(target, api_client, fresh_namespace):
    """A label that excludes jobs from both hooks, so that only the policy applies."""
    if not target.cluster:
        pytest.skip("the webhook configurations of this cluster are its owner's")
    hooks = kubernetes.client.AdmissionregistrationV1Api(api_client)

    def select(expressions):
        patch = [{"op": "replace", "path": "/webhooks/0/objectSelector", "value": {"matchExpressions": expressions}}]
        hooks.patch_mutating_webhook_configuration("nervex-mutating-webhook-configuration", patch)
        hooks.patch_validating_webhook_configuration("nervex-validating-webhook-configuration", patch)

    label = {NO_HOOKS: "true"}
    select([{"key": NO_HOOKS, "operator": "DoesNotExist"}])
    with fresh_namespace() as name:
        probe = labelled(job("probe"), label)
        del probe["spec"]["coordinator"]["template"]["spec"]["containers"][0]["image"]  # no hook lets that in
        jobs = Jobs(None, kubernetes.client.CustomObjectsApi(api_client), name)

        def passed():
            try:
                return bool(jobs.create(probe, dry_run=True))
            except kubernetes.client.ApiException:
                return False

        wait_for(passed, "the API server to pass both hooks by", 20)
    yield label
    select([])


def labelled(body, labels):
    body["metadata"]["labels"] = labels
    return body


def refusal(call, *arguments):
    with pytest.raises(kubernetes.client.ApiException) as caught:
        call(*arguments)
    assert caught.value.status in (403, 422), caught.value.body
    return json.loads(caught.value.body)["message"]


def entry(number, role="collector", first=4096, count=1, **more):
    return {"id": number, "attempt": 1, "role": role, "slots": [{"ordinal": first + i} for i in range(count)], **more}


STORED = {"next": {"collector": 4098, "learner": 4096}, "nextId": 3, "entries": [entry(1), entry(2, first=4097)]}


@pytest.fixture
def stored(jobs, server_jobs):
    """A suspended job with requests, so that no other program writes it."""
    jobs.create(job("asked", suspend=True))
    server_jobs.patch("asked", {"spec": {"requests": STORED}})
    return jobs.get("asked")


def test_nervex_server_writes_the_requests(server_jobs, stored):
    assert stored["spec"]["requests"] == STORED
    more = {"next": {"collector": 4099, "learner": 4096}, "nextId": 4, "entries": [entry(3, first=4098, count=1)]}
    assert server_jobs.patch("asked", {"spec": {"requests": more}})["spec"]["requests"] == more


NOT_BY_THE_SERVER = {
    "another field of the spec": ({"spec": {"suspend": False}}, "not the rest of the spec"),
    "the requests and another field": ({"spec": {"requests": {"nextId": 9}, "group": "g"}}, "not the rest of the spec"),
    "a template": ({"spec": {"learner": {"template": {"spec": {"hostNetwork": True}}}}}, "not the rest of the spec"),
    "a role away": ({"spec": {"learner": None}}, "not the rest of the spec"),
    "a finalizer": ({"metadata": {"finalizers": ["nervex-e2e/held"]}}, "not finalizers or owners"),
    "an owner": ({"metadata": {"ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}]}}, "not finalizers or owners"),
    "the requests with a finalizer": ({"metadata": {"finalizers": ["nervex-e2e/held"]},
                                       "spec": {"requests": {"nextId": 9}}}, "not finalizers or owners"),
    "who submitted the job": ({"metadata": {"annotations": {"nervex.sensetime.com/submitted-by": "mallory"}}},
                              "may not change who submitted the job"),
    "who submitted the job away": ({"metadata": {"annotations": {"nervex.sensetime.com/submitted-by": None}}},
                                 "may not change who submitted the job"),
    "the requests away": ({"spec": {"requests": None}}, "may not delete spec.requests"),
    "the next ordinal back": ({"spec": {"requests": {"next": {"collector": 4097}}}}, "may only grow"),
    "the next ordinal away": ({"spec": {"requests": {"next": None}}}, "may only grow"),
    "a replica of another role": ({"spec": {"requests": {"entries": [entry(3, role="coordinator")]}}}, "role must be"),
    "more pods than a job has": ({"spec": {"requests": {"entries": [entry(3, count=5001)]}}}, "5001 pods would be"),
    "more pods than a job has, for its next attempt":
        ({"spec": {"requests": {"entries": [{**entry(3, count=5001), "attempt": 2}]}}}, "5001 pods would be"),
    "more pods of learners than a job has":
        ({"spec": {"requests": {"entries": [entry(3, role="learner", count=1700, gpuSplit=[8, 2])]}}},
         "5100 pods would be"),
}


@pytest.mark.parametrize("what", NOT_BY_THE_SERVER)
def test_nervex_server_changes_nothing_else(server_jobs, stored, jobs, what):
    patch, words = NOT_BY_THE_SERVER[what]
    says = refusal(server_jobs.patch, "asked", patch)
    assert words in says
    assert "nervex-requests" in says
    assert jobs.get("asked")["spec"] == stored["spec"]


def test_labels_that_come_with_its_updates_are_no_reason_to_refuse_them(server_jobs, stored):
    """The policy judges an update after the cluster's mutating webhooks, which may label every object."""
    grown = server_jobs.patch("asked", {"metadata": {"labels": {"cost-centre": "rl"}, "annotations": {"seen-by": "x"}},
                                        "spec": {"requests": {"nextId": 9}}})
    assert grown["spec"]["requests"]["nextId"] == 9
    assert grown["metadata"]["labels"]["cost-centre"] == "rl"
    assert server_jobs.patch("asked", {"metadata": {"labels": None}})


def test_nervex_server_has_no_right_to_create_jobs(server_jobs):
    assert "cannot create resource" in refusal(server_jobs.create, job("new"))


def test_an_earlier_attempt_does_not_count_against_the_limit(jobs, server_jobs, custom):
    """Before the job has begun status.attempt is unset, so all entries count; then those of this and later attempts."""
    jobs.create(job("older"))
    jobs.wait_phase("older", "Running")
    old = [{**entry(7, count=5001), "attempt": 0}]
    assert len(server_jobs.patch("older", {"spec": {"requests": {"entries": old}}})["spec"]["requests"]["entries"]) == 1


def test_a_job_beyond_the_limit_can_shrink(jobs, server_jobs, no_hooks, kubectl):
    """It was stored before the policy existed."""
    many = {"entries": [entry(1, count=5002)]}
    with policy_away(kubectl):
        body = labelled(job("large", suspend=True, requests=many), no_hooks)
        wait_for(lambda: created(jobs, body), "the API server to forget the policy", 30)
    tries = itertools.count(5)  # each try changes something
    wait_for(lambda: "only nervex-server" in refusal_of(
        jobs.patch, "large", {"spec": {"requests": {"nextId": next(tries)}}}), "the API server to know the policy", 30)
    assert server_jobs.patch("large", {"spec": {"requests": {"entries": [entry(1, count=5001)]}}})
    assert "5002 pods" in refusal(server_jobs.patch, "large", {"spec": {"requests": {"entries": [entry(1, count=5002)]}}})


class policy_away:
    """Removes the policy's binding inside the block."""

    def __init__(self, kubectl):
        self.kubectl = kubectl

    def __enter__(self):
        found = self.kubectl("get", "validatingadmissionpolicybinding", "nervex-requests", "-o", "json")
        self.binding = json.loads(found.stdout)
        assert self.kubectl("delete", "validatingadmissionpolicybinding", "nervex-requests").returncode == 0

    def __exit__(self, *unused):
        meta = self.binding["metadata"]
        body = {**self.binding, "metadata": {"name": meta["name"], "labels": meta["labels"]}}
        assert self.kubectl("create", "-f", "-", body=json.dumps(body)).returncode == 0


def created(jobs, body):
    return not refusal_of(jobs.create, body)


# -- everybody else


NOT_BY_OTHERS = {
    "change": lambda body: body["spec"]["requests"].update(nextId=9),
    "remove": lambda body: body["spec"].pop("requests"),
    "empty": lambda body: body["spec"].update(requests={}),
}


@pytest.mark.versions
@pytest.mark.parametrize("how", NOT_BY_OTHERS)
def test_no_other_user_writes_the_requests_also_without_hooks(jobs, server_jobs, no_hooks, how):
    jobs.create(labelled(job("asked", suspend=True), no_hooks))
    server_jobs.patch("asked", {"spec": {"requests": STORED}})

    def replace():
        body = jobs.get("asked")
        NOT_BY_OTHERS[how](body)
        del body["metadata"]["managedFields"]
        says = refusal_of(jobs.replace, "asked", body)
        return "the object has been modified" not in says, says  # by the controller, meanwhile

    assert "only nervex-server may change it" in wait_for(replace, "an answer that is no conflict")


def test_no_user_creates_a_job_with_requests_also_without_hooks(jobs, no_hooks):
    assert "only nervex-server may change it" in refusal(
        jobs.create, labelled(job("asked", suspend=True, requests=STORED), no_hooks))


def test_applying_a_file_without_requests_keeps_them(jobs, server_jobs, kubectl, namespace):
    """Like GitOps tools, which apply the same file repeatedly, each in its own way."""
    body = job("asked", suspend=True)
    text = json.dumps(body)
    for way in (["apply"], ["apply", "--server-side"], ["apply", "--server-side", "--force-conflicts"],
                ["replace"]):  # as Argo CD does with Replace=true
        said = kubectl(*way, "-n", namespace, "-f", "-", body=text)
        if way == ["apply"]:
            server_jobs.patch("asked", {"spec": {"requests": STORED}})
        assert said.returncode == 0, (way, said.stderr)
        assert jobs.get("asked")["spec"]["requests"] == STORED, way
    body["spec"]["backoffLimit"] = 3
    said = kubectl("apply", "-n", namespace, "-f", "-", body=json.dumps(body))
    assert said.returncode == 0, said.stderr
    assert jobs.get("asked")["spec"]["requests"] == STORED


# -- while the webhook is away


@pytest.mark.versions
def test_a_job_grows_while_the_webhook_is_down(jobs, programs, replicas_api, namespace, kubectl):
    jobs.create(job("grows"))
    jobs.wait_phase("grows", "Running")
    programs.stop("webhook")
    added = replicas_api.add(namespace, "grows-coordinator", collectors=2, learners=1)
    assert added.json["success"], added
    assert len(added.data["collectors"]) == 2
    jobs.wait_pods("grows", 5, "Running")
    removed = replicas_api.remove(namespace, "grows-coordinator", collectors=1)
    assert removed.json["success"], removed
    # what needs no hook, either
    jobs.patch("grows", {"metadata": {"labels": {"a": "b"}, "finalizers": ["nervex-e2e/held"]}})
    jobs.patch("grows", {"metadata": {"finalizers": None}})
    says = refusal_of(jobs.patch, "grows", {"spec": {"suspend": True}})
    assert "failed calling webhook" in says
    jobs.delete("grows")
    wait_for(lambda: not jobs.pods("grows"), "the pods to go")


# -- what the policy costs


def test_a_job_of_a_megabyte_is_within_the_cost_that_the_api_server_allows(jobs, server_jobs):
    body = job("large", suspend=True)
    for role in ("coordinator", "collector", "learner"):
        body["spec"][role]["template"]["spec"]["containers"][0]["env"] = [
            {"name": f"V{i}", "value": "x" * 100} for i in range(2500)]
    assert len(json.dumps(body)) > 1_000_000 - 100_000
    jobs.create(body)
    requests = {"next": {"collector": 9000, "learner": 4096}, "nextId": 1000,
                "entries": [entry(i, first=4096 + 10 * i, count=10) for i in range(490)]}
    assert len(server_jobs.patch("large", {"spec": {"requests": requests}})["spec"]["requests"]["entries"]) == 490
    requests["nextId"] = 1001
    assert server_jobs.patch("large", {"spec": {"requests": requests}})["spec"]["requests"]["nextId"] == 1001
    says = refusal(server_jobs.patch, "large", {"spec": {"group": "g"}})
    assert "not the rest of the spec" in says
    assert jobs.patch("large", {"spec": {"group": "g"}})["spec"]["group"] == "g"
