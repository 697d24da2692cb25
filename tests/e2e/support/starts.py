"""In which order were gangs committed and pods bound? All changes of the PodGroups and pods of one namespace, by
resourceVersion. Both kinds are in one etcd, so these order changes of both."""

import http.client
import threading

from tools.cluster import pod_groups
from tools.cluster.api import ApiError

from support.invariants import Broken
from support.jobs import GROUP, VERSION
from support.observer import ANNOTATION, is_bound
from support.wait import wait_for


def version_of(one):
    return int(one["metadata"]["resourceVersion"])


class Starts:
    """Runs from start() to stop(). It does not support outages of the API server, during which it would miss
    changes."""

    def __init__(self, api, namespace):
        self._api, self._stopping = api, threading.Event()
        self._paths = {"pods": f"/api/v1/namespaces/{namespace}/pods",
                       "groups": f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/podgroups"}
        self._seen = {"pods": {}, "groups": {}}  # UID: version seen last
        self.groups = {}                         # UID: [the PodGroup at each of its changes]
        self.bound = {}                          # pod UID: the pod when it was bound
        self.failed = []

    def start(self):
        for kind, path in self._paths.items():
            version = self._api.get(path)["metadata"]["resourceVersion"]
            threading.Thread(
                target=self._follow, args=(kind, path, version), name=f"starts-{kind}", daemon=True).start()
        return self

    def stop(self):
        self._stopping.set()

    def catch_up(self):
        """Waits until the current state was seen."""
        def look():
            now = {kind: {one["metadata"]["uid"]: version_of(one) for one in self._api.get(path)["items"]}
                   for kind, path in self._paths.items()}
            behind = [uid for kind, versions in now.items() for uid, version in versions.items()
                      if self._seen[kind].get(uid, 0) < version]
            assert not self.failed, self.failed
            return not behind, behind
        wait_for(look, "all changes of pods and PodGroups to be seen")

    # -- after catch_up()

    def bound_of(self, group_uid):
        """The pods bound, in this order: [(version, slot key, node)]."""
        found = [(version_of(pod), annotation(pod, "slot"), pod["spec"]["nodeName"])
                 for pod in list(self.bound.values()) if annotation(pod, "pod-group-uid") == group_uid]
        return sorted(found)

    def committed_at(self, group_uid, gang="base"):
        """The version in which the gang was first committed; None: never."""
        return next((version_of(group) for group in self.groups.get(group_uid, [])
                     if (status_of(group, gang) or {}).get("committed")), None)

    def refusals(self, group_uid, gang="base"):
        """The gang's status after each refusal of one of its plans."""
        found = {}
        for group in self.groups.get(group_uid, []):
            one = status_of(group, gang) or {}
            count = one.get("refusals", {}).get("count", 0)
            found.setdefault(count, (version_of(group), one, group.get("status", {}).get("avoid", [])))
        return [found[count] for count in sorted(found) if count]

    def broken(self):
        """A sentence for each gang with a pod bound before the whole gang was committed."""
        found = Broken()
        for uid in sorted({annotation(pod, "pod-group-uid") for pod in list(self.bound.values())} - {""}):
            committed, bound = self.committed_at(uid), self.bound_of(uid)
            early = [one for one in bound if committed is None or one[0] < committed]
            if early:
                found.append(f"{early} were bound, and their gang was committed at {committed}")
        return found

    def is_whole(self, group_uid):
        """Every slot of the PodGroup had a bound pod."""
        wanted = {f"{role}/{ordinal}" for role, ordinal in pod_groups.slots(self.groups[group_uid][-1])}
        return {key for _, key, _ in self.bound_of(group_uid)} == wanted

    def assert_first_plan(self, jobs, name):
        """No plan of the job was refused, and none was made before this one: placement numbers never repeat. Catches up
        first."""
        group = jobs.pod_groups(name)[0]
        uid = group["metadata"]["uid"]
        self.catch_up()
        assert self.is_whole(uid)
        assert not self.refusals(uid)
        assert group["status"]["nextPlacement"] == len(jobs.pods(name)) + 1, group["status"]

    # -- on the threads

    def _follow(self, kind, path, version):
        try:
            for event in self._api.changes(path, version, self._stopping):
                self._see(kind, event["object"])
        except (OSError, http.client.HTTPException, ApiError, ValueError) as error:
            if not self._stopping.is_set():
                self.failed.append(f"the watch of {kind} failed: {error!r}")

    def _see(self, kind, one):
        uid = one["metadata"]["uid"]
        if kind == "groups":
            self.groups.setdefault(uid, []).append(one)
        elif is_bound(one):
            self.bound.setdefault(uid, one)
        self._seen[kind][uid] = version_of(one)


def annotation(pod, name):
    return pod["metadata"].get("annotations", {}).get(ANNOTATION + name, "")


def status_of(group, gang):
    return next((one for one in group.get("status", {}).get("gangs", []) if one["name"] == gang), None)
