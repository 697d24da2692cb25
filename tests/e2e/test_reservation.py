"""Reservation and backfill: nodes are kept for a job that waits long, and others use them meanwhile if they end in time
or can be reclaimed.

Each test has a node of its own with 8 GPUs.
"""

import json

import pytest
from support.wait import wait_for
from test_preemption import (  # noqa: F401  gpus is a fixture
    LONG, base_gang, check_preempted, gpus, kill_extender, wait_gang, wait_running)
from test_priority import priority_class  # noqa: F401  a fixture

QUICK = "--reserve-after=2s"
HOUR = 3600


def wait_reserved(jobs, name):
    """The reservation of the job's base gang."""
    wait_for(lambda: (bool(base_gang(jobs, name).get("reservation")), base_gang(jobs, name)),
             f"{name} to have reserved nodes", LONG)
    return base_gang(jobs, name)["reservation"]


def wait_message(jobs, name, words):
    """The job says why it waits, with these words."""
    def look():
        seen = jobs.condition(name, "Scheduled") or {}
        return words in seen.get("message", ""), seen
    wait_for(look, f"{name} to say: {words}", LONG)


def wait_kept_out(jobs, name):
    wait_message(jobs, name, "reserved for another job")


def check_never_started(jobs, *names):
    for name in names:
        status = jobs.get(name)["status"]
        assert status["phase"] == "Created" and "activeSince" not in status and status["attempt"] == 1, status


def nodes_of(reservation):
    return {one["node"] for of_set in reservation["nodes"] for one in of_set["nodes"]}


@pytest.mark.usefixtures("quick")
def test_a_large_job_starts_although_small_ones_keep_coming(jobs, gpus, node):  # noqa: F811
    running = [f"runs-{number}" for number in range(4)]
    for name in running:
        jobs.create(gpus(name, 2))
    wait_running(jobs, *running)
    jobs.create(gpus("large", 8))
    reservation = wait_reserved(jobs, "large")
    assert nodes_of(reservation) >= {node} and "due" not in reservation
    assert len(reservation["countsOn"]) == len(running) and "renewAfter" in reservation
    wait_message(jobs, "large", "nodes are reserved for the gang")
    small = []
    for name in running:
        small.append(f"small-{name}")
        jobs.create(gpus(small[-1], 2))
        jobs.delete(name)
        wait_kept_out(jobs, small[-1])
    wait_running(jobs, "large")
    check_never_started(jobs, *small)
    assert "reservation" not in base_gang(jobs, "large")
    jobs.delete("large")
    wait_running(jobs, *small)


@pytest.mark.usefixtures("quick")
def test_a_job_that_ends_in_time_starts_on_reserved_nodes(jobs, gpus, nervexctl, namespace):  # noqa: F811
    jobs.create(gpus("runs", 4, activeDeadlineSeconds=2 * HOUR))
    wait_running(jobs, "runs")
    jobs.create(gpus("large", 8))
    due = wait_reserved(jobs, "large")["due"]
    jobs.create(gpus("endless", 4))
    wait_kept_out(jobs, "endless")
    jobs.create(gpus("long", 4, activeDeadlineSeconds=3 * HOUR))
    wait_kept_out(jobs, "long")
    jobs.create(gpus("stays", 4, activeDeadlineSeconds=HOUR, cleanPodPolicy="None"))
    wait_kept_out(jobs, "stays")
    jobs.create(gpus("short", 4, activeDeadlineSeconds=HOUR))
    wait_running(jobs, "short")
    explained = nervexctl("explain", "large", "-n", namespace).stdout
    assert f"Starts   {due[:19]}" in explained.replace(".000000Z", "Z"), explained
    assert "short until" in explained and "runs until" in explained, explained
    kept = json.loads(nervexctl("queue", "-n", namespace, "-o", "json").stdout)["reservations"]
    assert [(one["name"], one["gang"], one["reservation"]["due"]) for one in kept] == [("large", "base", due[:19] + "Z")]
    for name in ("runs", "short"):
        jobs.delete(name)
    wait_running(jobs, "large")
    check_never_started(jobs, "endless", "long", "stays")


def test_a_preemptible_job_starts_on_reserved_nodes_and_gives_them_back(jobs, gpus, quick):  # noqa: F811
    jobs.create(gpus("runs", 4))
    wait_running(jobs, "runs")
    jobs.create(gpus("large", 8))
    wait_reserved(jobs, "large")
    jobs.create(gpus("spot", 4, slow=True, preemptible=True, backoffLimit=0))
    wait_running(jobs, "spot")
    assert jobs.phase("large") == "Created", "nothing is reclaimed before the rest is free"
    since = jobs.get("spot")["status"]["queuedSince"]
    jobs.delete("runs")
    gang = wait_gang(jobs, "large", "Preempting")
    assert [(one["podGroup"], one["reason"]) for one in gang["victims"]] == [("spot-1", "Reservation")]
    kill_extender(quick)
    wait_running(jobs, "large")
    check_preempted(jobs, "spot", since)
    assert jobs.phase("spot") == "Created"
    jobs.delete("large")
    wait_running(jobs, "spot")


@pytest.mark.usefixtures("quick")
def test_a_job_whose_limit_is_raised_on_reserved_nodes_can_be_taken_back(jobs, gpus):  # noqa: F811
    jobs.create(gpus("runs", 4, activeDeadlineSeconds=2 * HOUR))
    wait_running(jobs, "runs")
    jobs.create(gpus("large", 8))
    wait_reserved(jobs, "large")
    jobs.create(gpus("short", 4, activeDeadlineSeconds=HOUR))
    wait_running(jobs, "short")
    since = jobs.get("short")["status"]["queuedSince"]
    jobs.patch("short", {"spec": {"activeDeadlineSeconds": 5 * HOUR}})
    jobs.delete("runs")
    wait_running(jobs, "large")
    check_preempted(jobs, "short", since)


def test_a_failover_keeps_the_reservation(jobs, gpus, quick):  # noqa: F811
    jobs.create(gpus("runs", 4))
    wait_running(jobs, "runs")
    jobs.create(gpus("large", 8))
    before = wait_reserved(jobs, "large")
    kill_extender(quick)
    jobs.create(gpus("small", 4))
    wait_kept_out(jobs, "small")
    assert base_gang(jobs, "large")["reservation"] == before
    jobs.delete("runs")
    wait_running(jobs, "large")
    check_never_started(jobs, "small")


@pytest.mark.usefixtures("quick")
def test_a_reservation_ends_with_the_job_that_has_it(jobs, gpus):  # noqa: F811
    jobs.create(gpus("runs", 4))
    wait_running(jobs, "runs")
    jobs.create(gpus("large", 8))
    wait_reserved(jobs, "large")
    jobs.create(gpus("small", 4))
    wait_kept_out(jobs, "small")
    jobs.delete("large")
    wait_running(jobs, "small")


@pytest.mark.usefixtures("quick")
def test_a_job_of_higher_priority_is_not_kept_out(jobs, gpus, priority_class):  # noqa: F811
    jobs.create(gpus("runs", 4))
    wait_running(jobs, "runs")
    jobs.create(gpus("large", 8))
    wait_reserved(jobs, "large")
    jobs.create(gpus("urgent", 4, priorityClassName=priority_class(20)))
    wait_running(jobs, "urgent")
    assert jobs.phase("large") == "Created"
