"""Names that users of Kubeflow's TrainingClient know, for NerveXJobs. New code uses nervex.Client."""

from __future__ import annotations

from typing import Any, Callable, Collection, Iterator, List, Mapping, Optional, Union

from nervex.client import Client, has_reached
from nervex.errors import WaitTimeout
from nervex.job import Job
from nervex.status import JobList, Status, read_status


class TrainingClient:
    """The calls of Kubeflow's class. There is one kind of job, so `job_kind` is left out; jobs are watched, so
    `polling_interval` is."""

    def __init__(self, namespace: Optional[str] = None, **options: Any) -> None:
        """`options`: those of nervex.Client."""
        self.client = Client(namespace, **options)

    def create_job(self, job: Union[Job, Mapping[str, Any]]) -> None:
        self.client.submit(job)

    def get_job(self, name: str, namespace: Optional[str] = None) -> Status:
        return self.client.job(name, namespace).status()

    def list_jobs(self, namespace: Optional[str] = None) -> JobList:
        return self.client.list(namespace=namespace)

    def delete_job(self, name: str, namespace: Optional[str] = None) -> None:
        self.client.job(name, namespace).delete()

    def get_job_conditions(self, name: str, namespace: Optional[str] = None) -> List[Mapping[str, Any]]:
        return list(self.get_job(name, namespace).conditions.values())

    def is_job_running(self, name: str, namespace: Optional[str] = None) -> bool:
        return self.get_job(name, namespace).phase == "Running"

    def is_job_succeeded(self, name: str, namespace: Optional[str] = None) -> bool:
        return self.get_job(name, namespace).phase == "Succeeded"

    def is_job_failed(self, name: str, namespace: Optional[str] = None) -> bool:
        return self.get_job(name, namespace).phase == "Failed"

    def wait_for_job_conditions(self, name: str, namespace: Optional[str] = None,
                                expected_conditions: Collection[str] = ("Succeeded",), wait_timeout: float = 600,
                                callback: Optional[Callable[[Status], None]] = None) -> Status:
        """Until one of these conditions is True. Raises JobFailed and WaitTimeout; JobHandle.wait() also notices a job
        that cannot start."""
        handle = self.client.job(name, namespace)
        status: Optional[Status] = None
        for job in handle.watch_manifest(wait_timeout):
            status = read_status(job)
            if callback:
                callback(status)
            if any(has_reached(status, condition) for condition in expected_conditions):
                return status
            if status.finished:
                break
        if status and status.phase == "Failed":
            handle.wait()  # raises JobFailed with the explanation
        raise WaitTimeout(f"job {handle.namespace}/{name}: none of {sorted(expected_conditions)} became True")

    def get_job_logs(self, name: str, namespace: Optional[str] = None, follow: bool = False) -> Iterator[str]:
        """Lines of the coordinator's log."""
        return self.client.job(name, namespace).logs(follow=follow)
