"""nervexctl replicas: the replicas API for people."""

import json

import pytest
import yaml
from support.commands import command, path_of
from support.jobs import job
from support.replicas_api import pod_of
from support.wait import wait_for


@pytest.fixture
def replicas(nervexctl, env):
    """replicas("get", "dqn", ...) against the cluster's nervex-server."""
    def call(*words):
        return nervexctl("replicas", *words, "--server", env["NERVEX_SERVER_URL"])
    return call


@pytest.fixture
def running(jobs, namespace):
    jobs.create(job("dqn"))
    jobs.wait_phase("dqn", "Running")
    return namespace


def test_replicas_are_added_and_listed(jobs, running, replicas):
    added = replicas("add", "dqn", "-n", running, "--collectors", "2", "--cpus", "0.2", "-o", "json")
    assert added.returncode == 0, added.stderr
    urls = json.loads(added.stdout)["collectors"]
    assert len(urls) == 2
    (entry,) = jobs.get("dqn")["spec"]["requests"]["entries"]
    assert entry["resources"]["cpus"] == "0.2"

    def shown():
        said = replicas("get", "dqn", "-n", running)
        return said.returncode == 0 and all(url in said.stdout for url in urls), said
    said = wait_for(lambda: shown()[0] and shown()[1], "both to be listed")
    assert said.stdout.splitlines()[0].split() == ["NAMESPACE", "COORDINATOR", "ROLE", "ADDRESS"]
    assert running in replicas("get").stdout
    assert pod_of(urls[0]) in replicas("get", "--name", pod_of(urls[0])).stdout


def test_the_namespace_is_that_of_the_kubeconfig(replicas, running, target, env, tmp_path):
    with open(target.kubeconfig, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    for context in config["contexts"]:
        context["context"]["namespace"] = running
    mine = tmp_path / "kubeconfig"
    mine.write_text(yaml.safe_dump(config))
    with_mine = command(target, f"KUBECONFIG={mine}", "nervexctl")
    said = with_mine("replicas", "get", "dqn", "--server", env["NERVEX_SERVER_URL"])
    assert said.returncode == 0, said.stderr
    assert running in said.stdout


def test_the_error_for_a_job_without_a_coordinator_says_why(jobs, replicas, namespace):
    jobs.create(job("later", suspend=True))
    jobs.wait_condition("later", "Suspended")
    said = replicas("add", "later", "-n", namespace, "--collectors", "1")
    assert said.returncode == 1
    assert "nervexjob later has no coordinator (Suspended)" in said.stderr


def test_a_refusal_is_the_servers_own_message(replicas, namespace):
    said = replicas("add", "nobody", "-n", namespace, "--collectors", "1")
    assert said.returncode == 1
    assert said.stdout == ""
    assert f"404 pod {namespace}/nobody-coordinator: the pod does not exist" in said.stderr


def test_an_unreachable_server_is_named(nervexctl):
    said = nervexctl("replicas", "get", "--server", "127.0.0.1:1")
    assert said.returncode == 1
    assert "http://127.0.0.1:1" in said.stderr


def test_an_editor_scales_a_job_without_a_server(jobs, running, nervexctl_as):
    editor = nervexctl_as("edit")
    more = editor("scale", "dqn", "--collectors", "2")
    assert more.returncode == 0, more.stderr
    assert more.stdout == "nervexjob.nervex.sensetime.com/dqn scaled: collectors 2, learners 0\n"
    jobs.wait_pods("dqn", 4, "Running")
    assert editor("scale", "dqn", "--collectors", "1").returncode == 0
    assert jobs.get("dqn")["spec"]["collector"]["replicas"] == 1
    refused = nervexctl_as("view")("scale", "dqn", "--collectors", "2")
    assert refused.returncode == 1
    assert "ask for the role edit" in refused.stderr
    assert editor("scale", "dqn").returncode == 2
    assert editor("scale", "dqn", "--collectors", "-1").returncode == 2


def test_without_an_address_the_server_is_reached_through_kubectl(running, target, env, tmp_path):
    """The programs of this cluster have no Service to forward: a stand-in for kubectl says what kubectl says."""
    port = env["NERVEX_SERVER_URL"].rsplit(":", 1)[1].strip("/")
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f"""#!/bin/sh
echo "$@" >{tmp_path}/arguments
echo "Forwarding from 127.0.0.1:{port} -> 8080"
exec sleep 60
""")
    kubectl.chmod(0o755)
    through = command(target, f"PATH={tmp_path}:{path_of(target)}", "nervexctl")
    said = through("replicas", "get", "dqn", "-n", running)
    assert said.returncode == 0, said.stderr
    assert "dqn-coordinator" in said.stdout
    assert (tmp_path / "arguments").read_text() == (
        "port-forward -n nervex-system service/nervex-server :8080 --address 127.0.0.1\n")

    kubectl.write_text("#!/bin/sh\necho 'error: services \"nervex-server\" not found' >&2; exit 1\n")
    said = through("replicas", "add", "dqn", "-n", running, "--collectors", "1")
    assert said.returncode == 1
    assert 'it ended: error: services "nervex-server" not found' in said.stderr
    assert "`kubectl nervex scale` needs no server" in said.stderr


@pytest.mark.parametrize("words", [[], ["add", "x"], ["add", "x", "-n", "y"], ["get", "-o", "csv"], ["scale"]])
def test_wrong_usage_is_status_2(nervexctl, words):
    assert nervexctl("replicas", *words).returncode == 2
