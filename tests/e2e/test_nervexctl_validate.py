"""nervexctl validate: the verdict on files before they are submitted, without a cluster and from one."""

import json
import os

import pytest
from tools.base.tree import ROOT
from support.jobs import job, load, template

EXAMPLES = os.path.join(ROOT, "examples")


def write(folder, body):
    path = folder / "object.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    return str(path)


@pytest.fixture
def config():
    (body,) = load("examples/nervex-mock-agconfig.yaml")
    return body


@pytest.mark.parametrize("where", [[], ["--server"]], ids=["offline", "server"])
def test_of_the_examples_one_is_wrong(nervexctl, namespace, where):
    said = nervexctl("validate", "-n", namespace, "-f", EXAMPLES, "-o", "json", *where)
    assert said.returncode == 1, said.stderr
    verdicts = json.loads(said.stdout)
    assert {one["kind"] for one in verdicts} == {"NerveXJob", "AggregatorConfig", "Queue"}
    assert {os.path.basename(one["file"]) for one in verdicts if not one["valid"]} == {"wrong-job.yaml"}


@pytest.mark.parametrize("where", [[], ["--server"]], ids=["offline", "server"])
def test_a_wrong_aggregator_config_is_reported_with_its_field(nervexctl, config, namespace, tmp_path, where):
    config["metadata"] = {"name": "wrong"}
    container = config["spec"]["aggregator"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"memory": "4GB"}}
    said = nervexctl("validate", "-n", namespace, "-f", write(tmp_path, config), *where)
    assert said.returncode == 1, said.stderr
    assert ": wrong: spec.aggregator.template.spec.containers[0].resources" in said.stdout
    assert said.stdout.endswith("\n0 of 1 objects is valid\n")


def test_the_server_judges_a_config_that_exists_as_a_change(nervexctl, config, custom, namespace, tmp_path):
    config["metadata"] = {"name": "there", "namespace": namespace}
    said = nervexctl("validate", "--server", "-f", write(tmp_path, config))
    assert said.returncode == 0, said.stderr
    assert said.stdout.endswith("1 of 1 objects is valid\n")
    assert f"AggregatorConfig {namespace}/there is not used" in said.stdout  # it is not where the programs look
    custom.create_namespaced_custom_object("nervex.sensetime.com", "v1alpha1", namespace, "aggregatorconfigs", config)
    said = nervexctl("validate", "--server", "-f", write(tmp_path, config))
    assert said.returncode == 0, said.stderr
    assert "there: warning: the object exists: checked as the change that" in said.stdout


@pytest.mark.parametrize("where", [[], ["--server"]], ids=["offline", "server"])
def test_warnings_of_admission_are_shown_and_keep_exit_status_0(nervexctl, namespace, tmp_path, where):
    body = job("warned", learner={"replicas": 1, "template": template(schedulerName="mine")}, cleanPodPolicy="ALL")
    said = nervexctl("validate", "-n", namespace, "-o", "json", "-f", write(tmp_path, body), *where)
    assert said.returncode == 0, said.stdout + said.stderr
    (verdict,) = json.loads(said.stdout)
    assert {one["severity"] for one in verdict["findings"]} == {"warning"}
    fields = {one["field"] for one in verdict["findings"]}
    assert {"spec.cleanPodPolicy", "spec.learner.template.spec.schedulerName", "spec.collector"} <= fields


def test_an_invalid_file_does_not_hide_the_others(nervexctl, config, tmp_path):
    config["metadata"] = {"name": "Wrong_Name"}
    write(tmp_path, config)
    (tmp_path / "template.yaml").write_text("{{- if .Values.job }}\nkind: NerveXJob\n{{- end }}\n", encoding="utf-8")
    said = nervexctl("validate", "-f", str(tmp_path))
    assert said.returncode == 2
    assert "object.json:1: Wrong_Name: metadata.name: Invalid value" in said.stdout
    assert "template.yaml: not checked: line 1" in said.stdout and "helm template" in said.stdout
    assert "\n0 of 1 objects is valid; not checked: " in said.stdout
    said = nervexctl("validate", "-f", str(tmp_path), "-o", "json")
    assert [one["valid"] for one in json.loads(said.stdout)] == [False, None]
    assert "template.yaml" in said.stderr


def test_the_server_judges_a_change_by_what_it_makes_wrong(nervexctl, jobs, webhooks_away, namespace, tmp_path):
    body = job("stored", suspend=True)
    body["spec"]["learner"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] = 70000
    with webhooks_away():
        jobs.create(body)
    said = nervexctl("validate", "--server", "-n", namespace, "-f", write(tmp_path, body))
    assert said.returncode == 0, said.stdout + said.stderr
    assert "stored: warning: the object exists: checked as the change that kubectl replace would make" in said.stdout
    body["spec"]["cleanPodPolicy"] = "hello"
    said = nervexctl("validate", "--server", "-n", namespace, "-f", write(tmp_path, body))
    assert said.returncode == 1
    assert "stored: spec.cleanPodPolicy: Unsupported value" in said.stdout and "70000" not in said.stdout


def test_the_server_judges_what_the_file_leaves_out(nervexctl, kubectl, jobs, namespace, tmp_path):
    body = job("runs")
    jobs.create(body)
    jobs.wait_phase("runs", "Running")
    less = job("runs")
    del less["spec"]["learner"]
    said = nervexctl("validate", "--server", "-n", namespace, "-f", write(tmp_path, less))
    assert said.returncode == 1, said.stdout + said.stderr
    assert "runs: spec.learner.template: Forbidden: " in said.stdout
    # From here on kubectl knows what is the file's own: the learner is not.
    assert kubectl("apply", "-n", namespace, "-f", write(tmp_path, less)).returncode == 0
    said = nervexctl("validate", "--server", "-n", namespace, "-f", write(tmp_path, less))
    assert said.returncode == 0, said.stdout + said.stderr
    assert "as the change that kubectl apply would make" in said.stdout
