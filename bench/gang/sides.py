"""Who starts the gangs: which programs run, and what a user creates."""

import dataclasses
import functools
import glob
import os
from collections.abc import Callable

from tools.cluster import control_plane, manifests
from tools.controlplane import binaries

from gang import programs, scenarios
from gang.parallel import create

NERVEX, COSCHEDULING, NATIVE = "nervex.sensetime.com/v1alpha1", "scheduling.x-k8s.io/v1alpha1", "scheduling.k8s.io/v1alpha2"
KUBEFLOW, BATCH = "kubeflow.org/v1", "batch/v1"
IMAGE = "registry.k8s.io/pause:3.10"


@dataclasses.dataclass(frozen=True)
class Side:
    name: str             # lower case, for names of objects; no dash, as it begins the gangs' names
    title: str
    programs: Callable    # of a cluster: starts, stops, names the processes
    requests: Callable    # of (side, scenario, names of the gangs): [what must be there before], [the rest]
    is_gang: bool         # does it promise whole gangs?
    has_status: bool = False  # does an object of the user's say how its pods are?
    service: bool = False  # its pods have names in DNS, by one headless Service that the benchmark makes
    names: bool = False    # they have names that its own controller makes
    of_ours: bool = False

    @property
    def namespace(self):
        return f"gang-{self.name}"

    @property
    def deciding(self):
        """The processes whose CPU and memory count as its scheduler's."""
        return ("scheduler", "extender") if self.of_ours else ("scheduler",)


def path(api_version, namespace, plural):
    root = "/api/v1" if api_version == "v1" else f"/apis/{api_version}"
    return f"{root}/namespaces/{namespace}/{plural}"


def container(scenario):
    return {"name": "nervex-container", "image": IMAGE,
            "resources": {"requests": {"cpu": scenario.cpu, "memory": "64Mi"}}}


# -- ours: jobs of a coordinator, an aggregator and collectors. All pods ask for the same, so the configuration for
# aggregators is replaced by one of that kind.

def jobs(side, scenario, gangs):
    template = {"template": {"spec": {"containers": [container(scenario)]}}}
    at = path(NERVEX, side.namespace, "nervexjobs")
    near = {"topology": {"level": scenarios.BLOCK}} if scenario.block else {}
    return [], [create(at, {
        "apiVersion": NERVEX, "kind": "NerveXJob", "metadata": {"name": gang},
        "spec": {**near, "aggregator": "PerJob", "coordinator": template,
                 "collector": {**template, "replicas": scenario.pods - 2}}}) for gang in gangs]


def aggregator_configuration(scenario):
    return {"apiVersion": NERVEX, "kind": "AggregatorConfig",
            "metadata": {"name": "aggregator-config", "namespace": "nervex-system"},
            "spec": {"aggregator": {"template": {"spec": {"containers": [container(scenario)]}}}}}


# -- other controllers of jobs, which make the pods

def tf_jobs(side, scenario, gangs):
    template = {"spec": {"containers": [{**container(scenario), "name": "tensorflow"}]}}
    at = path(KUBEFLOW, side.namespace, "tfjobs")
    return [], [create(at, {
        "apiVersion": KUBEFLOW, "kind": "TFJob", "metadata": {"name": gang},
        "spec": {"tfReplicaSpecs": {"Worker": {"replicas": scenario.pods, "restartPolicy": "Never",
                                               "template": template}}}}) for gang in gangs]


def indexed_jobs(side, scenario, gangs):
    """Their pods go on, as those of the others."""
    template = {"metadata": {"labels": {"app": side.namespace}, "annotations": {"nervex-e2e/runs": "yes"}},
                "spec": {"containers": [container(scenario)], "restartPolicy": "Never", "subdomain": side.namespace}}
    at = path(BATCH, side.namespace, "jobs")
    return [], [create(at, {
        "apiVersion": BATCH, "kind": "Job", "metadata": {"name": gang},
        "spec": {"completionMode": "Indexed", "completions": scenario.pods, "parallelism": scenario.pods,
                 "template": template}}) for gang in gangs]


# -- pods that the benchmark makes, one after another, and of contending gangs in turn, as several controllers would

def pods(side, scenario, gangs, mark=lambda pod, gang: None):
    numbers = [(gang, number) for gang in gangs for number in range(scenario.pods)]
    if scenario.is_contention:
        numbers.sort(key=lambda one: one[1])
    at = path("v1", side.namespace, "pods")
    return [create(at, pod(side, scenario, gang, f"{gang}-{number:04}", mark)) for gang, number in numbers]


def pod(side, scenario, gang, name, mark):
    """With the labels that a job's controller sets."""
    one = {"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": name, "labels": {"app": side.namespace, "gang": gang}},
           "spec": {"containers": [container(scenario)], "restartPolicy": "Never"}}
    if side.service:
        one["spec"].update(hostname=name, subdomain=side.namespace)
    mark(one, gang)
    return one


