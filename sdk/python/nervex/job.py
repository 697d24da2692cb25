"""A NerveXJob as Python values. Plain dataclasses: a misspelt field is a TypeError where it is written, and values are
checked by the API server."""

from __future__ import annotations

import copy
import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

API_VERSION = "nervex.sensetime.com/v1alpha1"
MAIN_CONTAINER = "nervex-container"
MAIN_PORT = "nervex-port"

Json = Dict[str, Any]
Quantity = Union[str, int, float]

NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@dataclass
class Role:
    """The pods of one role. All fields but `image` may be left out.

    image            of the main container
    command, args    of the main container
    env              variables of the main container
    cpu, memory      what a pod requests: "500m" or 0.5, "4Gi"
    gpus             whole GPUs of a pod; the resource is `gpu_resource`
    requests         further requests by resource
    port             the main port, where other pods of the job find this one
    node_selector    labels of nodes that the pods may use
    tolerations, affinity, topology_spread_constraints  as in a pod's spec
    service_account  name of the pods' ServiceAccount
    volume_mounts    as in a container; Job.volumes has the volumes
    labels, annotations  of the pods
    template         a pod template as in Kubernetes, for all other fields; the fields above override it
    """

    image: str = ""
    command: Sequence[str] = ()
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cpu: Optional[Quantity] = None
    memory: Optional[Quantity] = None
    gpus: int = 0
    gpu_resource: str = "nvidia.com/gpu"
    requests: Mapping[str, Quantity] = field(default_factory=dict)
    port: Optional[int] = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()
    affinity: Mapping[str, Any] = field(default_factory=dict)
    topology_spread_constraints: Sequence[Mapping[str, Any]] = ()
    service_account: str = ""
    volume_mounts: Sequence[Mapping[str, Any]] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    template: Mapping[str, Any] = field(default_factory=dict)

    def to_template(self) -> Json:
        """The pod template."""
        template: Json = copy.deepcopy(dict(self.template))
        for name in ("labels", "annotations"):
            if getattr(self, name):
                template.setdefault("metadata", {}).setdefault(name, {}).update(getattr(self, name))
        spec = template.setdefault("spec", {})
        if self.node_selector:
            spec.setdefault("nodeSelector", {}).update(self.node_selector)
        if self.tolerations:
            spec.setdefault("tolerations", []).extend(dict(one) for one in self.tolerations)
        if self.affinity:
            spec.setdefault("affinity", {}).update(copy.deepcopy(dict(self.affinity)))
        if self.topology_spread_constraints:
            spec.setdefault("topologySpreadConstraints", []).extend(
                copy.deepcopy(dict(one)) for one in self.topology_spread_constraints)
        if self.service_account:
            spec["serviceAccountName"] = self.service_account
        self._fill(main_container(spec))
        return template

    def _fill(self, container: Json) -> None:
        if self.image:
            container["image"] = self.image
        if isinstance(self.command, str) or isinstance(self.args, str):
            raise TypeError('command and args are lists of words: ["python3", "train.py"]')
        if self.command:
            container["command"] = list(self.command)
        if self.args:
            container["args"] = list(self.args)
        if self.env:
            kept = [one for one in container.get("env", []) if one["name"] not in self.env]
            container["env"] = kept + [{"name": name, "value": str(value)} for name, value in self.env.items()]
        if self.port is not None:
            kept = [one for one in container.get("ports", []) if one.get("name") != MAIN_PORT]
            container["ports"] = kept + [{"name": MAIN_PORT, "containerPort": self.port}]
        if self.volume_mounts:
            container.setdefault("volumeMounts", []).extend(dict(one) for one in self.volume_mounts)
        requests = dict(self.requests)
        for name, value in (("cpu", self.cpu), ("memory", self.memory)):
            if value is not None:
                requests[name] = value
        if requests:
            container.setdefault("resources", {}).setdefault("requests", {}).update(
                {name: str(value) for name, value in requests.items()})
        if self.gpus:  # of an extended resource the limit is the request
            container.setdefault("resources", {}).setdefault("limits", {})[self.gpu_resource] = str(self.gpus)


