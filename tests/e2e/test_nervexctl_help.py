"""nervexctl --help: every example runs as it is written. Completion, as bash asks for it."""

import copy
import re
import subprocess

import pytest
import yaml
from support.commands import command, environment
from support.jobs import job
from support.queues import own_queues
from support.wait import wait_for

ENDS = {"annotations": {"nervex-e2e/main-exits": "0"}}


def list_verbs(nervexctl, *group):
    listed = nervexctl(*group, "--help").stdout.partition("Verbs:\n")[2].partition("\n\n")[0]
    return [(*group, name) for name in re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)]


def find_examples(text):
    block = text.partition("Examples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in block.splitlines()]


class Stage:
    """A namespace as the examples expect it: job dqn of team vision with a learner and a collector, and job.yaml."""

    def __init__(self, jobs, folder):
        self.jobs, self.folder = jobs, folder
        body = self.body("train", ends=True)
        (folder / "job.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
        (folder / "token").write_text("a token\n", encoding="utf-8")

    @staticmethod
    def body(name, ends):
        one = job(name)
        one["metadata"]["labels"] = {"team": "vision"}
        for role in ("learner", "collector"):
            one["spec"][role] = {**copy.deepcopy(one["spec"][role]), "replicas": 1}
        if ends:
            one["spec"]["coordinator"]["template"]["metadata"] = ENDS
        return one

    def prepare(self, example):
        """dqn runs; where the example waits for its end, it ends by itself."""
        ends = " wait " in example or " -f" in example
        for name in [one["metadata"]["name"] for one in self.all()]:
            self.jobs.delete(name)
        wait_for(lambda: not self.jobs.core.list_namespaced_pod(self.jobs.namespace).items, "old pods to be deleted")
        self.jobs.create(self.body("dqn", ends))
        self.jobs.wait_phase("dqn", "Succeeded" if ends else "Running")

    def all(self):
        return self.jobs.custom.list_namespaced_custom_object(
            "nervex.sensetime.com", "v1alpha1", self.jobs.namespace, "nervexjobs")["items"]


CHANGING = ("scale", "suspend", "resume", "delete", "submit", "simulate", "wait", "replicas", "logs")


@pytest.fixture
def queue(custom, namespace):
    with own_queues(custom, namespace) as made:
        yield made.create("vision")


def test_every_example_runs(jobs, pod_logs, nervexctl, target, env, tmp_path, namespace, queue):
    with open(target.kubeconfig, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    for context in config["contexts"]:
        context["context"]["namespace"] = namespace
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config), encoding="utf-8")
    user = command(target, f"--chdir={tmp_path}", f"KUBECONFIG={tmp_path}/kubeconfig",
                   f"NERVEX_SERVER_URL={env['NERVEX_SERVER_URL']}", "sh", "-c")
    for pod in ("dqn-coordinator", "train-coordinator"):
        pod_logs.end(pod)
    stage = Stage(jobs, tmp_path)
    stage.prepare("")
    failed = []
    for verb in list_verbs(nervexctl) + list_verbs(nervexctl, "replicas"):
        if verb == ("replicas",):
            continue
        text = nervexctl(*verb, "--help").stdout
        assert "Exit status: 0 " in text, verb
        examples = find_examples(text)
        assert examples, f"{' '.join(verb)} has no example"
        for example in examples:
            assert example.startswith(f"kubectl nervex {' '.join(verb)}"), example
            if verb[0] in CHANGING:
                stage.prepare(example)
            if "dqn-collector-x2b7k" in example:
                (collector,) = jobs.pods("dqn", "collector")
                example = example.replace("dqn-collector-x2b7k", collector.metadata.name)
            example = example.replace("queue vision", f"queue {queue}")
            if "--learners 1 --gpus" in example:
                example = example.replace("--gpus 10", "--gpus 2")  # the size of these nodes
            said = user(example)
            if said.returncode != 0:
                failed.append((example, said.returncode, said.stdout, said.stderr))
    assert not failed, failed


@pytest.mark.parametrize("line, want", [
    ("nervexctl su", ["submit", "suspend"]),
    ("nervexctl replicas ", ["add", "get", "remove", "replace"]),
    ("nervexctl list --so", ["--sort"]),
    ("nervexctl list --sort=a", ["age"]),
    ("kubectl-nervex logs dqn le", ["learner"]),
])
def test_bash_completes_verbs_and_flags(target, line, want):
    assert completed(target, line) == want


def test_bash_completes_jobs_and_namespaces(target, jobs, namespace):
    jobs.create(job("dqn", suspend=True))
    jobs.create(job("ppo", suspend=True))
    assert completed(target, f"nervexctl explain -n {namespace} d") == ["dqn"]
    assert completed(target, f"nervexctl delete -n {namespace} dqn ") == ["dqn", "ppo"]
    assert completed(target, f"nervexctl list -n {namespace[:-2]}") == [namespace]


def test_kubectl_completes_its_plugin(target, jobs, namespace):
    """kubectl calls this program for words after `kubectl nervex`, and expects cobra's protocol."""
    said = subprocess.run(["kubectl", "__complete", "nervex", "lo"], capture_output=True, text=True,
                          env=environment(target), timeout=60)
    assert said.stdout == "logs\n:4\n", said


def completed(target, line):
    """What bash offers for the last word of the line. COMP_WORDS is split at "=", as bash does it."""
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
    script = f"""source <(nervexctl completion bash)
COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}
_nervexctl; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment(target), timeout=60)
    assert not said.stderr, said
    return said.stdout.split()
