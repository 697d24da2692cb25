"""A tenant with the role `edit` in one namespace tries to fill the memory and to use up the processors of the programs:
with objects that are small as text and large in memory, and with many changes.

What a program keeps of an object costs at most three times its bytes (docs/performance.md). Two megabytes of each
kind are stored here; a parsed tree of them would take 60.
"""

import json
import subprocess
import sys
import threading

import kubernetes
import pytest
from tools.base import usage
from support.commands import environment
from support.flood import job_of_pods
from support.jobs import GROUP, VERSION, Jobs, job, template
from support.tenant import LONG, Tenant
from support.wait import wait_for

MB = 1 << 20
PROGRAMS = ("webhook", "extender", "controller", "server")
LIMITS = {"webhook": 256, "extender": 1024, "controller": 512, "server": 512}  # of the manifests, MiB
STORED = 2 * MB
SPARE = 40 * MB  # of the allocator, and what honest work takes meanwhile


@pytest.fixture
def user(users, namespace):
    return Tenant(users, namespace, "none")


class Watched:
    """What our programs use, before and after."""

    def __init__(self, programs):
        self.programs = programs
        self.before, self.cpu_before = self.resident(), self.cpu()

    def resident(self):
        return {name: int(self.programs.metrics(name)["process_resident_memory_bytes"]) for name in PROGRAMS}

    def cpu(self):
        return {name: usage.cpu_seconds(self.programs.programs[name]["pid"]) for name in PROGRAMS}

    def check_grown_at_most(self, number):
        def look():
            grown = {name: after - self.before[name] for name, after in self.resident().items()}
            return all(one <= number for one in grown.values()), {name: f"{one / MB:.1f} MiB" for name, one in grown.items()}
        wait_for(look, f"no program to have grown by more than {number / MB:.0f} MiB", 20, interval=0.5)
        assert all(used < LIMITS[name] * MB for name, used in self.resident().items())

    def check_used_at_most(self, seconds):
        used = {name: round(after - self.cpu_before[name], 2) for name, after in self.cpu().items()}
        assert all(one <= seconds for one in used.values()), used


@pytest.fixture
def watched(programs):
    return Watched(programs)


def check_others_are_served(jobs, replicas_api):
    """And that the programs have seen what came before."""
    jobs.create(job("honest"))
    jobs.wait_phase("honest", "Running", LONG)
    wait_for(lambda: replicas_api.get(namespace=jobs.namespace, coordinator="honest-coordinator").status == 200,
             "nervex-server to list it", LONG)


# -- objects


def hostile_job(name, change):
    body = job(name, suspend=True)
    change(body)
    return "nervexjobs", f"apis/{GROUP}/{VERSION}", body


def container(body):
    return body["spec"]["collector"]["template"]["spec"]["containers"][0]


def hostile_pod(name, scheduler="nervex-scheduler", meta=None, main=None, **spec):
    """It has a gate, so that it is not planned."""
    return "pods", "api/v1", {
        "metadata": {"name": name, **(meta or {})},
        "spec": {"schedulerName": scheduler, "schedulingGates": [{"name": "example.com/gate"}],
                 "containers": [{"name": "main", "image": "i", **(main or {})}], **spec}}


def simulation(name, question):
    return "simulations", f"apis/{GROUP}/{VERSION}", {
        "apiVersion": f"{GROUP}/{VERSION}", "kind": "Simulation", "metadata": {"name": name}, "spec": {"job": question}}


