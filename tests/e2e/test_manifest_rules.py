"""docs/reference/manifest-rules.md answers the rules of kube-score and kubescape. Each row of its table is checked
against every variant of manifests/; an exception that is no longer needed fails, too."""

import os
import re

import pytest
from tools.base.tree import ROOT
from tools.cluster import manifests
from support import variants

PAGE = os.path.join(ROOT, "docs", "reference", "manifest-rules.md")


class Rendered:
    """The objects of one variant."""

    def __init__(self, variant):
        self.objects = manifests.variant(variant)

    def select(self, *kinds):
        return [one for one in self.objects if one["kind"] in kinds]

    def workloads(self):
        return [(one, variants.template_of(one)) for one in self.objects if variants.template_of(one)]

    def containers(self):
        """(title, pod spec, container) of all."""
        return [(f"{variants.title(one)} {container['name']}", template["spec"], container)
                for one, template in self.workloads() for container in template["spec"]["containers"]]

    def rules(self):
        return [(variants.title(one), rule) for one in self.select("Role", "ClusterRole") for rule in one["rules"]]


def selects(selector, labels):
    assert set(selector) <= {"matchLabels"}, selector
    return selector.get("matchLabels", {}).items() <= labels.items()


def containers_without(test):
    """The check that lists the containers without `test(container)`."""
    return lambda all_: [title for title, _, container in all_.containers() if not test(container)]


def has_resource(part, name):
    return containers_without(lambda one: name in one["resources"].get(part, {}))


def security(test):
    """`test` of a container's effective settings: its own security context overrides the pod's."""
    def check(all_):
        return [title for title, spec, container in all_.containers()
                if not test({**spec.get("securityContext", {}), **container.get("securityContext", {})})]
    return check


def without_budget(all_):
    budgets = all_.select("PodDisruptionBudget")
    assert all({"minAvailable", "maxUnavailable"} & set(one["spec"]) for one in budgets)
    return [variants.title(one) for one in all_.select("Deployment") if not any(
        selects(budget["spec"]["selector"], one["spec"]["template"]["metadata"]["labels"]) for budget in budgets)]


def without_policies(all_):
    missing = []
    for one, template in all_.workloads():
        types = {kind for policy in all_.select("NetworkPolicy")
                 if policy["metadata"]["namespace"] == one["metadata"]["namespace"]
                 and selects(policy["spec"]["podSelector"], template["metadata"]["labels"])
                 for kind in policy["spec"]["policyTypes"]}
        missing += [] if types == {"Ingress", "Egress"} else [variants.title(one)]
    return missing


def without_pods(all_):
    labels = [template["metadata"]["labels"] for _, template in all_.workloads()]
    selectors = [(one, one["spec"]["podSelector"]) for one in all_.select("NetworkPolicy")]
    selectors += [(one, {"matchLabels": one["spec"]["selector"]}) for one in all_.select("Service")]
    return [variants.title(one) for one, selector in selectors if not any(selects(selector, each) for each in labels)]


def without_spread(all_):
    wrong = []
    for one in all_.select("Deployment"):
        name = one["metadata"]["name"]
        want = "DoNotSchedule" if name == "nervex-webhook" else "ScheduleAnyway"
        found = one["spec"]["template"]["spec"].get("topologySpreadConstraints", [])
        if not [each for each in found if each["topologyKey"] == "kubernetes.io/hostname"
                and each["whenUnsatisfiable"] == want and each["maxSkew"] == 1
                # nodes that cannot take the pod must not count where the constraint is hard
                and (want != "DoNotSchedule" or each.get("nodeTaintsPolicy") == "Honor")
                and selects(each["labelSelector"], one["spec"]["template"]["metadata"]["labels"])]:
            wrong.append(name)
    return wrong


def reaching_into_nodes(all_):
    wrong = [variants.title(one) for one, template in all_.workloads()
             if {"hostNetwork", "hostPID", "hostIPC"} & set(template["spec"])
             or any("hostPath" in volume for volume in template["spec"].get("volumes", []))]
    return wrong + [title for title, _, one in all_.containers() if any("hostPort" in port for port in one.get("ports", []))]


