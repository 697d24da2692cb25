"""A standby with stale watches takes the lease: it decides nothing before its caches have the previous leader's
writes."""

import os
import signal
import time
import urllib.error
import urllib.request

import pytest
import yaml
from tools.base import processes
from support.fault_proxy import FaultProxy, writes
from support.jobs import job
from support.wait import always, wait_for

TAKE_OVER = 60
NAME = "grown"


def readyz(one):
    """(status, text) of a program's /readyz."""
    try:
        with urllib.request.urlopen(one["metrics_url"] + "/readyz", timeout=5) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Standby:
    """A second controller that talks to the API server through a proxy."""

    def __init__(self, programs):
        self.programs = programs
        self.proxy = None
        self.name = programs.start_second("controller", self._through_a_proxy)

    def _through_a_proxy(self, path):
        with open(path, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        api = self.programs.api()
        self.proxy = FaultProxy(api.server, api.certificate_authority, config["users"][0]["user"]["token"])
        config["clusters"][0]["cluster"] = {"server": self.proxy.url}
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)

    @property
    def process(self):
        return self.programs.programs[self.name]

    def leads(self):
        return self.programs.is_leader(self.name)


@pytest.fixture
def standby(programs):
    one = Standby(programs)
    yield one
    one.proxy.calm()
    programs.drop_second(one.name)  # gives its lease back, through the proxy
    one.proxy.close()


def of_job(pods):
    return sorted((pod.metadata.name, pod.metadata.uid) for pod in pods)


def test_a_standby_that_is_behind_deletes_nothing_when_it_leads(jobs, programs, standby):
    jobs.create(job(NAME, collector={"template": job(NAME)["spec"]["collector"]["template"], "replicas": 1}))
    jobs.wait_phase(NAME, "Running", timeout=TAKE_OVER)
    jobs.wait_pods(NAME, 3, "Running")
    assert not standby.leads()
    # From here on the standby's job is an old one. Everything else comes through.
    standby.proxy.freeze_watches(lambda request: request.resource == "nervexjobs")
    jobs.patch(NAME, {"spec": {"collector": {"replicas": 2}}})
    before = of_job(jobs.wait_pods(NAME, 4, "Running", timeout=TAKE_OVER))

    mark = standby.proxy.mark()
    processes.send(programs.programs["controller"], signal.SIGKILL)
    wait_for(standby.leads, "the standby to lead", timeout=TAKE_OVER)
    wait_for(lambda: (readyz(standby.process)[0] == 503, readyz(standby.process)),
             "the new leader to say that it is not up to date")
    assert "nervexjobs may be out of date" in readyz(standby.process)[1]
    # Something happens to the job, which a leader has to look at.
    for pod in jobs.pods(NAME):
        jobs.core.patch_namespaced_pod(pod.metadata.name, jobs.namespace, {"metadata": {"labels": {"touched": "yes"}}})
    always(lambda: (not standby.proxy.since(mark, writes("*")), standby.proxy.since(mark, writes("*"))),
           "a leader that is not up to date writes nothing", seconds=3)
    assert of_job(jobs.pods(NAME)) == before

    standby.proxy.thaw()
    wait_for(lambda: (readyz(standby.process)[0] == 200, readyz(standby.process)), "the new leader to be up to date")
    jobs.create(job("afterwards"))
    jobs.wait_phase("afterwards", "Running", timeout=TAKE_OVER)
    assert of_job(jobs.pods(NAME)) == before, "a pod was deleted or made again"
    assert not standby.proxy.since(mark, writes("DELETE pods")), "a pod was deleted"
    assert jobs.get(NAME)["status"]["attempt"] == 1


@pytest.mark.versions
def test_an_idle_cluster_does_not_hold_a_new_leader_up(jobs, programs, standby):
    processes.send(programs.programs["controller"], signal.SIGKILL)
    wait_for(standby.leads, "the standby to lead", timeout=TAKE_OVER)
    begin = time.monotonic()
    wait_for(lambda: (readyz(standby.process)[0] == 200, readyz(standby.process)),
             "the new leader to be up to date", interval=0.02)
    print(f"up to date {time.monotonic() - begin:.2f} s after the lease was seen to be taken")
    jobs.create(job("afterwards"))
    jobs.wait_phase("afterwards", "Running", timeout=TAKE_OVER)
