"""nervexctl while the API server is away, with a server that asks for tokens, and with many jobs and pods."""

import concurrent.futures
import contextlib
import json
import os
import subprocess
import time

import pytest
from support.commands import Background, environment
from support.jobs import job
from support.outages import Components
from support.users import wait_until_user_may
from support.wait import away, lasting, wait_for


@pytest.fixture
def components(target, jobs):
    if not target.cluster:
        pytest.skip("the control plane of this cluster is its owner's")
    jobs.not_yet = [away]
    one = Components(target.cluster)
    yield one
    one.close()


def test_what_follows_a_job_goes_on_after_an_outage_of_the_api_server(components, jobs, target, node_agent, namespace):
    jobs.create(job("dqn"))
    jobs.wait_phase("dqn", "Running")
    with Background(target, "nervexctl", "wait", "dqn", "-n", namespace) as wait, \
            Background(target, "nervexctl", "list", "-w", "-n", namespace) as watch:
        wait_for(lambda: "nervexctl: dqn runs" in wait.errors and len(watch.lines) > 1, "both to have begun")
        components.kill("kube-apiserver")
        lasting(2)
        components.start("kube-apiserver")
        components.wait_until_ready()
        node_agent.finish("dqn-coordinator")
        assert wait.wait(90) == 0
        wait_for(lambda: any("Succeeded" in line for line in watch.lines), "the end to be listed")
        for one in (wait, watch):
            assert sum("trying again" in line for line in one.errors) == 1, one.errors


def test_an_api_server_that_is_away_is_an_error_with_advice(components, nervexctl, namespace, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(json.dumps(job("dqn")), encoding="utf-8")
    components.kill("kube-apiserver")
    for words in (["list"], ["queue"], ["explain", "dqn"], ["suspend", "dqn"], ["resume", "dqn"], ["scale", "dqn", "--collectors", "1"],
                  ["delete", "dqn"], ["submit", str(file)], ["simulate", str(file)], ["top"], ["wait", "dqn"], ["logs", "dqn"],
                  ["events", "dqn"], ["doctor"]):
        said = nervexctl(*words, "-n", namespace)
        assert said.returncode == 1, words
        assert "is the API server reachable? kubectl cluster-info" in said.stderr + said.stdout, (words, said)


def test_a_server_with_tokens(token_auth, jobs, nervexctl, core, namespace, env, tmp_path):
    jobs.create(job("dqn"))
    jobs.wait_phase("dqn", "Running")
    words = ["replicas", "get", "dqn", "-n", namespace, "--server", env["NERVEX_SERVER_URL"]]
    refused = nervexctl(*words)
    assert refused.returncode == 1
    assert "401" in refused.stderr and "--token-file" in refused.stderr, refused.stderr
    token = tmp_path / "token"
    token.write_text(core.create_namespaced_service_account_token("default", namespace, {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"audiences": ["nervex-server"]}}).status.token)
    refused = nervexctl(*words, "--token-file", str(token))
    assert refused.returncode == 1
    assert "403" in refused.stderr, refused.stderr


@pytest.mark.parametrize("role, may_change", [("edit", True), ("view", False)])
def test_a_users_token_has_the_rights_of_the_role(token_auth, jobs, nervexctl, users, kubectl, namespace, env, tmp_path, role,
                                                  may_change):
    jobs.create(job("dqn"))
    jobs.wait_phase("dqn", "Running")
    wait_until_user_may(kubectl, users.kubeconfig(role), "patch" if may_change else "get", "nervexjobs")
    token = tmp_path / "token"
    token.write_text(users.token(role, "nervex-server"), encoding="utf-8")

    def replicas(verb, *words):
        return nervexctl("replicas", verb, "dqn", "-n", namespace, "--server", env["NERVEX_SERVER_URL"], "--token-file",
                         str(token), *words)
    assert replicas("get").returncode == 0
    added = replicas("add", "--collectors", "1")
    assert added.returncode == (0 if may_change else 1), added
    assert ("403" in added.stderr) != may_change, added.stderr


JOBS, PODS = 1000, 20_000


@pytest.mark.extended
def test_many_jobs_and_pods_are_listed_quickly(target, core, custom, namespace):
    suspended = job("x", suspend=True)
    pod = {"metadata": {}, "spec": {"schedulerName": "none", "containers": [{
        "name": "c", "image": "none", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}

    def create_job(number):
        custom.create_namespaced_custom_object("nervex.sensetime.com", "v1alpha1", namespace, "nervexjobs",
                                               {**suspended, "metadata": {"name": f"j{number}"}})

    def create_pod(number):
        core.create_namespaced_pod(namespace, {**pod, "metadata": {"name": f"p{number}"}})
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(create_job, range(JOBS)))
        list(pool.map(create_pod, range(PODS)))
    for words, limit in ((["list", "-A", "-o", "json"], 1.0), (["top", "-o", "json"], 3.0)):
        runs = [measured(target, words) for _ in range(3)]
        took, peak = min(one[0] for one in runs), max(one[1] for one in runs)
        print(f"nervexctl {words[0]}: {took:.2f} s, {peak >> 10} MiB")
        assert took < limit, runs
        assert peak < 100 << 10, runs


def measured(target, words):
    """Seconds, and peak memory in KiB: from /proc, since what wait4() says includes the test's own before exec()."""
    before, peak = time.monotonic(), 0
    with open(os.devnull, "wb") as nothing, \
            subprocess.Popen(["nervexctl", *words], stdout=nothing, env=environment(target)) as process:
        while process.poll() is None:
            with contextlib.suppress(OSError, StopIteration), open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                name = next(file)
                if "nervexctl" in name:
                    peak = int(next(line for line in file if line.startswith("VmHWM")).split()[1])
            lasting(0.002)
    assert process.returncode == 0
    return time.monotonic() - before, peak