def with_claims(all_):
    return [variants.title(one) for one, template in all_.workloads()
            if any("persistentVolumeClaim" in volume for volume in template["spec"].get("volumes", []))]


def with_secrets(all_):
    wrong = [variants.title(one) for one in all_.select("Secret")]
    return wrong + [title for title, _, one in all_.containers()
                    if one.get("envFrom") or any("valueFrom" in env for env in one.get("env", []))]


def repeats_variables(all_):
    return [title for title, _, one in all_.containers()
            if len({env["name"] for env in one.get("env", [])}) != len(one.get("env", []))]


def with_token(all_):
    for one in all_.select("ServiceAccount"):
        assert one["automountServiceAccountToken"] is False
    return [variants.title(one) for one, template in all_.workloads()
            if template["spec"]["automountServiceAccountToken"] is not False]


def in_default_namespace(all_):
    return [variants.title(one) for one in all_.objects
            if one["metadata"].get("namespace") == "default" or one["kind"] in ("Pod", "ReplicaSet")]


def without_labels(all_):
    with open(os.path.join(ROOT, "VERSION"), encoding="utf-8") as file:
        version = file.readline().strip()
    wanted = {"app.kubernetes.io/part-of": "nervex", "app.kubernetes.io/version": version}
    wrong = []
    for one, template in all_.workloads():
        for labels in (one["metadata"]["labels"], template["metadata"]["labels"]):
            if not (wanted.items() <= labels.items() and "app.kubernetes.io/name" in labels):
                wrong.append(variants.title(one))
    # of all our objects the version, so that what an upgrade has left behind is found by it
    return wrong + [variants.title(one) for one in all_.objects
                    if one["metadata"].get("labels", {}).get("app.kubernetes.io/version") != version]


def mismatched_selectors(all_):
    return [variants.title(one) for one in all_.select("Deployment")
            if "app.kubernetes.io/version" in one["spec"]["selector"]["matchLabels"]
            or not selects(one["spec"]["selector"], one["spec"]["template"]["metadata"]["labels"])]


def hasty_cron_jobs(all_):
    return [variants.title(one) for one in all_.select("CronJob") if "startingDeadlineSeconds" not in one["spec"]
            or variants.template_of(one)["spec"]["restartPolicy"] not in ("OnFailure", "Never")]


def wildcards(all_):
    wrong = [title for title, rule in all_.rules() if "*" in sum(map(list, rule.values()), [])]
    return wrong + [variants.title(one) for one in all_.select("RoleBinding", "ClusterRoleBinding")
                    if one["roleRef"]["name"] in ("cluster-admin", "admin", "edit")]


def grants(verbs, resources):
    """The roles bound to our accounts that allow one of these."""
    def check(all_):
        return [title for title, rule in all_.rules()
                if set(verbs) & set(rule["verbs"]) and set(resources) & set(rule["resources"])]
    return check


def identical_probes(all_):
    return [title for title, _, one in all_.containers() if title.startswith("Deployment") and not (
        "readinessProbe" in one and "livenessProbe" in one and one["readinessProbe"]["httpGet"] != one["livenessProbe"]["httpGet"])]


def images(test):
    return containers_without(lambda one: test(one["image"]))


