"""NerveX: reinforcement-learning jobs on Kubernetes.

    import nervex

    client = nervex.Client()
    job = nervex.Job("dqn", coordinator=nervex.Role("trainer:1", command=["python3", "train.py"]))
    with client.submit(job) as run:
        run.wait("running", progress=print)
        for line in run.logs(follow=True):
            print(line)

nervex.replicas and nervex.operator_server, for programs inside a job, need the standard library alone: the names that
need the `kubernetes` package are imported when they are used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from nervex.errors import (
    AlreadyExists,
    ApiError,
    CannotStart,
    Denied,
    JobDeleted,
    JobFailed,
    NervexError,
    NotFound,
    Refused,
    ReplicasError,
    ReplicasRefused,
    ReplicasUnavailable,
    Unavailable,
    WaitTimeout,
)
from nervex.explain import Explanation, Problem, RoleCounts, Wait
from nervex.job import Job, Role, Workers
from nervex.replicas import Ask, Change, Replicas, ReplicasClient
from nervex.status import JobList, Status

if TYPE_CHECKING:
    from nervex.client import Client, JobHandle
    from nervex.logs import Notice

__version__ = "0.3.0"

__all__ = [
    "AlreadyExists", "ApiError", "Ask", "CannotStart", "Change", "Client", "Denied", "Explanation", "Job", "JobDeleted",
    "JobFailed", "JobHandle", "JobList", "NervexError", "NotFound", "Notice", "Problem", "Refused", "Replicas",
    "ReplicasClient", "ReplicasError", "ReplicasRefused", "ReplicasUnavailable", "Role", "RoleCounts", "Status",
    "Unavailable", "Wait", "WaitTimeout", "Workers",
]

LATER = {"Client": "client", "JobHandle": "client", "Notice": "logs"}


def __getattr__(name: str) -> object:
    if name in LATER:
        return getattr(importlib.import_module(f"nervex.{LATER[name]}"), name)
    raise AttributeError(f"module 'nervex' has no attribute {name!r}")
