"""The variants of manifests/ as reviewers see them: each object with the fields that matter."""

import os

import yaml
from tools.base.tree import ROOT
from tools.cluster import manifests

VARIANTS = ["cert-manager", "self-issued", "hardened", "hardened-self-issued"]
BASE = "cert-manager"  # the others are described by how they differ from it
GOLDEN = os.path.join(ROOT, "tests", "golden", "manifests")


def title(one):
    meta = one["metadata"]
    return " ".join([one["kind"], "/".join(filter(None, [meta.get("namespace"), meta["name"]]))])


def rule(one):
    """One RBAC rule as a line: "get, patch secrets [nervex-ca]"."""
    group = f" of {','.join(one['apiGroups'])}" if one["apiGroups"] != [""] else ""
    names = f" [{', '.join(one['resourceNames'])}]" if "resourceNames" in one else ""
    return f"{', '.join(one['verbs'])} {', '.join(one['resources'])}{group}{names}"


def binding(one):
    return {"role": f"{one['roleRef']['kind']} {one['roleRef']['name']}",
            "subjects": [" ".join([s["kind"], "/".join(filter(None, [s.get("namespace"), s["name"]]))])
                         for s in one["subjects"]]}


def probe(one):
    get = one["httpGet"]
    return f"{get.get('scheme', 'HTTP').lower()} {get['port']}{get['path']}"


def container(one):
    return {"image": one["image"], "command": one.get("command", []) + one.get("args", []),
            "ports": [f"{p['name']} {p['containerPort']}" for p in one.get("ports", [])],
            "probes": {name: probe(one[name]) for name in ("startupProbe", "livenessProbe", "readinessProbe")
                       if name in one},
            "resources": one["resources"]}


def pod(template):
    spec = template["spec"]
    return {"account": f"{spec['serviceAccountName']}, token mounted: {spec['automountServiceAccountToken']}",
            "priority": spec.get("priorityClassName"), "grace": spec.get("terminationGracePeriodSeconds"),
            "spread": [f"{s['topologyKey']} {s['whenUnsatisfiable']}" for s in spec.get("topologySpreadConstraints", [])],
            "containers": {one["name"]: container(one) for one in spec["containers"]}}


def hook(one):
    return {"path": one["clientConfig"]["service"]["path"], "failurePolicy": one["failurePolicy"],
            "timeoutSeconds": one["timeoutSeconds"], "sideEffects": one["sideEffects"],
            "rules": one["rules"], "matchConditions": one.get("matchConditions")}


def template_of(one):
    """The pod template of a workload, or None."""
    spec = one.get("spec", {})
    if one["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return spec.get("template") if one["kind"] in ("Deployment", "Job", "CronJob") else None


def workload(one):
    fields = ("replicas", "strategy", "schedule", "concurrencyPolicy", "ttlSecondsAfterFinished")
    return {**{name: one["spec"][name] for name in fields if name in one["spec"]}, "pod": pod(template_of(one))}


SUMMARIES = {
    "Namespace": lambda one: one["metadata"]["labels"],
    "CustomResourceDefinition": lambda one: [version["name"] for version in one["spec"]["versions"]],
    "ServiceAccount": lambda one: {"token mounted": one.get("automountServiceAccountToken")},
    "Role": lambda one: [rule(r) for r in one["rules"]],
    "ClusterRole": lambda one: [rule(r) for r in one["rules"]],
    "RoleBinding": binding,
    "ClusterRoleBinding": binding,
    "ConfigMap": lambda one: {name: yaml.safe_load(text) for name, text in one["data"].items()},
    "Deployment": workload,
    "Job": workload,
    "CronJob": workload,
    "MutatingWebhookConfiguration": lambda one: {"annotations": one["metadata"].get("annotations"),
                                                 **{h["name"]: hook(h) for h in one["webhooks"]}},
}
SUMMARIES["ValidatingWebhookConfiguration"] = SUMMARIES["MutatingWebhookConfiguration"]


def summary(objects):
    """{title: fields}. Kinds without an entry above are shown whole."""
    return {title(one): SUMMARIES.get(one["kind"], lambda other: other["spec"])(one) for one in objects}


def difference(objects, base):
    """What is added or changed relative to `base`, and the titles of what is missing."""
    changed = {name: fields for name, fields in objects.items() if base.get(name) != fields}
    missing = sorted(set(base) - set(objects))
    return {**changed, **({f"not in this variant, unlike {BASE}": missing} if missing else {})}


class Plain(yaml.SafeDumper):
    """A YAML dumper without anchors: each object is readable alone."""

    def ignore_aliases(self, data):
        return True


def text(fields):
    return yaml.dump(fields, Dumper=Plain, sort_keys=True, width=110)


def check_accepted(kubectl, objects):
    """The API server accepts every object in a dry run, and knows every field. Returns what kubectl said."""
    for one in objects:  # an address of the local webhook must not be mixed with that of the service
        if one["kind"] in manifests.WEBHOOK_KINDS:
            one["metadata"]["name"] += "-tried"
    said = kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-",
                   body=manifests.dump_all(objects))
    assert said.returncode == 0, said.stderr
    assert len(said.stdout.splitlines()) == len(objects)
    return said
