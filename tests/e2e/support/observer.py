"""Rules that hold at every moment, not only at the end: an observer watches pods, notes each binding of the test's
own pods and reports broken rules."""

import collections
import http.client
import threading

from tools.cluster.api import ApiError
from kubernetes.utils import parse_quantity

from support.invariants import Broken
from support.wait import away, wait_for

ANNOTATION = "nervex.sensetime.com/"


def slot_of(pod):
    """(job UID, role, ordinal) of a job's pod; None for any other. At most one pod of each lives."""
    slot = pod["metadata"].get("annotations", {}).get(ANNOTATION + "slot")
    owners = [one["uid"] for one in pod["metadata"].get("ownerReferences", []) if one["kind"] == "NerveXJob"]
    if not slot or not owners:
        return None
    role, ordinal = slot.split("/")
    return owners[0], role, int(ordinal)


def incarnation_of(pod):
    """(PodGroup UID, incarnation): together with its slot this is bound at most once."""
    annotations = pod["metadata"]["annotations"]
    return annotations.get(ANNOTATION + "pod-group-uid", ""), int(annotations.get(ANNOTATION + "incarnation", 0))


def is_bound(pod):
    return bool(pod["spec"].get("nodeName"))


def occupies(pod):
    """Includes a terminating pod."""
    return is_bound(pod) and pod["status"].get("phase") not in ("Succeeded", "Failed")


def requests_of(pod):
    total = collections.Counter({"pods": 1})
    for container in pod["spec"]["containers"]:
        for resource, amount in container.get("resources", {}).get("requests", {}).items():
            total[resource] += parse_quantity(amount)
    return total


class Observer:
    """Runs from start() to stop(). `broken` holds a sentence per broken rule; empty is good.

    It judges the bindings of one namespace, the test's own. What a node has bound to it is counted over
    all namespaces with `whole_nodes` (a cluster of the run's own), else over this namespace alone."""

    def __init__(self, api, namespace, whole_nodes=True):
        self._api, self._namespace = api, namespace
        self._path = "/api/v1/pods" if whole_nodes else f"/api/v1/namespaces/{namespace}/pods"
        self._pods = {}                                  # by UID, as seen last
        self._stopping = threading.Event()
        self._synced = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observer", daemon=True)
        self._capacity = {}                              # node: {resource: allocatable}
        self.broken = Broken()
        self.bound = collections.defaultdict(list)       # slot: the incarnations of pods ever bound to it
        self.created = collections.defaultdict(set)      # PodGroup UID: slots of pods ever created
        # (job UID, PodGroup UID): `created` when the coordinator was bound
        self.before_coordinator = {}
        self.relists = 0

    def start(self):
        self._thread.start()
        if not self._synced.wait(60):
            raise TimeoutError(f"the observer could not list pods within 60 s: {self.broken}")
        return self

    def stop(self):
        """Does not wait: an open watch ends with the process."""
        self._stopping.set()

    def catch_up(self):
        """Waits until it has seen the current state of the test's pods, so that it is not judged too early."""
        def look():
            listed = self._api.get(f"/api/v1/namespaces/{self._namespace}/pods")["items"]
            now = {pod["metadata"]["uid"]: pod["metadata"]["resourceVersion"] for pod in listed}
            seen = {uid: pod["metadata"]["resourceVersion"] for uid, pod in list(self._pods.items())
                    if self._is_own(pod)}
            return seen == now or bool(self.broken), (seen, now)
        wait_for(look, "the observer to see the pods as they are", not_yet=[away])

    def slots_bound(self, job_uid):
        """Counter of (role, ordinal): number of pods bound to it, one after another."""
        return collections.Counter({slot[1:]: len(pods) for slot, pods in list(self.bound.items())
                                    if slot[0] == job_uid})

    def bound_again(self, job_uid):
        """Slots with two bound pods of the same incarnation."""
        return sorted({slot[1:] for slot, pods in list(self.bound.items())
                       if slot[0] == job_uid and len(pods) != len(set(pods))})

    def lonely_coordinators(self, job_uid, gang):
        """What was missing of `gang` when the coordinator of each attempt was bound."""
        found = [sorted(set(gang) - created) for (job, _), created in list(self.before_coordinator.items())
                 if job == job_uid]
        return [missing for missing in found if missing]

    # -- on the observer's thread

    def _run(self):
        while not self._stopping.is_set():
            try:
                self._follow()
            except (OSError, http.client.HTTPException, ApiError):
                self._stopping.wait(0.2)  # the API server is away: list again
            except Exception as error:  # an observer that died would find everything well
                self.broken.append(f"the observer itself failed: {error!r}")
                return

    def _follow(self):
        listed = self._api.get(self._path)
        # All are known as they are now before one is judged: a list does not tell what came after what.
        before, self._pods = self._pods, {pod["metadata"]["uid"]: pod for pod in listed["items"]}
        for uid, pod in self._pods.items():
            self._judge(pod, before.get(uid))
        self.relists += 1
        self._synced.set()
        version = listed["metadata"]["resourceVersion"]
        for event in self._api.watch(f"{self._path}?watch=1&resourceVersion={version}&timeoutSeconds=300", 310):
            if self._stopping.is_set():
                return
            if event["type"] == "ERROR":
                return
            if event["type"] == "DELETED":
                self._pods.pop(event["object"]["metadata"]["uid"], None)
            elif event["type"] != "BOOKMARK":
                self._see(event["object"])

    def _is_own(self, pod):
        return pod["metadata"].get("namespace") == self._namespace

    def _see(self, pod):
        uid = pod["metadata"]["uid"]
        before, self._pods[uid] = self._pods.get(uid), pod
        self._judge(pod, before)

    def _judge(self, pod, before):
        if not self._is_own(pod):  # it takes up capacity, and is the concern of another test
            return
        slot = slot_of(pod)
        if slot and before is None:
            self.created[incarnation_of(pod)[0]].add(slot[1:])
        if not is_bound(pod) or (before is not None and is_bound(before)):
            return
        self._check_capacity(pod["spec"]["nodeName"], pod["metadata"]["name"])
        if slot:
            self._check_slot(pod, slot)

    def _check_slot(self, pod, slot):
        names = [other["metadata"]["name"] for other in self._pods.values()
                 if slot_of(other) == slot and occupies(other)]
        if len(names) > 1:
            self.broken.append(f"pods {sorted(names)} of slot {slot[1]}/{slot[2]} are bound and live at once")
        self.bound[slot].append(incarnation_of(pod))
        if slot[1] == "coordinator":
            group = incarnation_of(pod)[0]
            self.before_coordinator[slot[0], group] = set(self.created[group])

    def _check_capacity(self, node, cause):
        capacity = self._capacity_of(node)
        if capacity is None:
            self.broken.append(f"{cause} is bound to {node}, and there is no such node")
            return
        used = sum((requests_of(pod) for pod in self._pods.values()
                    if occupies(pod) and pod["spec"]["nodeName"] == node), collections.Counter())
        for resource, amount in used.items():
            if amount > capacity.get(resource, 0):
                self.broken.append(f"{node} has {resource} {capacity.get(resource, 0)} and {amount} bound to it, "
                                   f"with {cause}")

    def _capacity_of(self, node):
        """The capacity for pods according to the node object; None if the node does not exist."""
        if node not in self._capacity:
            try:
                allocatable = self._api.get(f"/api/v1/nodes/{node}")["status"]["allocatable"]
            except ApiError as error:
                if error.status != 404:
                    raise
                return None
            self._capacity[node] = {key: parse_quantity(amount) for key, amount in allocatable.items()}
        return self._capacity[node]
