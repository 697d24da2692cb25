"""NerveX: reinforcement-learning jobs on Kubernetes.

    import nervex

    client = nervex.Client()
    job = nervex.Job("dqn", coordinator=nervex.Role("trainer:1", command=["python3", "train.py"]))
    with client.submit(job) as run:
        run.wait("running", progress=print)
        for line in run.logs(follow=True):
            print(line)

nervex.replicas and nervex.operator_server, for programs inside a job, need only the standard library: the names that need
the `kubernetes` package are imported at their first use. Retries are logged by the logger "nervex".
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, List

from nervex.errors import (
    AlreadyExists,
    ApiError,
    CannotStart,
    Forbidden,
    Invalid,
    JobDeleted,
    JobFailed,
    JobFinished,
    NervexError,
    NotFound,
    ReplicasError,
    ReplicasRefused,
    ReplicasUnavailable,
    Unavailable,
    WaitTimeout,
)
from nervex.job import Job, Role, Topology, Workers
from nervex.replicas import Change, ReplicaRequest, Replicas, ReplicasClient
from nervex.status import JobList, Status
from nervex.view import (
    AvoidedNode,
    Event,
    Explanation,
    NodeReservation,
    NodeUser,
    PlannedNode,
    Problem,
    Reservation,
    RoleCounts,
    Wait,
)

if TYPE_CHECKING:
    from nervex.client import Client, JobHandle
    from nervex.logs import Notice

__version__ = "0.3.0"

__all__ = [
    "AlreadyExists", "ApiError", "AvoidedNode", "CannotStart", "Change", "Client", "Event", "Explanation", "Forbidden", "Invalid",
    "Job", "JobDeleted", "JobFailed", "JobFinished", "JobHandle", "JobList", "NervexError", "NodeReservation", "NodeUser", "NotFound", "Notice",
    "PlannedNode", "Problem", "ReplicaRequest", "Replicas", "ReplicasClient", "ReplicasError", "ReplicasRefused",
    "ReplicasUnavailable", "Reservation", "Role", "RoleCounts", "Status", "Topology", "Unavailable", "Wait", "WaitTimeout", "Workers",
]

SUBMODULES = ("kubeflow", "operator_server", "replicas")
LAZY = {"Client": "client", "JobHandle": "client", "Notice": "logs"}


def __dir__() -> List[str]:
    """What users need: for completion in a shell or a notebook."""
    return sorted([*__all__, *SUBMODULES, *(name for name in globals() if name.startswith("__"))])


def __getattr__(name: str) -> object:
    if name in LAZY:
        return getattr(importlib.import_module(f"nervex.{LAZY[name]}"), name)
    if name in SUBMODULES:
        return importlib.import_module(f"nervex.{name}")
    raise AttributeError(f"module 'nervex' has no attribute {name!r}")
