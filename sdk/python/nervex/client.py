"""Jobs of a cluster: submit, find, list; and one job: wait, explain, logs, scale, stop."""

from __future__ import annotations

import copy
import random
import uuid
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from nervex import logs as job_logs
from nervex.api import Api, Deadline, connect
from nervex.errors import AlreadyExists, CannotStart, Forbidden, JobDeleted, JobFailed, JobFinished, NotFound, Unavailable, WaitTimeout
from nervex.explain import SETTLE_SECONDS, SETTLING, explain, has_reservation
from nervex.job import API_VERSION, Job
from nervex.status import JobList, Status, read_status
from nervex.view import FINISHED, Event, Explanation, read_event

Json = Dict[str, Any]
Progress = Callable[[Explanation], None]

PATH = f"/apis/{API_VERSION}/namespaces"
SUBMISSION = "nervex.sensetime.com/submission"  # annotation: which call of submit() created the job
NAME_TRIES = 8  # of generated names, as in the API server
NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # as in the API server: they form no words


class Client:
    """The jobs that a user may see and change, with the user's own rights.

    namespace       default: that of the kubeconfig's context; in a pod, the pod's
    kubeconfig      a file; default: KUBECONFIG, ~/.kube/config, or the ServiceAccount of the pod
    context         of the kubeconfig
    outage_timeout  how many seconds a call is retried while the API server is unavailable
    api_client      a kubernetes.client.ApiClient to use instead
    """

    def __init__(self, namespace: Optional[str] = None, *, kubeconfig: Optional[str] = None,
                 context: Optional[str] = None, outage_timeout: float = 120.0, api_client: Any = None) -> None:
        own = "default"
        if api_client is None:
            api_client, own = connect(kubeconfig, context)
        self.namespace = namespace or own
        self.api = Api(api_client, outage_timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes connections; jobs are not affected."""
        self.api.close()

    def submit(self, job: Union[Job, Mapping[str, Any]], *, dry_run: bool = False) -> JobHandle:
        """Creates a job: a Job or a manifest. Raises Invalid with each wrong field, or AlreadyExists. `dry_run`: only
        checks it."""
        manifest: Json = job.to_manifest() if isinstance(job, Job) else copy.deepcopy(dict(job))
        metadata = manifest.setdefault("metadata", {})
        namespace = metadata.setdefault("namespace", self.namespace)
        # Chosen here and not by the API server: if the reply is lost, a retry under another name would create a second job.
        prefix = "" if metadata.get("name") else metadata.get("generateName") or ""
        for tries_left in reversed(range(NAME_TRIES)):
            if prefix:
                metadata["name"] = generate_name(prefix)
            try:
                created = self._create(namespace, manifest, dry_run)
                break
            except AlreadyExists:
                if not prefix or not tries_left:
                    raise
            except NotFound as error:
                raise explain_not_found(error) from error
        return JobHandle(self, namespace, created["metadata"]["name"], created["metadata"]["uid"])

    def _create(self, namespace: str, manifest: Json, dry_run: bool) -> Json:
        metadata, jobs = manifest["metadata"], f"{PATH}/{namespace}/nervexjobs"
        # If the reply is lost, the retry meets AlreadyExists: this shows whether the first try created the job.
        submission = metadata.setdefault("annotations", {})[SUBMISSION] = uuid.uuid4().hex
        try:
            return self.api.call("POST", jobs, manifest, [("dryRun", "All")] if dry_run else [])
        except AlreadyExists:
            created = self.api.get(f"{jobs}/{metadata['name']}")
            if created["metadata"].get("annotations", {}).get(SUBMISSION) != submission:
                raise
            return created

    def job(self, name: str, namespace: Optional[str] = None) -> JobHandle:
        """A handle for the job of this name. Does not check that the job exists."""
        return JobHandle(self, namespace or self.namespace, name)

    def list(self, *, namespace: Optional[str] = None, all_namespaces: bool = False, labels: str = "",
             phase: str = "") -> JobList:
        """Jobs by namespace and name. `labels`: a selector such as "team=rl,stage!=test"."""
        where = "" if all_namespaces else f"/{namespace or self.namespace}"
        path = f"{PATH}{where}/nervexjobs" if where else f"/apis/{API_VERSION}/nervexjobs"
        try:
            found = [read_status(one) for one in self.api.list(path, [("labelSelector", labels)] if labels else [])]
        except NotFound as error:
            raise explain_not_found(error) from error
        return JobList(one for one in sorted(found, key=lambda one: (one.namespace, one.name))
                       if phase in ("", one.phase))


class JobHandle:
    """One job. Its methods raise NotFound if it does not exist.

    A `with` statement deletes the job at its end:

        with client.submit(job) as run:
            run.wait()
    """

    def __init__(self, client: Client, namespace: str, name: str, uid: str = "") -> None:
        self.client, self.namespace, self.name = client, namespace, name
        self._uid = uid  # "": any job of this name
        self._api = client.api
        self._jobs = f"{PATH}/{namespace}/nervexjobs"
        self._pods = f"/api/v1/namespaces/{namespace}/pods"

    def __repr__(self) -> str:
        return f"JobHandle({self.namespace}/{self.name})"

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def __enter__(self) -> JobHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.delete(missing_ok=True)

    # -- read

    def manifest(self) -> Json:
        """The whole object."""
        job = self._api.get(f"{self._jobs}/{self.name}")
        self._check(job)
        return job

    def status(self) -> Status:
        """Phase, reason and conditions."""
        return read_status(self.manifest())

    def explain(self) -> Explanation:
        """What `kubectl nervex explain` says: why the job waits, where its pods run, and what to do. `left_out` names what
        the user may not read."""
        return self._explain(self.manifest(), Deadline())

    def events(self) -> List[Event]:
        """Events of the job, oldest first."""
        found = self._list_events(self.manifest())
        return sorted(map(read_event, found), key=lambda one: str(one.time))

    def pods(self, role: str = "") -> List[Json]:
        """The job's pods, sorted by name. `role`: coordinator, aggregator, collector, learner or ddp-learner; default: all."""
        job = self.manifest()
        return [one for one in self._list_pods(job) if role in ("", one["metadata"]["labels"].get("replica-type"))]

    # -- follow

    def watch(self, timeout: Optional[float] = None) -> Iterator[Explanation]:
        """An Explanation now and after each change of the job; ends when the job has finished, and at the timeout. Only the
        job and its plan are read: `problems` and `events` are empty. Raises JobDeleted."""
        deadline = Deadline(timeout)
        for job in self.watch_manifest(timeout):
            yield self._explain(job, deadline, plan_only=True)

    def watch_manifest(self, timeout: Optional[float] = None) -> Iterator[Json]:
        """As watch(), with the whole object."""
        for job in self._api.watch(self._jobs, self.name, Deadline(timeout)):
            if job is None:
                if not self._uid:
                    raise NotFound(f"job {self.namespace}/{self.name} does not exist", 404)
                raise JobDeleted(f"job {self.namespace}/{self.name} was deleted")
            self._check(job)
            self._uid = job["metadata"]["uid"]
            yield job
            if job.get("status", {}).get("phase") in FINISHED:
                return

    def wait(self, until: str = "finished", *, timeout: Optional[float] = None, grace: float = 10.0,
             progress: Optional[Progress] = None) -> Status:
        """Waits until the job runs (`until="running"`), has succeeded ("finished"), or has a condition with status True
        for its current spec ("Ready", "Suspended").

        `progress` is called with each new Explanation. Raises CannotStart if for `grace` seconds the job could not start
        without a change by a person; JobFailed; JobDeleted; WaitTimeout after `timeout` seconds (0: checks once), or if
        the job has succeeded without the condition.
        """
        if until not in ("running", "finished") and not until[:1].isupper():
            raise ValueError(f"until={until!r}: running, finished, or a condition such as Ready")
        deadline, settled = Deadline(timeout), Deadline(SETTLE_SECONDS)
        latest: Optional[Explanation] = None
        reported: Optional[Explanation] = None
        blocked: Optional[Deadline] = None  # the end of the grace period of a job that cannot start
        is_settling = False
        try:
            while latest is None or not deadline.expired():
                step = deadline.remaining() if blocked is None else min(deadline.remaining(), blocked.remaining())
                if is_settling:  # the job need not change when its PodGroup has been planned again
                    step = min(step, SETTLE_SECONDS)
                for job in self.watch_manifest(step):
                    latest, status = self._explain(job, deadline, plan_only=True), read_status(job)
                    is_settling = latest.advice in SETTLING
                    is_new = is_settling and not settled.expired()
                    if progress and not is_new and (reported is None or key(latest) != key(reported)):
                        reported = latest
                        progress(latest)
                    if has_reached(status, until):
                        return status
                    if status.phase == "Failed":
                        raise JobFailed(self.explain())
                    if status.finished:
                        raise WaitTimeout(f"job {self.namespace}/{self.name} has succeeded, not {until}", latest)
                    if not latest.blocked:
                        blocked = None
                        if is_settling and step > SETTLE_SECONDS:
                            break  # watch again, for a shorter time
                    elif blocked is None:
                        blocked = Deadline(grace)
                        break  # watch again, until the grace period ends
                    elif blocked.expired():
                        latest, blocked = self.explain(), None
                        if latest.blocked:
                            raise CannotStart(latest)
        except Unavailable:
            if not deadline.expired():
                raise
        raise WaitTimeout(f"job {self.namespace}/{self.name} is not {until} after {timeout:g} s"
                          + (f": {latest.summary()}" if latest else ""), latest)

    def logs(self, pod: str = "", *, follow: bool = False, tail: Optional[int] = None, previous: bool = False,
             timestamps: bool = False) -> Iterator[str]:
        """Lines of the log of the main container of a pod (default: the coordinator).

        `follow`: waits for the pod; continues after lost connections, restarts of the container and retries of the job;
        ends with the job, or with a worker's pod. Why the job waits and how the pod ended come as lines of type
        nervex.Notice, which begin with "# ".
        """
        return job_logs.read(self, pod or f"{self.name}-coordinator", follow, tail, previous, timestamps)

    # -- change

    def scale(self, *, collectors: Optional[int] = None, learners: Optional[int] = None) -> Status:
        """Sets the base replicas of the running or waiting job. Raises JobFinished if it has ended."""
        spec = {role: {"replicas": count} for role, count in (("collector", collectors), ("learner", learners))
                if count is not None}
        return self._change(spec)

    def suspend(self) -> Status:
        """Deletes the job's pods and frees their capacity; resume() queues it again. A job that has ended is not
        changed."""
        status = self.status()
        return status if status.finished else self.patch({"spec": {"suspend": True}})

    def resume(self, *, timeout: Optional[float] = 60.0) -> Status:
        """Queues a suspended job again, at the end of the queue. Waits first until the controller has suspended it. Raises
        JobFinished if the job has ended."""
        for job in self.watch_manifest(timeout):
            status = read_status(job)
            if status.finished or not job["spec"].get("suspend") or status.is_condition_true("Suspended"):
                return self._change({"suspend": False})
        raise WaitTimeout(f"job {self.namespace}/{self.name} is not suspended after {timeout:g} s")

    def _change(self, spec: Json) -> Status:
        """A change of the spec of a job that has not ended: one that has is never started again."""
        status = self.status()
        if status.finished:
            raise JobFinished(f"job {self.namespace}/{self.name} has ended ({status.phase}): submit it again to run it again")
        return self.patch({"spec": spec})

    def patch(self, change: Mapping[str, Any]) -> Status:
        """A JSON merge patch of the job."""
        body = copy.deepcopy(dict(change))
        if self._uid:  # a precondition: another job of the same name is not changed
            body.setdefault("metadata", {})["uid"] = self._uid
        return read_status(self._api.call("PATCH", f"{self._jobs}/{self.name}", body))

    def delete(self, *, missing_ok: bool = False) -> None:
        """Deletes the job and all its objects."""
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if self._uid:
            body["preconditions"] = {"uid": self._uid}
        try:
            self._api.call("DELETE", f"{self._jobs}/{self.name}", body)
        except NotFound:
            if not missing_ok:
                raise

    # -- gather

    def _check(self, job: Mapping[str, Any]) -> None:
        if self._uid and job["metadata"]["uid"] != self._uid:
            raise JobDeleted(f"job {self.namespace}/{self.name} was deleted; another one has its name")

    def _list_pods(self, job: Json, deadline: Optional[Deadline] = None) -> List[Json]:
        uid = job["metadata"]["uid"]
        found = self._api.list(self._pods, [("labelSelector", f"nervexjob-name={self.name}")], deadline)
        return [one for one in found if any(owner["uid"] == uid for owner in one["metadata"].get("ownerReferences", []))]

    def _list_events(self, job: Json, deadline: Optional[Deadline] = None) -> List[Json]:
        return self._api.list(f"/api/v1/namespaces/{self.namespace}/events",
                              [("fieldSelector", f"involvedObject.uid={job['metadata']['uid']}")], deadline)

    def _list_budgets(self, deadline: Deadline) -> List[Json]:
        """Empty for users who may not read them."""
        try:
            return self._api.list(f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets", deadline=deadline)
        except (Forbidden, NotFound):
            return []

    def _explain(self, job: Json, deadline: Deadline, plan_only: bool = False) -> Explanation:
        left_out: List[str] = []

        def read(what: str, call: Callable[[], Any], otherwise: Any) -> Any:
            try:
                return call()
            except Forbidden as error:
                left_out.append(f"cannot show {what}: {error}")
                return otherwise

        group = read("the plan", lambda: self._read_group(job, deadline), None)
        if plan_only:
            return explain(job, group, [], left_out)
        others = read("who is on the reserved nodes", lambda: self._list_others(group, deadline), [])
        pods = read("the pods", lambda: self._list_pods(job, deadline), [])
        events = read("the events", lambda: self._list_events(job, deadline), [])
        return explain(job, group, pods, left_out, events=events, budgets=self._list_budgets(deadline), others=others)

    def _list_others(self, group: Optional[Json], deadline: Deadline) -> List[Json]:
        """The namespace's other PodGroups, if nodes are reserved for a gang of this one."""
        if group is None or not has_reservation(group):
            return []
        found = self._api.list(f"{PATH}/{self.namespace}/podgroups", deadline=deadline)
        return [one for one in found if one["metadata"]["uid"] != group["metadata"]["uid"]]

    def _read_group(self, job: Json, deadline: Deadline) -> Optional[Json]:
        """The PodGroup of the attempt; one of a deleted job of the same name does not count."""
        attempt = job.get("status", {}).get("attempt", 1)
        group = self._api.find(f"{PATH}/{self.namespace}/podgroups/{self.name}-{attempt}", deadline)
        owners: Sequence[Json] = (group or {}).get("metadata", {}).get("ownerReferences", [])
        return group if any(one["uid"] == job["metadata"]["uid"] for one in owners) else None


def explain_not_found(error: NotFound) -> NotFound:
    """Only the namespace has a reason: an API server that does not know the kind answers without a Status object."""
    return error if error.reason else NotFound(f"{error}: NerveX is not installed in this cluster", error.status)


def generate_name(prefix: str) -> str:
    """As the API server makes a name from generateName."""
    return prefix[:58] + "".join(random.SystemRandom().choices(NAME_LETTERS, k=5))


def has_reached(status: Status, until: str) -> bool:
    if until == "running":
        is_suspending = bool(status.manifest.get("spec", {}).get("suspend"))
        return status.succeeded or (status.phase == "Running" and not is_suspending)
    if until == "finished":
        return status.succeeded
    return (status.observed or status.finished) and status.is_condition_true(until)


def key(seen: Explanation) -> Tuple[object, ...]:
    """What a user would call a change of an Explanation."""
    return seen.phase, seen.reason, seen.advice, [one.message for one in seen.waits]
