"""One round: a side's programs start, its gangs are created and bound, and all is cleared away."""

import contextlib
import json
import time

from tools.base.console import Failure, wait_for
from tools.cluster import control_plane, manifests, nodes
from tools.cluster.api import ApiError

from gang import scenarios, sides
from gang.audit import AuditLog, Timeline
from gang.parallel import Requests, create, delete
from gang.programs import Meter, Nobody, install_accounts
from gang.stages import Holds, stages_of

POLL = 0.1   # seconds between looks at the audit log
GONE = 120.0
ATTEMPTS = 3
SLOWEST = 20  # pods a second that large scenarios are waited for


class Bench:
    """A cluster, and what its rounds have in common. `idle`: seconds after which a gang that is not bound is taken to
    wait for capacity; `window`: for which its waiting is then measured; `holds`: look at how many binds are held."""

    def __init__(self, cluster, workers, timeout, idle, window, holds):
        self.cluster, self.api = cluster, cluster.api()
        self.requests = Requests(self.api, workers)
        self._timeout, self._idle, self._window, self._holds = timeout, idle, window, holds
        self._alone = {}  # CPU seconds of the control plane in a window without any side's programs

    # -- before

    def prepare(self, chosen):
        """Accounts, kinds and namespaces of these sides."""
        manifests.apply(self.cluster.settings, sides.crds())
        install_accounts(self.cluster.settings, sides.ACCOUNTS)
        manifests.apply(self.cluster.settings, [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": side.namespace}} for side in chosen])

    def set_nodes(self, count, block=0):
        """Sets the number of nodes, all usable; with blocks of so many nodes."""
        path = "/api/v1/nodes"
        there = {one["metadata"]["name"] for one in self.api.get(path)["items"]}
        kind = "block" if block else "node"
        wanted = {f"{kind}-{number:05}" for number in range(count)}
        added = [nodes.ready_node(name) for name in sorted(wanted - there)]
        for one in added if block else []:
            number = int(one["metadata"]["name"].removeprefix("block-"))
            one["metadata"]["labels"][scenarios.BLOCK] = f"block-{number // block}"
        self.requests.send_all([create(path, one) for one in added])
        self.requests.send_all([delete(f"{path}/{name}") for name in sorted(there - wanted)])
        nodes.wait_for_nodes(self.api, count, timeout=600, interval=2.0)
        Meter(self.cluster, Nobody()).wait_until_calm(timeout=60)

    def measure_alone(self):
        """What the control plane uses on its own is not a cost of waiting gangs."""
        meter = Meter(self.cluster, Nobody())
        time.sleep(self._window)
        self._alone = meter.cpu()

    # -- the round

    def run(self, side, scenario, number):
        """Returns the measurements as a dict."""
        gangs = scenario.gang_names(f"{side.name}-{number}")
        if side.service:
            manifests.apply(self.cluster.settings, [sides.shared_service(side)])
        programs = side.programs(self.cluster)
        try:
            programs.start()
            if side.of_ours:
                self.set_aggregators(scenario)  # by the webhook, which judges it
            return self.measure(side, scenario, gangs, programs)
        finally:
            programs.stop()
            self.clear(side)

    def set_aggregators(self, scenario):
        one = sides.aggregator_configuration(scenario)
        at = sides.path(sides.NERVEX, one["metadata"]["namespace"], "aggregatorconfigs")
        self.requests.send_all([delete(f"{at}/{one['metadata']['name']}")], allowed=(404,))
        self.requests.send_all([create(at, one)])

    def measure(self, side, scenario, gangs, programs):
        """Measures a side whose programs run."""
        before, rest = side.requests(side, scenario, gangs)
        log, seen = AuditLog(control_plane.audit_log(self.cluster.settings)), Timeline(side.namespace, gangs)
        meter = Meter(self.cluster, programs)
        meter.wait_until_calm()
        meter = Meter(self.cluster, programs)
        holds = Holds(self.cluster) if self._holds and side.of_ours else None
        try:
            with holds or contextlib.nullcontext():
                self.requests.send_all(before)
                self.requests.send_all(rest)
                self._wait_until_bound(log, seen, scenario)
            at_bound = meter.cpu()
            waiting = self._wait_in_vain(log, seen, meter) if scenario.is_contention else {}
            meter.wait_until_calm()
            seen.add(log.read())
        finally:
            log.close()
        stages = {"stages": stages_of(seen, holds.moments() if holds else ())} if side.of_ours else {}
        return {**start_of(seen, scenario), **waiting, **stages, "cpu_at_bound": at_bound, "cpu": meter.cpu(),
                "peak_mib": meter.peaks(), "writes": {" ".join(key): count for key, count in seen.counts().items()}}

    def _wait_until_bound(self, log, seen, scenario):
        """Waits until all that can be bound is, or nothing was bound for a while."""
        deadline = time.monotonic() + max(self._timeout, scenario.expected / SLOWEST)
        count, since = 0, time.monotonic()
        while time.monotonic() < deadline:
            seen.add(log.read())
            if len(seen.bound) >= scenario.expected:
                return
            if len(seen.bound) > count:
                count, since = len(seen.bound), time.monotonic()
            if time.monotonic() - since > self._idle and (count or scenario.is_contention):
                return
            time.sleep(POLL)

    def _wait_in_vain(self, log, seen, meter):
        """The cost of waiting gangs that find no capacity."""
        meter.wait_until_calm()
        before = meter.cpu()
        time.sleep(self._window)
        seen.add(log.read())
        used = {name: round(max(0.0, seconds - before[name] - self._alone.get(name, 0)), 2)
                for name, seconds in meter.cpu().items()}
        return {"waiting_seconds": self._window, "cpu_waiting": used}

    # -- after

    def clear(self, side):
        """Deletes its objects, pods first: otherwise the garbage collector deletes them pod by pod after their
        owner."""
        kinds = [(sides.NERVEX, "nervexjobs"), (sides.KUBEFLOW, "tfjobs"), (sides.BATCH, "jobs"),
                 (sides.NERVEX, "podgroups"), (sides.COSCHEDULING, "podgroups"), (sides.NATIVE, "podgroups"),
                 ("v1", "pods"), ("v1", "services")]
        for attempt in range(ATTEMPTS):
            try:
                self._delete_all(kinds, side.namespace)
                break
            except Failure:  # a busy API server ends a request that takes a minute; the rest is left to be deleted
                if attempt == ATTEMPTS - 1:
                    raise
        wait_for(lambda: self._is_empty(kinds, side.namespace), f"the objects of {side.namespace} to go", GONE, 0.2)

    def _delete_all(self, kinds, namespace):
        pods = sides.path("v1", namespace, "pods")
        self.requests.send_all([delete(pods, {"gracePeriodSeconds": 0})])
        self._release(pods)
        self.requests.send_all([delete(sides.path(version, namespace, plural), {"gracePeriodSeconds": 0})
                                 for version, plural in kinds], allowed=(404,))

    def _release(self, pods):
        """Releases pods with the finalizer of our controller, or that of Jobs, which was stopped."""
        body = json.dumps({"metadata": {"finalizers": None}}).encode()
        self.requests.send_all([("PATCH", f"{pods}/{one['metadata']['name']}", body)
                                 for one in self.api.get(pods)["items"]], allowed=(404,))

    def _is_empty(self, kinds, namespace):
        for version, plural in kinds:
            try:
                left = self.api.get(sides.path(version, namespace, plural) + "?limit=1")["items"]
            except ApiError as error:
                if error.status != 404:  # a kind of a peer that was not built
                    raise
                continue
            if left:
                return False, f"{plural} {left[0]['metadata']['name']}"
        return True, None


def start_of(seen, scenario):
    """How the gangs started, by the API server's clock: seconds from the first create request."""
    times = seen.bound_of_gangs()
    whole = [bound[-1] - seen.began for bound in times.values() if len(bound) == scenario.pods]
    partial = [gang for gang, bound in times.items() if 0 < len(bound) < scenario.pods]
    took, waits, placed = seen.last_bound - seen.began, seen.waits(), seen.placed()
    return {"bound": len(seen.bound), "expected": scenario.expected, "whole": len(whole), "partial": len(partial),
            "complete": len(seen.bound) >= scenario.expected,
            "seconds": round(took, 3) if seen.bound else None,
            "rate": round(len(seen.bound) / took, 1) if seen.bound else 0.0,
            "placed_rate": round(len(placed) / (max(one.ended for one in placed) - seen.began), 1) if placed else None,
            "first_gang": round(min(whole), 3) if whole else None,
            "last_gang": round(max(whole), 3) if whole else None,
            "all_run": round(seen.last_started - seen.began, 3) if len(seen.started) >= scenario.expected else None,
            "p99_wait": round(waits[int(0.99 * (len(waits) - 1))], 3) if waits else None}
