"""The files of manifests/ as installed into a local cluster. Only what depends on where the programs run is changed:
the webhooks' address and the scheduler's."""

import base64
import copy
import functools
import glob
import os
import subprocess
import urllib.parse

import yaml

from tools.base.console import Failure, wait_for
from tools.base.tree import ROOT
from tools.cluster.api import ApiError
from tools.controlplane import binaries

# libyaml reads and writes our definitions in a tenth of the time.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
WEBHOOK_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
POLICY_KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
AGGREGATOR_EXAMPLE = os.path.join("examples", "nervex-mock-agconfig.yaml")
JOB_EXAMPLE = os.path.join("examples", "nervex-mock-nervexjob.yaml")


def load_all(stream):
    return yaml.load_all(stream, LOADER)


def dump_all(objects):
    return yaml.dump_all(objects, Dumper=DUMPER)


def documents(*patterns):
    """The objects of these files, without those for kustomize."""
    found = []
    for pattern in patterns:
        paths = sorted(glob.glob(os.path.join(ROOT, pattern)))
        if not paths:
            raise Failure(f"{pattern} is missing in this checkout")
        for path in paths:
            with open(path, encoding="utf-8") as file:
                found += [one for one in load_all(file)
                          if one and not one["apiVersion"].startswith("kustomize.config.k8s.io/")]
    return found


def variant(name):
    """The objects of manifests/variants/<name>, as `kubectl apply -k` would send them."""
    return copy.deepcopy(_variant(name))


@functools.lru_cache(maxsize=None)
def _variant(name):
    return kustomize(os.path.join(ROOT, "manifests", "variants", name))


def kustomize(folder):
    """The objects of a kustomization."""
    done = subprocess.run([binaries.path("kubectl"), "kustomize", folder], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"kubectl kustomize {folder}: {done.stderr.strip()}")
    return [one for one in load_all(done.stdout) if one]


def kinds():
    """What an install may leave behind, as `kubectl get` arguments: every kind of every variant, and what the
    programs write. Without cert-manager's kinds, which a cluster without it does not have."""
    found = {"Lease", "Secret", "Pod", "Service", "EndpointSlice"}
    for name in os.listdir(os.path.join(ROOT, "manifests", "variants")):
        found |= {one["kind"] for one in _variant(name) if not one["apiVersion"].startswith("cert-manager.io/")}
    return ",".join(sorted(found))


def kubectl(settings, *arguments, body=None):
    command = [binaries.path("kubectl"),
               "--kubeconfig", settings.path("kubeconfig"), *arguments]
    done = subprocess.run(command, input=body, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def apply(settings, objects):
    if objects:
        kubectl(settings, "apply", "--server-side", "--field-manager=nervex-install", "-f", "-",
                body=dump_all(objects))


def install_objects(api, settings):
    """Namespace, CRDs, roles and the scheduler's configuration."""
    apply(settings, documents("manifests/base/namespace.yaml", "manifests/crds/*.yaml", "manifests/rbac/*.yaml",
                              "manifests/hardening/token-review.yaml",  # for who starts the server with --auth=token
                              "manifests/scheduler/config.yaml"))

    def established():
        missing = []
        for one in documents("manifests/crds/*.yaml"):
            name = one["metadata"]["name"]
            crd = api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
            conditions = {c["type"]: c["status"] for c in crd.get("status", {}).get("conditions", [])}
            if conditions.get("Established") != "True":
                missing.append(name)
        return not missing, f"not established: {missing}"

    wait_for(established, "the API server to serve our kinds", 30)


def install_aggregator(settings):
    """The first create of a new kind takes two seconds: the API server delays it until the kind has been established
    for that long. Called late, so that our programs start meanwhile."""
    kubectl(settings, "create", "-n", "nervex-system", "-f", os.path.join(ROOT, AGGREGATOR_EXAMPLE))


def webhook_configurations(url, authority_file):
    """The hooks of manifests/webhook with `clientConfig.service` replaced by a local address; selectors, policies
    and rules stay."""
    with open(authority_file, "rb") as file:
        bundle = base64.b64encode(file.read()).decode()
    found = []
    for one in documents("manifests/webhook/*.yaml"):
        if one["kind"] not in WEBHOOK_KINDS:
            continue  # services and certificates of a cluster where the programs run as pods
        one = copy.deepcopy(one)
        for hook in one["webhooks"]:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = {"url": url + path, "caBundle": bundle}
        found.append(one)
    if not found:
        raise Failure("manifests/webhook holds no webhook configuration")
    return found


def install_policies(api, settings):
    """Installs the policies that the API server enforces itself. Call it before the hooks exist: they would refuse
    or change the probes. Returns when the policies are enforced."""
    apply(settings, [one for one in documents("manifests/webhook/*.yaml") if one["kind"] in POLICY_KINDS])
    job = documents(JOB_EXAMPLE)[0]
    job["metadata"]["name"] = "nervex-up-asks-whether-policies-count"
    job["spec"]["requests"] = {"nextId": 1}

    def refused():
        try:
            api.post("/apis/nervex.sensetime.com/v1alpha1/namespaces/default/nervexjobs?dryRun=All", job)
            return False, "a job with requests is accepted"
        except ApiError as error:
            return "nervex-requests" in str(error), str(error)

    wait_for(refused, "the API server to know the policies", 30, interval=0.1)


def install_webhooks(api, settings, url, authority_file):
    """Installs both hooks and returns when the API server calls them: it notices new configurations a little later,
    and a job created before that would pass unchecked."""
    configurations = webhook_configurations(url, authority_file)
    names = [hook["name"] for one in configurations for hook in one["webhooks"]]
    apply(settings, configurations)
    job = documents(JOB_EXAMPLE)[0]
    job["metadata"]["name"] = "nervex-up-asks-whether-hooks-are-called"

    def called():
        api.post("/apis/nervex.sensetime.com/v1alpha1/namespaces/default/nervexjobs?dryRun=All", job)
        text = api.get("/metrics")
        asked = [name for name in names
                 if f'apiserver_admission_webhook_admission_duration_seconds_count{{name="{name}"' in text]
        return len(asked) == len(names), f"called: {asked} of {names}"

    wait_for(called, "the API server to call the webhooks", 30, interval=0.1)


def scheduler_configuration(kubeconfig, extender_url):
    """The KubeSchedulerConfiguration from its ConfigMap, for a process on this machine."""
    for one in documents("manifests/scheduler/config.yaml"):
        if one["kind"] == "ConfigMap" and "config.yaml" in one.get("data", {}):
            config = yaml.safe_load(one["data"]["config.yaml"])
            break
    else:
        raise Failure("manifests/scheduler/config.yaml holds no ConfigMap with a key config.yaml")
    config.setdefault("clientConnection", {})["kubeconfig"] = kubeconfig
    # There is one, and it must not end because a busy machine made it miss a renewal.
    config["leaderElection"] = {"leaderElect": False}
    for extender in config.get("extenders", []):
        extender["urlPrefix"] = extender_url + urllib.parse.urlsplit(extender["urlPrefix"]).path.rstrip("/")
    return config


def scheduler_environment():
    """kube-scheduler's environment in its Deployment."""
    deployment = next(one for one in documents("manifests/deployments/scheduler.yaml") if one["kind"] == "Deployment")
    containers = deployment["spec"]["template"]["spec"]["containers"]
    scheduler = next(one for one in containers if one["name"] == "kube-scheduler")
    return {one["name"]: one["value"] for one in scheduler["env"]}
