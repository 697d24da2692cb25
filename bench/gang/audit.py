"""When what was written, as the API server's audit log tells: its own clock, to the microsecond, and no watch that
would cost it more."""

import collections
import dataclasses
import datetime
import json
import os

ACCOUNT = "system:serviceaccount:"
KUBELET = "kwok-controller"  # of the simulated nodes
USERS = ("nervexjobs", "tfjobs", "jobs", "podgroups", "pods")


@dataclasses.dataclass(frozen=True)
class Write:
    began: float     # seconds since 1970: the request came
    ended: float     # it was answered
    writer: str      # the ServiceAccount's name; of others the program's
    verb: str
    resource: str    # with its subresource: pods/binding
    group: str       # API group
    namespace: str
    name: str
    status: int

    @property
    def is_granted(self):
        return self.status < 400


class AuditLog:
    """Covers requests since its construction. The API server renames a large file, and begins another one."""

    def __init__(self, path):
        self._path = path
        self._file = open(path, "rb")
        self._file.seek(0, 2)
        self._rest = b""

    def events(self):
        """Records since the last call, unchanged."""
        text = self._rest + self._file.read()
        if self._is_renamed():
            text += self._file.read()  # it was not renamed before the last line was written
            self._file.close()
            self._file = open(self._path, "rb")
            text += self._file.read()
        *lines, self._rest = text.split(b"\n")
        return [json.loads(line) for line in lines]

    def _is_renamed(self):
        try:
            return not os.path.samestat(os.fstat(self._file.fileno()), os.stat(self._path))
        except FileNotFoundError:  # the next one is not there yet
            return False

    def read(self):
        """Writes since the last call."""
        return [decode(event) for event in self.events()]

    def close(self):
        self._file.close()


def decode(event):
    at = event.get("objectRef", {})
    resource = at.get("resource", "") + (f"/{at['subresource']}" if at.get("subresource") else "")
    return Write(seconds(event["requestReceivedTimestamp"]), seconds(event["stageTimestamp"]), writer_of(event),
                 event["verb"], resource, at.get("apiGroup", ""), at.get("namespace", ""), at.get("name", ""),
                 event.get("responseStatus", {}).get("code", 0))


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def writer_of(event):
    user = event["user"]["username"]
    if user.startswith(ACCOUNT):
        return user.rpartition(":")[2]
    return event.get("userAgent", "").partition("/")[0] or "load generator"


class Timeline:
    """The writes of one round in one namespace."""

    def __init__(self, namespace, gangs):
        self._namespace, self._gangs = namespace, set(gangs)
        self.writes = []
        self.created, self.started = {}, {}  # pod: the write
        self.bound = {}  # also a pod that started without a bind: then it was created on its node

    def add(self, writes):
        for write in writes:
            if write.namespace != self._namespace or not write.is_granted:
                continue
            self.writes.append(write)
            if (write.verb, write.resource) == ("create", "pods"):
                self.created[write.name] = write
            elif (write.verb, write.resource) == ("create", "pods/binding"):
                self.bound[write.name] = write
            elif (write.verb, write.resource, write.writer) == ("patch", "pods/status", KUBELET):
                self.started.setdefault(write.name, write)
                if write.name in self.created:
                    self.bound.setdefault(write.name, self.created[write.name])

    @property
    def began(self):
        """The first create request for a user's object; a Service's endpoints may come before."""
        return min((one.began for one in self.writes if one.verb == "create" and one.resource in USERS), default=0.0)

    @property
    def last_bound(self):
        return max((one.ended for one in self.bound.values()), default=0.0)

    def placed(self):
        """Times of creates of pods that were created on their node."""
        return [write for pod, write in self.bound.items() if write is self.created.get(pod)]

    @property
    def last_started(self):
        return max((one.ended for one in self.started.values()), default=0.0)

    def bound_of_gangs(self):
        """{gang: times at which its pods were bound, in order}; every gang is there."""
        found = {gang: [] for gang in self._gangs}
        for pod, write in self.bound.items():
            found[gang_of(pod)].append(write.ended)
        return {gang: sorted(times) for gang, times in found.items()}

    def waits(self):
        """Seconds of each bound pod from its creation, in order."""
        return sorted(write.ended - self.created[pod].began for pod, write in self.bound.items() if pod in self.created)

    def counts(self):
        """Counter of (writer, "create pods")."""
        return collections.Counter((one.writer, f"{one.verb} {one.resource}") for one in self.writes)


def gang_of(pod):
    """Names of gangs are <prefix>-<round>-<number>, and their pods' begin with that."""
    return "-".join(pod.split("-")[:3])