# Each with so many parts: a megabyte for 1,000.
KINDS = {
    "a job of empty arguments": lambda n, k: hostile_job(n, lambda b: container(b).update(args=[""] * 200 * k)),
    "a job of volumes": lambda n, k: hostile_job(n, lambda b: b["spec"].update(volumes=[
        {"name": f"v{i}", "projected": {"sources": [{"secret": {"name": "s"}}] * (k // 10)}} for i in range(250)])),
    "a pod of empty arguments": lambda n, k: hostile_pod(n, main={"args": [""] * 200 * k}),
    "a pod of another scheduler": lambda n, k: hostile_pod(n, "other", main={"args": [""] * 100 * k}, tolerations=[
        {"key": f"k{i}", "operator": "Exists"} for i in range(4 * k)]),
    "a Simulation of empty values": lambda n, k: simulation(n, {"x": [{}] * 200 * k}),
    "a Simulation of nested values": lambda n, k: simulation(n, {"x": [json.loads("[" * 60 + "]" * 60)] * 4 * k}),
}
PARTS = (1000, 200, 50)


def create_largest(user, kind, name, parts=PARTS):
    """Stores the largest object of the kind that is accepted. Returns its bytes, and of how many parts it is."""
    for number in parts:
        plural, group, body = KINDS[kind](name, number)
        status, said = user.call("POST", user.path(plural, group=group), body)
        if status == 201:
            return len(json.dumps(body, separators=(",", ":"))), (number,)
        assert status in (400, 413, 422, 500) and said["message"], said  # 500: etcd's limit
    raise AssertionError(f"{kind} is refused: {said}")


@pytest.mark.extended
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_of(user, watched, jobs, replicas_api, kind):
    stored, number, parts = 0, 0, PARTS
    while stored < STORED and number < 12:
        more, parts = create_largest(user, kind, f"large-{number}", parts)
        stored += more
        number += 1
    check_others_are_served(jobs, replicas_api)
    watched.check_grown_at_most(3 * stored + SPARE)


@pytest.mark.extended
def test_small_jobs_of_very_many_pods_wait(user, watched, fresh_namespace, core, custom, replicas_api):
    """250,000 pods by the default of nervex-controller --max-pods-per-namespace; the text of a job is small."""
    pods, most = 5_000, 250_000
    for number in range(most // pods + 3):
        body = job_of_pods(f"vast-{number}", pods)
        assert user.call("POST", user.path("nervexjobs"), body)[0] == 201

    def reasons():
        listed = user.call("GET", user.path("nervexjobs"))[1]["items"]
        return {one["metadata"]["name"]: one.get("status", {}).get("reason") for one in listed}

    def waiting():
        return [name for name, reason in reasons().items() if reason == "TooManyPods"]
    wait_for(lambda: not {None, "Queued"} & set(reasons().values()), "all jobs to be looked at", LONG)
    assert len(waiting()) == 3, reasons()
    with fresh_namespace() as other:
        check_others_are_served(Jobs(core, custom, other), replicas_api)
    watched.check_grown_at_most(120 * MB)
    user.jobs.delete(next(name for name in reasons() if name not in waiting()))
    wait_for(lambda: len(waiting()) == 2, "another job to be planned", 2 * LONG)


@pytest.mark.extended
def test_large_reviews_at_once_leave_the_webhook_within_its_memory(user, watched, jobs, replicas_api):
    """Dry runs: nothing is stored, and each is reviewed twice."""
    body = json.dumps(hostile_job("large", lambda b: container(b).update(args=[""] * 300_000))[2])
    seen = []

    def send():
        client = kubernetes.client.ApiClient(user.client.configuration)
        for _ in range(3):
            try:
                client.call_api(user.path("nervexjobs") + "?dryRun=All", "POST", body=json.loads(body),
                                header_params={"Content-Type": "application/json"}, auth_settings=["BearerToken"])
                seen.append(201)
            except kubernetes.client.ApiException as error:
                seen.append(error.status)
    threads = [threading.Thread(target=send) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(seen) == 24 and set(seen) <= {201, 413, 422, 429, 500, 503}, seen
    check_others_are_served(jobs, replicas_api)
    watched.check_grown_at_most(96 * MB)


# -- the command line of an administrator


# In a small process of its own: the peak of a process includes what its parent had when it was forked.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_maxrss * 1024, used.ru_utime + used.ru_stime)
"""


def peak_of(target, *words):
    """(exit code, peak of resident memory in bytes, seconds of CPU) of nervexctl."""
    done = subprocess.run([sys.executable, "-c", MEASURE, "nervexctl", *words], env=environment(target), check=True,
                          capture_output=True, text=True)
    code, peak, seconds = done.stdout.split()
    return int(code), int(peak), float(seconds)


def test_the_command_line_shows_hostile_objects_within_its_memory(user, target):
    for kind in ("a job of empty arguments", "a pod of empty arguments"):
        create_largest(user, kind, kind.replace(" ", "-"), PARTS[1:])
    ns = user.namespace
    for words in (("list", "-A"), ("list", "-n", ns, "-o", "json"), ("top",), ("queue", "-A"),
                  ("explain", "a-job-of-empty-arguments", "-n", ns),
                  ("explain", "a-job-of-empty-arguments", "-n", ns, "-o", "json")):
        code, peak, seconds = peak_of(target, *words)
        assert code in (0, 1), words
        assert peak < 200 * MB and seconds < 5, (words, peak / MB, seconds)


@pytest.mark.extended
def test_the_command_line_judges_a_hostile_file_within_its_memory(target, tmp_path):
    path = tmp_path / "job.json"
    path.write_text(json.dumps(hostile_job("large", lambda b: container(b).update(args=[""] * 300_000))[2]), encoding="utf-8")
    code, peak, seconds = peak_of(target, "validate", "-f", str(path))
    assert code in (0, 1) and peak < 400 * MB and seconds < 10, (code, peak / MB, seconds)
    bomb = tmp_path / "bomb.yaml"
    levels = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9))
    bomb.write_text(f"a0: &a0 x\n{levels}\napiVersion: {GROUP}/{VERSION}\nkind: NerveXJob\nmetadata: {{name: a}}\nspec: *a8\n",
                    encoding="utf-8")
    code, peak, seconds = peak_of(target, "validate", "-f", str(bomb))
    assert code != 0 and peak < 400 * MB and seconds < 10, (code, peak / MB, seconds)


# -- changes


def test_changes_of_a_waiting_job_cost_little(user, watched, jobs, replicas_api):
    jobs.create(job("waits", coordinator={"template": template(nodeSelector={"no": "node"})}))
    jobs.wait_condition("waits", "Scheduled", "False")
    for i in range(40):
        assert user.call("PATCH", user.path("nervexjobs", "waits"), {"metadata": {"annotations": {"n": str(i)}}})[0] == 200
    check_others_are_served(jobs, replicas_api)
    watched.check_used_at_most(3)


@pytest.mark.extended
def test_changes_of_a_pod_cost_little(user, watched, jobs, replicas_api):
    jobs.create(job("runs"))
    jobs.wait_phase("runs", "Running")
    for i in range(150):
        assert user.call("PATCH", user.pod_path("runs-coordinator"), {"metadata": {"labels": {"n": str(i)}}})[0] == 200
    check_others_are_served(jobs, replicas_api)
    watched.check_used_at_most(3)


def test_a_gate_that_comes_and_goes_costs_little(user, watched, jobs, replicas_api):
    """A pod with a gate is not planned; each new one without is."""
    for i in range(40):
        _, _, body = hostile_pod(f"blinks-{i}", nodeSelector={"no": "node"}, terminationGracePeriodSeconds=0)
        assert user.call("POST", user.pod_path(), body)[0] == 201
        assert user.call("PATCH", user.pod_path(f"blinks-{i}"), {"spec": {"schedulingGates": []}})[0] == 200
        assert user.call("DELETE", user.pod_path(f"blinks-{i}"), {"gracePeriodSeconds": 0})[0] == 200
    check_others_are_served(jobs, replicas_api)
    watched.check_used_at_most(3)


@pytest.mark.extended
def test_many_waiting_pods_of_different_shapes_do_not_delay_others(user, watched, jobs, replicas_api):
    for i in range(80):
        _, _, body = hostile_pod(f"waits-{i}", main={"resources": {"requests": {"cpu": f"{1000 + i}"}}})
        del body["spec"]["schedulingGates"]
        assert user.call("POST", user.pod_path(), body)[0] == 201
    check_others_are_served(jobs, replicas_api)
    watched.check_used_at_most(6)


@pytest.mark.extended
def test_large_constraints_do_not_delay_others(user, watched, jobs, replicas_api):
    """Pods that wait with 2,000 terms of node affinity each."""
    terms = [{"matchExpressions": [{"key": f"k{i}", "operator": "In", "values": ["v"]}]} for i in range(2000)]
    for i in range(6):
        _, _, body = hostile_pod(f"waits-{i}", affinity={"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}},
            main={"resources": {"requests": {"cpu": f"{i + 1}m"}}})
        del body["spec"]["schedulingGates"]
        assert user.call("POST", user.pod_path(), body)[0] == 201
    check_others_are_served(jobs, replicas_api)
    watched.check_used_at_most(10)


def test_large_simulations_do_not_delay_others(user, watched, jobs, replicas_api):
    question = job("asked", collector={"replicas": 4096, "template": template(cpu="1m")},
                   learner={"replicas": 900, "template": template(cpu="2m")})["spec"]
    for i in range(20):
        plural, group, body = simulation(f"asks-{i}", question)
        assert user.call("POST", user.path(plural, group=group), body)[0] == 201
    check_others_are_served(jobs, replicas_api)
    watched.check_used_at_most(10)
    watched.check_grown_at_most(96 * MB)


def test_jobs_of_5000_pods_that_wait_do_not_delay_others(user, watched, jobs, replicas_api):
    for i in range(5):
        body = job(f"large-{i}", aggregator="OnDemand", collector={"replicas": 4096, "template": template(
            cpu=f"{i + 1}", memory="999Gi")}, learner={"replicas": 900, "template": template(memory="999Gi")})
        assert user.call("POST", user.path("nervexjobs"), body)[0] == 201
    check_others_are_served(jobs, replicas_api)
    watched.check_used_at_most(10)
    watched.check_grown_at_most(96 * MB)


@pytest.mark.extended
def test_suspended_jobs_that_are_resumed_and_suspended_cost_little(user, watched, jobs, replicas_api):
    for i in range(10):
        assert user.call("POST", user.path("nervexjobs"), job(f"blinks-{i}", suspend=True))[0] == 201
    for i in range(100):
        change = {"spec": {"suspend": i % 20 >= 10}}
        assert user.call("PATCH", user.path("nervexjobs", f"blinks-{i % 10}"), change)[0] in (200, 422)
    check_others_are_served(jobs, replicas_api)
    watched.check_used_at_most(5)