CHECKS = {
    "requests of CPU and memory": lambda all_: has_resource("requests", "cpu")(all_) + has_resource("requests", "memory")(all_),
    "limit of memory": has_resource("limits", "memory"),
    "limit of CPU": has_resource("limits", "cpu"),
    "memory requests equal limits": containers_without(
        lambda one: one["resources"]["requests"]["memory"] == one["resources"]["limits"]["memory"]),
    "requests and limits of ephemeral storage": has_resource("requests", "ephemeral-storage"),
    "a tag that is not `latest`": images(lambda image: re.search(r":v?\d+\.\d+\.\d+$", image)),
    "images are always pulled": containers_without(lambda one: one.get("imagePullPolicy") == "Always"),
    "images of a registry that is allowed, signed": images(lambda image: "@sha256:" in image),
    "no deprecated registry": images(lambda image: not image.startswith("k8s.gcr.io/")),
    "probes of readiness and liveness, which differ": identical_probes,
    "two replicas or more": lambda all_: [variants.title(one) for one in all_.select("Deployment") if one["spec"]["replicas"] < 2],
    "rolling updates": lambda all_: [
        variants.title(one) for one in all_.select("Deployment") if one["spec"]["strategy"]["type"] != "RollingUpdate"],
    "a disruption budget": without_budget,
    "topology spread": without_spread,
    "host anti-affinity": lambda all_: [
        variants.title(one) for one in all_.select("Deployment")
        if "podAntiAffinity" not in one["spec"]["template"]["spec"].get("affinity", {})],
    "a Pod is selected by network policies for both directions": without_policies,
    "each network policy and each Service selects pods": without_pods,
    "Services inside the cluster": lambda all_: [
        variants.title(one) for one in all_.select("Service") if one["spec"].get("type", "ClusterIP") != "ClusterIP"],
    "not root, user and group above 10,000": security(
        lambda context: context["runAsNonRoot"] and context["runAsUser"] > 10000 and context["runAsGroup"] > 10000),
    "not privileged, no escalation": security(
        lambda context: context["allowPrivilegeEscalation"] is False and not context.get("privileged")),
    "no capabilities": security(lambda context: context["capabilities"] == {"drop": ["ALL"]}),
    "read-only root file system": security(lambda context: context["readOnlyRootFilesystem"]),
    "seccomp profile": security(lambda context: context["seccompProfile"]["type"] == "RuntimeDefault"),
    "no namespace, port or path of the node": reaching_into_nodes,
    "no claim of a volume": with_claims,
    "no Secret in a variable, none in the manifests": with_secrets,
    "no variable twice": repeats_variables,
    "the token of the account is not mounted by itself": with_token,
    "not in namespace `default`, no pod of its own": in_default_namespace,
    "recommended labels: name, version, part-of": without_labels,
    "selectors are of the template's labels": mismatched_selectors,
    "stable APIs": lambda all_: [variants.title(one) for one in all_.objects if re.search(r"/v\d+(alpha|beta)", one["apiVersion"])],
    "CronJobs have a deadline and a restart policy": hasty_cron_jobs,
    "no wildcard in roles, no `cluster-admin`": wildcards,
    "no `exec`, no `portforward`": grants(["create", "get", "*"], ["pods/exec", "pods/portforward", "pods/attach", "*"]),
    "Secrets cannot be listed": grants(["list", "watch", "*"], ["secrets", "*"]),
    "no right to create pods": grants(["create"], ["pods"]),
    "no right to delete": grants(["delete", "deletecollection"], ["pods", "services", "nervexjobs", "podgroups"]),
    "few admission webhooks": lambda all_: [variants.title(one) for one in all_.select(*manifests.WEBHOOK_KINDS)],
}


def rows():
    """{rule: the page's text about it}"""
    with open(PAGE, encoding="utf-8") as file:
        lines = [line.strip().strip("|").split("|") for line in file if line.startswith("|")]
    return {cells[0].strip(): cells[-1].strip() for cells in lines[2:]}


@pytest.fixture(scope="module")
def rendered():
    return {variant: Rendered(variant) for variant in variants.VARIANTS}


def test_the_page_and_the_checks_know_the_same_rules():
    assert list(rows()) == list(CHECKS)


@pytest.mark.parametrize("rule", CHECKS)
def test_the_manifests_are_as_the_page_says(rendered, rule):
    said = rows()[rule]
    assert re.match(r"met\b|not met: \w", said), said
    for variant, all_ in rendered.items():
        found = CHECKS[rule](all_)
        assert bool(found) == said.startswith("not met"), (variant, found)


def test_no_program_of_the_suite_is_scheduled_by_the_suite(rendered):
    """It would wait for itself, and in the queue of its namespace."""
    for variant, all_ in rendered.items():
        named = [variants.title(one) for one, template in all_.workloads() if "schedulerName" in template["spec"]]
        assert named == [], variant
