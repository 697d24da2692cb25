"""A release of the Helm chart from its install to its removal, on a separate cluster, under a running job. The tests
build on one another in this order."""

import json
import os

import kubernetes
import pytest
from support import own_cluster
from support.jobs import job, load

pytestmark = [pytest.mark.in_order]


@pytest.fixture(scope="module")
def suite(request):
    if os.environ.get("NERVEX_E2E_KUBECONFIG"):
        pytest.skip("installs and removes the whole suite: not on a user's cluster")
    failed = lambda: request.session.testsfailed > 0  # noqa: E731
    with own_cluster.installed("self-issued", failed, own_cluster.InstalledByHelm) as made:
        assert made.bundles() == ["", ""]  # no CA is trusted yet
        made.begin_trust()
        yield made


@pytest.fixture(scope="module")
def running(suite):
    """What a job has that runs during all of this: its pods, and when it began."""
    suite.jobs.create(job("runs"))
    suite.jobs.wait_phase("runs", "Running")
    suite.jobs.wait_pods("runs", 2, "Running")
    return observe(suite)


def observe(suite):
    pods = sorted((pod.metadata.uid, pod.status.phase, pod.metadata.deletion_timestamp) for pod in suite.jobs.pods("runs"))
    status = suite.jobs.get("runs")["status"]
    return pods, status["phase"], status["attempt"], status["startTime"]


def read(suite, kind, name, path):
    said = suite.kubectl("-n", "nervex-system", "get", kind, name, "-o", f"jsonpath={{{path}}}")
    assert said.returncode == 0, said.stderr
    return said.stdout


def revisions(suite):
    return [(one["revision"], one["status"]) for one in json.loads(suite.helm("history", "nervex", "--output", "json"))]


def test_the_release_checks_jobs(suite):
    with pytest.raises(kubernetes.client.ApiException) as caught:
        suite.jobs.create(load("examples/wrong-job.yaml")[0], dry_run=True)
    assert "mnervexjob.kb.io" in caught.value.body
    assert revisions(suite) == [(1, "deployed")]


@pytest.mark.parametrize("name", ["nervex-operator", "nervex-server", "nervex-webhook", "nervex-scheduler"])
def test_each_deployment_comes_up(suite, name):
    said = suite.kubectl("-n", "nervex-system", "rollout", "status", f"deployment/{name}", "--timeout=50s")
    assert said.returncode == 0, said.stderr + said.stdout


def test_kube_scheduler_has_the_version_of_this_cluster(suite):
    image = read(suite, "deployment", "nervex-scheduler", ".spec.template.spec.containers[0].image")
    version = json.loads(suite.kubectl("get", "--raw", "/version").stdout)["gitVersion"]
    assert image == f"registry.k8s.io/kube-scheduler:{version}"


def test_an_upgrade_changes_what_values_say_and_nothing_else(suite, running):
    trusted = suite.bundles()
    values = {"server": {"replicas": 3, "auth": "token"}, "certs": {"extraArgs": ["--valid-for=60d"]}}
    suite.helm("upgrade", "nervex", suite.chart, "--wait", "--timeout=2m", values=values)
    assert read(suite, "deployment", "nervex-server", ".spec.replicas") == "3"
    assert "--auth=token" in read(suite, "deployment", "nervex-server", ".spec.template.spec.containers[0].args")
    assert read(suite, "clusterrole", "nervex-server-token-review", ".metadata.name")
    # a Job with other flags, which could not be changed
    jobs = read(suite, "jobs", "-l=app.kubernetes.io/name=nervex-certs", ".items[*].spec.template.spec.containers[0].args")
    assert jobs.count("--install") == 1 and "--valid-for=60d" in jobs
    assert suite.bundles() == trusted != ["", ""]
    assert observe(suite) == running


def test_a_refused_value_changes_nothing(suite, running):
    before = revisions(suite)
    with pytest.raises(AssertionError, match="/server/replicas"):
        suite.helm("upgrade", "nervex", suite.chart, values={"server": {"replicas": "many"}})
    assert revisions(suite) == before
    assert read(suite, "deployment", "nervex-server", ".spec.replicas") == "3"


def test_a_rollback_goes_back_to_the_first_revision(suite, running):
    trusted = suite.bundles()
    suite.helm("rollback", "nervex", "1")
    assert read(suite, "deployment", "nervex-server", ".spec.replicas") == "2"
    assert "--auth" not in read(suite, "deployment", "nervex-server", ".spec.template.spec.containers[0].args")
    assert suite.kubectl("get", "clusterrole", "nervex-server-token-review").returncode == 1
    assert suite.bundles() == trusted
    assert observe(suite) == running
    assert revisions(suite)[-1] == (3, "deployed")


def test_an_uninstall_keeps_jobs_and_their_kinds(suite, running):
    suite.helm("uninstall", "nervex")
    there = suite.kubectl("get", "deployments,services,validatingwebhookconfigurations,mutatingwebhookconfigurations,"
                          "clusterroles,clusterrolebindings,validatingadmissionpolicies,flowschemas,crds",
                          "--all-namespaces", "-o", "name").stdout.split()
    left = [one for one in there if "nervex" in one]
    assert left == [f"customresourcedefinition.apiextensions.k8s.io/{kind}.nervex.sensetime.com"
                    for kind in ("aggregatorconfigs", "nervexjobs", "podgroups", "queues", "simulations")]
    assert observe(suite) == running


def test_it_can_be_installed_again_over_the_jobs(suite, running):
    suite.helm("install", "nervex", suite.chart, values={})
    assert revisions(suite) == [(1, "deployed")]
    assert read(suite, "crd", "nervexjobs.nervex.sensetime.com", ".metadata.annotations.helm\\.sh/resource-policy") == "keep"
    assert observe(suite) == running
