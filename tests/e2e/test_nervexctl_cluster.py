"""nervexctl doctor and top: what the cluster has, as far as the user may see it."""

import json
import re

import pytest
from support.jobs import job, template
from support.wait import wait_for


@pytest.mark.versions
def test_doctor_finds_a_healthy_suite(nervexctl, namespace):
    said = nervexctl("doctor", "-n", namespace)
    assert said.returncode == 0, said.stdout + said.stderr
    for line in (r"OK +API server +Kubernetes v1\.", r"OK +CustomResourceDefinitions ",
                 r"OK +Webhook +it answers, and refuses a wrong job",
                 r"OK +Webhook configurations +the trusted authority is valid until ",
                 r"OK +Leader of nervex-controller ", r"OK +Leader of nervex-extender ",
                 rf"OK +Your rights +you may run jobs in namespace {namespace}"):
        assert re.search(line, said.stdout), (line, said.stdout)


def test_doctor_finds_a_webhook_that_is_not_asked(nervexctl, namespace, webhooks_away):
    with webhooks_away():
        said = nervexctl("doctor", "-n", namespace)
        assert said.returncode == 1
        assert re.search(r"Failed +Webhook +a wrong job is accepted: the webhook is not asked\n"
                         r" +what to do: install both webhook configurations", said.stdout), said.stdout


def test_doctor_says_what_an_editor_may_not_see(nervexctl_as, namespace):
    said = nervexctl_as("edit")("doctor")
    assert said.returncode == 0, said.stdout + said.stderr
    assert re.search(r"OK +Webhook +it answers", said.stdout)
    assert re.search(r"Hidden +Leader of nervex-extender +you may not see it", said.stdout)
    assert re.search(rf"OK +Your rights +you may run jobs in namespace {namespace}", said.stdout)


def test_an_editor_is_told_how_to_name_the_namespace_of_the_suite(nervexctl_as):
    """Only administrators may read the webhook's configuration, which has it."""
    editor = nervexctl_as("edit")
    said = editor("doctor")
    assert "you may not read the webhook's configuration, so the suite is expected in namespace nervex-system" in said.stderr
    assert "--system-namespace NAME, or the variable NERVEX_SYSTEM_NAMESPACE" in said.stderr
    named = editor("doctor", "--system-namespace", "nervex-system")
    assert (named.returncode, named.stderr) == (0, "")
    assert named.stdout == said.stdout
    refused = editor("replicas", "get")
    assert refused.returncode == 1
    assert "reach nervex-server in namespace nervex-system" in refused.stderr, refused.stderr
    assert "--system-namespace or NERVEX_SYSTEM_NAMESPACE" in refused.stderr, refused.stderr


def test_doctor_names_the_rights_that_a_viewer_lacks(nervexctl_as, namespace):
    said = nervexctl_as("view")("doctor", "-o", "json")
    assert said.returncode == 0, said.stdout + said.stderr
    checks = {one["subject"]: one for one in json.loads(said.stdout)["items"]}
    assert checks["Webhook"]["health"] == "Hidden"
    assert "you may not create nervexjobs, patch nervexjobs, delete nervexjobs" in checks["Your rights"]["finding"]
    assert "--clusterrole=edit" in checks["Your rights"]["remedy"]


@pytest.fixture
def gpu_jobs(jobs):
    """One that runs with 2 GPUs, and one that waits for 1,000."""
    jobs.create(job("runs", learner={"replicas": 2, "template": template(gpus=1)}))
    jobs.wait_phase("runs", "Running")
    jobs.create(job("waits", learner={"replicas": 1, "template": template(gpus=1000)}))
    jobs.wait_condition("waits", "Scheduled", "False")
    return jobs


def test_top_shows_accelerators_by_node_and_namespace(gpu_jobs, nervexctl, namespace):
    wait_for(lambda: len([one for one in gpu_jobs.pods("runs") if one.spec.node_name]) == 4, "all pods to be bound")
    said = nervexctl("top", "-o", "json")
    assert said.returncode == 0, said.stderr
    use = json.loads(said.stdout)
    (mine,) = [one for one in use["namespaces"] if one["namespace"] == namespace]
    assert mine == {"namespace": namespace, "resource": "nvidia.com/gpu", "wanted": 1002, "placed": 2, "waiting": 1000,
                    "used": 2}
    assert sum(one["used"] for one in use["nodes"]) >= 2
    assert all(one["free"] == one["capacity"] - one["used"] for one in use["nodes"])
    table = nervexctl("top").stdout
    assert re.search(r"^NODE +RESOURCE +CAPACITY +USED +FREE +STATE$", table, re.MULTILINE)
    assert re.search(rf"^{namespace} +nvidia.com/gpu +1002 +2 +1000 +2$", table, re.MULTILINE), table


def test_top_of_a_user_who_sees_one_namespace(gpu_jobs, nervexctl_as, namespace):
    said = nervexctl_as("view")("top")
    assert said.returncode == 0, said.stderr
    assert re.search(rf"^{namespace} +nvidia.com/gpu +1002 +2 +1000 +2$", said.stdout, re.MULTILINE), said.stdout
    assert "NODE" not in said.stdout
    assert f"you may not see all namespaces: this is namespace {namespace} alone, without nodes" in said.stderr