def bare(side, scenario, gangs):
    return [], pods(side, scenario, gangs)


def coscheduled(side, scenario, gangs):
    at = path(COSCHEDULING, side.namespace, "podgroups")
    groups = [create(at, {"apiVersion": COSCHEDULING, "kind": "PodGroup", "metadata": {"name": gang},
                          "spec": {"minMember": scenario.pods}}) for gang in gangs]

    def mark(one, gang):
        one["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = gang
    return groups, pods(side, scenario, gangs, mark)


def native(side, scenario, gangs):
    near = {"schedulingConstraints": {"topology": [{"key": scenarios.BLOCK}]}} if scenario.block else {}
    at = path(NATIVE, side.namespace, "podgroups")
    groups = [create(at, {"apiVersion": NATIVE, "kind": "PodGroup", "metadata": {"name": gang},
                          "spec": {**near, "schedulingPolicy": {"gang": {"minCount": scenario.pods}}}}) for gang in gangs]

    def mark(one, gang):
        one["spec"]["schedulingGroup"] = {"podGroupName": gang}
    return groups, pods(side, scenario, gangs, mark)


def shared_service(side):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": side.namespace, "namespace": side.namespace},
            "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"app": side.namespace}}}


# -- which there are

def default_programs(cluster):
    return programs.Peer(cluster, "default")


def coscheduling_programs(cluster, limits=programs.UNLIMITED):
    return programs.Peer(cluster, "coscheduling", profile=programs.COSCHEDULING,
                         binary=binaries.path("coscheduling-scheduler", "--peers"), limits=limits)


def native_programs(cluster):
    return programs.Peer(cluster, "native", gates=control_plane.NATIVE_GANGS)


def kubeflow_programs(limits, cluster):
    return programs.Together(coscheduling_programs(cluster, limits), programs.Operator(cluster, limits))


def job_programs(limits, cluster):
    return programs.Together(programs.Peer(cluster, "default", limits=limits), programs.JobController(cluster, limits))


def our_programs(flags, cluster):
    return programs.Ours(cluster, flags)


KUBEFLOW_TITLE = "Kubeflow's training operator with coscheduling"
JOBS_TITLE = "Indexed Jobs"
BARE = Side("bare", "default scheduler, bare pods", default_programs, bare, False)
# First those that a user would take; last what a start costs at least.
PEERS = (
    Side("kubeflow", f"{KUBEFLOW_TITLE}, as shipped", functools.partial(kubeflow_programs, programs.SHIPPED), tf_jobs,
         True, has_status=True, names=True),
    Side("kubeflowfast", f"{KUBEFLOW_TITLE}, without client limits",
         functools.partial(kubeflow_programs, programs.UNLIMITED), tf_jobs, True, has_status=True, names=True),
    Side("indexed", f"{JOBS_TITLE}, as shipped", functools.partial(job_programs, programs.SHIPPED), indexed_jobs, False,
         has_status=True, service=True),
    Side("indexedfast", f"{JOBS_TITLE}, without client limits", functools.partial(job_programs, programs.UNLIMITED),
         indexed_jobs, False, has_status=True, service=True),
    Side("cosched", "scheduler-plugins coscheduling", coscheduling_programs, coscheduled, True),
    Side("native", "native gangs of Kubernetes 1.36", native_programs, native, True),
    Side("names", "default scheduler, same DNS names", default_programs, bare, False, service=True),
    BARE,
)
ACCOUNTS = {**dict.fromkeys(("default", "coscheduling", "native"), programs.SCHEDULER_ROLES),
            **dict.fromkeys((programs.JobController.ACCOUNT, programs.Operator.ACCOUNT), programs.CONTROLLER_ROLES)}


def ours(name="ours", flags=None):
    """The suite as installed, or a variant: {program: additional flags}."""
    def name_of(program, more):
        return f"programs of {os.path.basename(os.path.abspath(more))}" if program == programs.FOLDER else f"{program} {more}"
    title = "nervex" + "".join(f", {name_of(*one)}" for one in (flags or {}).items())
    return Side(name, title, functools.partial(our_programs, flags or {}), jobs, True, has_status=True, names=True,
                of_ours=True)


def crds():
    """The kind of coscheduling's gangs, and TFJobs; none of a peer that is not built."""
    found = []
    for option, pattern in (("--peers", "*.yaml"), ("--operator", "kubeflow.org_tfjobs.yaml")):
        for name in sorted(glob.glob(os.path.join(binaries.path("crds", option), pattern))):
            with open(name, encoding="utf-8") as file:
                found += [one for one in manifests.load_all(file) if one]
    return found
