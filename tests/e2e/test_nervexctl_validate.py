"""nervexctl validate: the verdict on files before they are submitted, without a cluster and from one."""

import json
import os

import pytest
from harness.settings import ROOT
from support.jobs import load

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
    assert {one["kind"] for one in verdicts} == {"NerveXJob", "AggregatorConfig"}
    assert {os.path.basename(one["file"]) for one in verdicts if not one["valid"]} == {"wrong-job.yaml"}


@pytest.mark.parametrize("where", [[], ["--server"]], ids=["offline", "server"])
def test_a_wrong_aggregator_config_is_told_by_its_field(nervexctl, config, namespace, tmp_path, where):
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
    assert (said.returncode, said.stdout) == (0, "1 of 1 objects is valid\n"), said.stderr
    custom.create_namespaced_custom_object("nervex.sensetime.com", "v1alpha1", namespace, "aggregatorconfigs", config)
    said = nervexctl("validate", "--server", "-f", write(tmp_path, config))
    assert said.returncode == 0, said.stderr
    assert "there: warning: it exists: this is the verdict on changing it" in said.stdout