@dataclass
class Topology:
    """Nodes that are near each other: those with one value of a label.

    level    key of the node label, one of the cluster's levels: "topology.kubernetes.io/zone"
    policy   if the pods do not fit on nodes with one value: "Required" (default) waits, "Preferred" uses as few values as
             possible
    """

    level: str
    policy: Optional[str] = None

    def to_spec(self) -> Json:
        spec: Json = {"level": self.level}
        put(spec, "policy", self.policy)
        return spec


@dataclass
class Workers(Role):
    """Collectors or learners.

    replicas           base replicas: they start together with the coordinator or not at all
    reserved_replicas  capacity for this many, `replicas` included, is planned with the job and kept for the
                       coordinator's first requests
    max_replicas       the replicas API refuses to go above this
    topology           run all pods of the role near each other
    node_classes       the only classes of nodes that the pods may use, in order of preference
    """

    replicas: int = 0
    reserved_replicas: int = 0
    max_replicas: Optional[int] = None
    topology: Optional[Topology] = None
    node_classes: Sequence[str] = ()

    def to_spec(self) -> Json:
        spec: Json = {"template": self.to_template()}
        put(spec, "replicas", self.replicas or None)
        put(spec, "reservedReplicas", self.reserved_replicas or None)
        put(spec, "maxReplicas", self.max_replicas)
        put(spec, "topology", self.topology and self.topology.to_spec())
        if isinstance(self.node_classes, str):
            raise TypeError('node_classes is a list of texts: ["NVIDIA-A100-SXM4-80GB"]')
        put(spec, "nodeClasses", list(self.node_classes) or None)
        return spec


@dataclass
class Job:
    """A NerveXJob. docs/reference/job-fields.md explains each field of its spec; names are the same in snake_case.

        Job("dqn", coordinator=Role("trainer:1", command=["python3", "coordinator.py"]),
            collector=Workers("trainer:1", replicas=4, cpu=2), learner=Workers("trainer:1", replicas=1, gpus=8))
    """

    name: str
    coordinator: Role
    collector: Optional[Workers] = None
    learner: Optional[Workers] = None
    namespace: str = ""  # default: the client's
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    group: Optional[str] = None
    priority_class_name: Optional[str] = None
    queue: Optional[str] = None  # default: the queue of the namespace
    topology: Optional[Topology] = None  # of all pods of the job
    aggregator: Optional[str] = None
    clean_pod_policy: Optional[str] = None
    suspend: Optional[bool] = None
    preemptible: Optional[bool] = None
    backoff_limit: Optional[int] = None
    active_deadline_seconds: Optional[int] = None
    schedule_timeout_seconds: Optional[int] = None
    start_timeout_seconds: Optional[int] = None
    ttl_seconds_after_finished: Optional[int] = None
    reservation_seconds: Optional[int] = None
    volumes: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"name {self.name!r}: lower-case letters, digits and '-', a letter first")

    def to_manifest(self) -> Json:
        """The object as Kubernetes has it: submit() sends it, json.dumps() or yaml.safe_dump() writes it."""
        metadata: Json = {"name": self.name}
        put(metadata, "namespace", self.namespace or None)
        put(metadata, "labels", dict(self.labels) or None)
        put(metadata, "annotations", dict(self.annotations) or None)
        spec: Json = {}
        for one in dataclasses.fields(self):
            if one.name not in NOT_IN_SPEC:
                put(spec, camel_case(one.name), getattr(self, one.name))
        put(spec, "topology", self.topology and self.topology.to_spec())
        put(spec, "volumes", [dict(one) for one in self.volumes] or None)
        spec["coordinator"] = {"template": self.coordinator.to_template()}
        for name, workers in (("collector", self.collector), ("learner", self.learner)):
            if workers is not None:
                spec[name] = workers.to_spec()
        return {"apiVersion": API_VERSION, "kind": "NerveXJob", "metadata": metadata, "spec": spec}


NOT_IN_SPEC = {"name", "namespace", "labels", "annotations", "coordinator", "collector", "learner", "topology", "volumes"}


def put(into: Json, name: str, value: Any) -> None:
    if value is not None:
        into[name] = value


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def main_container(pod_spec: Json) -> Json:
    """The container of that name, else the first, else a new one."""
    containers: List[Json] = pod_spec.setdefault("containers", [])
    if not containers:
        containers.append({"name": MAIN_CONTAINER})
    return next((one for one in containers if one["name"] == MAIN_CONTAINER), containers[0])
