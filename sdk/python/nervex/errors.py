"""The errors of this package. Catch NervexError for all of them.

    NervexError
      ApiError             the API server's answer is not a success
        NotFound           404
        AlreadyExists      409 on create
        Invalid            400, 422: the object is wrong; `causes` names the fields
        Forbidden          401, 403: the user may not do this, or admission rejects it
        Unavailable        the API server did not answer in time, or not now
      CannotStart          waiting does not help; `explanation` says why and what to do
      JobFailed            the job has failed; `explanation` says why
      JobFinished          the job has ended, and cannot be scaled or resumed
      JobDeleted           the job was deleted while it was watched
      WaitTimeout          the timeout of wait() has expired; also a TimeoutError
      ReplicasError        see nervex.replicas
        ReplicasRefused    nervex-server rejects the call for good; `status` is the HTTP status
        ReplicasUnavailable  nervex-server did not carry out the call in time
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence

if TYPE_CHECKING:
    from nervex.view import Explanation


class NervexError(Exception):
    """Base of all errors of this package."""


class ApiError(NervexError):
    """An answer of the API server that is not a success."""

    def __init__(self, message: str, status: int = 0, reason: str = "", causes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.status = status  # HTTP; 0: no answer
        self.reason = reason  # of the Status object: "AlreadyExists"
        self.causes = tuple(causes)  # "spec.cleanPodPolicy: Unsupported value ..."


class NotFound(ApiError):
    """The object does not exist."""


class AlreadyExists(ApiError):
    """An object of this name exists."""


class Invalid(ApiError):
    """The object is wrong. `causes` names each wrong field."""


class Forbidden(ApiError):
    """The user may not do this, or admission rejects it."""


class Unavailable(ApiError):
    """The API server cannot be reached, or cannot answer now."""

    retry_after = 0.0  # seconds; what the API server asks for


class CannotStart(NervexError):
    """The job waits, and waiting does not help: a person must change the job or the cluster."""

    def __init__(self, explanation: Explanation) -> None:
        super().__init__(f"job {explanation.namespace}/{explanation.name} cannot start: {explanation.summary()}")
        self.explanation = explanation


class JobFailed(NervexError):
    """The job has failed."""

    def __init__(self, explanation: Explanation) -> None:
        super().__init__(f"job {explanation.namespace}/{explanation.name} failed: {explanation.summary()}")
        self.explanation = explanation


class JobFinished(NervexError):
    """The job has ended: it cannot be scaled, suspended or resumed."""


class JobDeleted(NervexError):
    """The job was deleted, or replaced by another one of the same name, while it was watched."""


class WaitTimeout(NervexError, TimeoutError):
    """The timeout expired first. `explanation` is the latest one; None if the job could not be read."""

    def __init__(self, message: str, explanation: Optional[Explanation] = None) -> None:
        super().__init__(message)
        self.explanation = explanation


class ReplicasError(NervexError):
    """A call of nervex-server failed."""


class ReplicasRefused(ReplicasError):
    """nervex-server rejects the call for good."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status  # HTTP


class ReplicasUnavailable(ReplicasError):
    """nervex-server did not carry out the call in time."""
