"""All programs start into 500 MB of objects that a tenant with the role `edit` has made as large in memory as possible,
within the memory limits of manifests/deployments, and an honest job of another namespace runs to its end."""

import pytest
from tools.base import usage
from tools.cluster import manifests, suite
from support import flood
from support.jobs import Jobs, job
from support.tenant import Tenant
from support.wait import wait_for

pytestmark = pytest.mark.extended

# MB of JSON. Most for what costs a program of ours the most: jobs for the controller, pods and Simulations for the
# extender. All of these pass admission.
SHARES = {
    "suspended jobs of empty arguments": 50,
    "jobs that wait with tolerations": 40,
    "jobs of 5,000 pods": 1,
    "pods with host ports": 4,
    "pods with 2,000 tolerations": 60,
    "pods with node affinity": 60,
    "pods of empty arguments": 60,
    "pods with annotations": 120,
    "pods with labels": 20,
    "Simulations": 50,
    "claims": 30,
    "services": 30,
}
START_TIMEOUT = 300  # seconds
UNITS = {"Mi": 1, "Gi": 1024}


def memory_limits():
    """{program: MiB}"""
    found = {}
    for one in manifests.documents("manifests/deployments/*.yaml"):
        for container in one["spec"]["template"]["spec"]["containers"] if one["kind"] == "Deployment" else []:
            text = container["resources"]["limits"]["memory"]
            found[container["name"].removeprefix("nervex-").removeprefix("kube-")] = int(text[:-2]) * UNITS[text[-2:]]
    return found


@pytest.fixture
def user(users, namespace):
    return Tenant(users, namespace, "none")


def fill(user):
    stored = 0
    for kind, share in SHARES.items():
        done = flood.Fill(user, kind, share * flood.MB).run()
        print(f"{kind}: {done.stored} objects, {done.size / flood.MB:.0f} MB; refused: {done.refusals[:1]}")
        assert done.size >= share * flood.MB // 2, (kind, done.stored, done.refusals)
        stored += done.size
    return stored


def start_all(programs):
    """The API server needs a while to send all of that."""
    for name in suite.PROGRAMS:
        before = programs.programs[name]
        programs.stop(name)
        programs.launch(name, before["port"], before["metrics_port"])
    for name in suite.PROGRAMS:
        suite.wait_until_ready(programs.settings, programs.programs[name], START_TIMEOUT)
    programs.write_env()


def peaks(programs):
    return {name: usage.peak_mib(programs.programs[name]["pid"]) for name in suite.PROGRAMS}


def test_programs_start_into_500_mb_of_hostile_objects(user, programs, fresh_namespace, core, custom, node_agents):
    for name in suite.PROGRAMS:
        if name != "webhook":  # it reviews what is stored
            programs.stop(name)
    try:
        stored = fill(user)
    finally:
        start_all(programs)
    with fresh_namespace() as other:
        jobs = Jobs(core, custom, other)
        jobs.create(job("honest"))
        jobs.wait_phase("honest", "Running", START_TIMEOUT)
        node_agents(other).finish("honest-coordinator")
        jobs.wait_phase("honest", "Succeeded", START_TIMEOUT)
    wait_for(lambda: all(programs.is_leader(name) for name in suite.LEADERS), "the leaders to lead", START_TIMEOUT)
    seen, limits = peaks(programs), memory_limits()
    print(f"{stored / flood.MB:.0f} MB; peaks in MiB of limits: { {name: (seen[name], limits[name]) for name in seen} }")
    assert {name: peak for name, peak in seen.items() if peak > limits[name]} == {}
