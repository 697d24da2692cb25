"""Callers of the webhook other than the API server, while jobs are created through the API server."""

import concurrent.futures
import contextlib
import copy
import http.client
import itertools
import json
import os
import ssl
import threading
import time
import urllib.parse

from support.jobs import job
from support.wait import away, conflict, wait_for

PATH = "/validate-nervex-sensetime-com-v1alpha1-nervexjob"
# webhook/routes.cpp: a second, and at once
ACCESS_RATE, ACCESS_BURST = 100, 200
TEMPLATE_RATE, TEMPLATE_BURST = 50, 100
CALLERS = 220
JOBS = 30
BURST = 200


def with_variable(body, value):
    """A job with a unique template: the API server's verdict on it is not cached."""
    body = copy.deepcopy(body)
    container = body["spec"]["coordinator"]["template"]["spec"]["containers"][0]
    container.setdefault("env", []).append({"name": "OF", "value": value})
    return body


def forged(number):
    """A review without cached facts: its user and its template are new."""
    body = with_variable(job("forged"), f"forged-{number}")
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "operation": "CREATE", "namespace": "default", "name": "forged",
        "kind": {"group": "nervex.sensetime.com", "version": "v1alpha1", "kind": "NerveXJob"},
        "userInfo": {"username": f"forged-{number}"}, "object": body}})


class Flood:
    """Reviews from an address other than the API server's, on many connections, one at a time."""

    def __init__(self, url):
        self._address = urllib.parse.urlsplit(url)
        self._numbers = itertools.count()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(CALLERS)]
        self.answered = 0

    def _run(self):
        tls = ssl._create_unverified_context()
        while not self._stop.is_set():
            connection = http.client.HTTPSConnection(self._address.hostname, self._address.port, timeout=20,
                                                     context=tls, source_address=("127.0.0.2", 0))
            with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
                while not self._stop.is_set():
                    connection.request("POST", PATH, forged(next(self._numbers)), {"Content-Type": "application/json"})
                    connection.getresponse().read()
                    self.answered += 1

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()


def test_forged_reviews_neither_load_the_cluster_nor_block_jobs(programs, jobs, audit):
    began = time.monotonic()
    with Flood(programs.programs["webhook"]["url"]) as flood:
        wait_for(lambda: (flood.answered >= CALLERS, flood.answered), "reviews to be answered", 120)
        for number in range(JOBS):
            jobs.create(with_variable(job(f"honest-{number}", suspend=True), f"honest-{number}"))
    took = time.monotonic() - began
    asked = audit.asked_by("webhook")
    print(f"{flood.answered} forged reviews in {took:.1f} s; asked: {dict(asked)}")
    # The honest ones count, too.
    assert asked["create subjectaccessreviews"] <= ACCESS_BURST + ACCESS_RATE * took
    assert asked["create podtemplates"] <= TEMPLATE_BURST + TEMPLATE_RATE * took


def test_jobs_of_one_template_created_at_once_are_all_checked(programs, jobs):
    """A burst of an honest API server: no limit that is for others lets jobs through unchecked.

    A slow API server may time out: then the job is created again."""
    burst = with_variable(job("x", suspend=True), "burst")

    def create(number):
        def is_there():
            try:
                jobs.create({**burst, "metadata": {"name": f"burst-{number}"}})
            except Exception as error:
                if not conflict(error):  # the one that timed out was created
                    raise
            return True
        wait_for(is_there, f"job {number} of the burst to be created", 120, not_yet=[away])

    with open(programs.programs["webhook"]["log"], encoding="utf-8") as log:
        log.seek(0, os.SEEK_END)
        with concurrent.futures.ThreadPoolExecutor(100) as at_once:
            list(at_once.map(create, range(BURST)))
        assert "too many jobs are being checked at once" not in log.read()
