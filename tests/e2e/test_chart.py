"""The Helm chart, rendered without a cluster: is it what kustomize makes of manifests/, what does each value change,
which values are refused?"""

import copy
import json
import os
import re
import subprocess

import pytest
import yaml
from tools.base import versions
from tools.base.tree import ROOT
from tools.cluster import manifests
from tools.controlplane import binaries
from tools.manifests import helm_values
from tools.release import contents
from support import variants
from support.chart import CHART, find, helm, render, render_text, template

VALUES = os.path.join(CHART, "values.yaml")
MONITORING = {"podMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}, "dashboards": {"enabled": True}}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def load_values(name):
    return yaml.safe_load(read("charts", "nervex", "ci", f"{name}-values.yaml")) or {}


# -- one source


def without_helms_own(objects):
    """{title: object} without what differs by intent: Helm's labels and annotation, and the Job, which stays under a name
    of its own."""
    found = {}
    for one in copy.deepcopy(objects):
        metadata = one["metadata"]
        for name in ("helm.sh/chart", "app.kubernetes.io/managed-by"):
            assert metadata["labels"].pop(name), metadata["name"]
        if metadata.get("annotations", {}).pop("helm.sh/resource-policy", None) and not metadata["annotations"]:
            del metadata["annotations"]
        if one["kind"] == "Job":
            assert re.fullmatch(r"nervex-certs-[0-9a-f]{8}", metadata["name"])
            metadata["name"] = "nervex-certs-first"
            one["spec"]["ttlSecondsAfterFinished"] = 60
        assert variants.title(one) not in found
        found[variants.title(one)] = one
    return found


def assert_same_objects(rendered, kustomized):
    have = without_helms_own(rendered)
    # helm installs into a namespace that exists, or that --create-namespace makes
    want = {variants.title(one): one for one in kustomized if one["kind"] != "Namespace"}
    assert sorted(have) == sorted(want)
    for name, one in want.items():
        assert have[name] == one, name


@pytest.mark.parametrize("variant", variants.VARIANTS)
def test_the_chart_has_the_objects_of_each_variant(variant):
    assert_same_objects(render(load_values(variant)), manifests.variant(variant))


def test_the_chart_has_the_objects_of_the_monitoring_component(kustomize):
    kustomized = kustomize({"resources": ["variants/cert-manager"], "components": ["monitoring", "images"]})
    assert_same_objects(render(MONITORING), kustomized)


@pytest.fixture
def kustomize(tmp_path):
    """Builds a kustomization that names parts of manifests/."""
    def build(kustomization):
        own = {key: [os.path.relpath(os.path.join(ROOT, "manifests", one), tmp_path) for one in paths]
               for key, paths in kustomization.items()}
        (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(own))
        return manifests.kustomize(tmp_path)
    return build


def test_each_variant_has_its_values():
    assert sorted(os.listdir(os.path.join(CHART, "ci"))) == sorted(f"{name}-values.yaml" for name in variants.VARIANTS)


@pytest.mark.parametrize("variant", variants.VARIANTS)
def test_helm_lint_accepts_the_chart(variant):
    said = helm("lint", "--strict", CHART, values=load_values(variant))
    assert said.returncode == 0, said.stdout + said.stderr


def test_chart_and_suite_have_one_version():
    chart = yaml.safe_load(read("charts", "nervex", "Chart.yaml"))
    assert {chart["version"], chart["appVersion"]} == {versions.read().version}


@pytest.mark.parametrize("variant", variants.VARIANTS)
def test_no_object_stays_in_another_namespace(variant):
    text = template({**MONITORING, **load_values(variant)}, namespace="batch").stdout
    assert "nervex-system" not in text
    assert "system:serviceaccount:batch:nervex-server" in text


# -- what each value changes


def look(one, path):
    """The part of an object at a path of keys, [names] of list items and [numbers]. None: there is none."""
    for key, item in re.findall(r"([^.\[\]]+)|\[([^\]]+)\]", path):
        if one is None:
            return None
        if key:
            one = one.get(key.replace("~", "."))
        elif item.isdigit():
            one = one[int(item)]
        else:
            one = next((each for each in one if each["name"] == item), None)
    return one


def nested(path, value):
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


class Absent:
    """The object does not exist."""

    def __repr__(self):
        return "absent"


ABSENT = Absent()
POD = "spec.template.spec"
DIGEST = "sha256:" + "0" * 64
# of a section: the Deployment and the container that it is about
CONTAINERS = {"webhook": ("Deployment nervex-webhook", "nervex-webhook"),
              "controller": ("Deployment nervex-operator", "nervex-controller"),
              "server": ("Deployment nervex-server", "nervex-server"),
              "scheduler": ("Deployment nervex-scheduler", "kube-scheduler"),
              "extender": ("Deployment nervex-scheduler", "nervex-extender"),
              "certs": ("CronJob nervex-certs", "nervexctl")}
SELF_ISSUED = {"certificates": {"mode": "selfIssued"}}
PROVIDED = {"certificates": {"mode": "provided", "caBundle": "Q0E="}}
HOOK = "ValidatingWebhookConfiguration nervex-validating-webhook-configuration"


def rows_of_container(section):
    """(value, set to, object, path, expected, other values): those that each container has."""
    name, container = CONTAINERS[section]
    pod = "spec.jobTemplate." + POD if section == "certs" else POD
    at = f"{pod}.containers[{container}]"
    others = SELF_ISSUED if section == "certs" else {}
    repository = "kube-scheduler" if section == "scheduler" else container
    registry = "registry.k8s.io/" if section == "scheduler" else ""
    tag = binaries.kubernetes_version() if section == "scheduler" else versions.read().version
    env = [{"name": "GOGC", "value": "50"}] if section == "scheduler" else []
    # kube-scheduler has its flags in the command
    before = look(find(render_text(others), name), at).get("args", [])
    yield f"{section}.image.registry", "r.example.com/a", name, f"{at}.image", f"r.example.com/a/{repository}:{tag}", others
    yield f"{section}.image.repository", "other", name, f"{at}.image", f"{registry}other:{tag}", others
    yield f"{section}.image.tag", "v9", name, f"{at}.image", f"{registry}{repository}:v9", others
    yield f"{section}.image.digest", DIGEST, name, f"{at}.image", f"{registry}{repository}@{DIGEST}", others
    yield f"{section}.resources", {"limits": {"memory": "3Gi"}}, name, f"{at}.resources.limits.memory", "3Gi", others
    yield f"{section}.extraArgs", ["--a=b"], name, f"{at}.args", [*before, "--a=b"], others
    yield (f"{section}.extraEnv", [{"name": "A", "value": "b"}], name, f"{at}.env", [*env, {"name": "A", "value": "b"}],
           others)
    if section != "extender":
        yield f"{section}.pod", {"nodeSelector": {"a": "b"}}, name, f"{pod}.nodeSelector.a", "b", others
    if section not in ("extender", "certs"):
        yield f"{section}.replicas", 3, name, "spec.replicas", 3, {}


TOLERATION = {"key": "a", "operator": "Exists"}
AFFINITY = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
SPREAD = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
LABELS = {"release": "monitoring"}


def rows():
    for section in CONTAINERS:
        yield from rows_of_container(section)
    webhook, controller, server = (CONTAINERS[name][0] for name in ("webhook", "controller", "server"))
    image = f"{POD}.containers[0].image"
    version = versions.read().version
    yield "image.registry", "r.example.com/a/", webhook, image, f"r.example.com/a/nervex-webhook:{version}", {}
    yield "image.registry", "r.example.com", "Deployment nervex-scheduler", image, \
        f"registry.k8s.io/kube-scheduler:{binaries.kubernetes_version()}", {}
    yield "image.tag", "9.9.9", server, image, "nervex-server:9.9.9", {}
    yield "image.pullPolicy", "Always", server, f"{POD}.containers[0].imagePullPolicy", "Always", {}
    yield "image.pullSecrets", [{"name": "regcred"}], webhook, f"{POD}.imagePullSecrets", [{"name": "regcred"}], {}
    yield "commonLabels", {"team": "a"}, "ServiceAccount nervex-server", "metadata.labels.team", "a", {}
    yield "commonLabels", {"team": "a"}, webhook, "spec.template.metadata.labels.team", "a", {}
    yield "commonLabels", {"team": "a"}, webhook, "spec.selector.matchLabels.team", None, {}
    yield "commonAnnotations", {"a/b": "c"}, "Service nervex-server", "metadata.annotations.a/b", "c", {}
    yield "commonAnnotations", {"a/b": "c"}, HOOK, "metadata.annotations.cert-manager~io/inject-ca-from", \
        "nervex-system/nervex-serving-cert", {}
    crd = "CustomResourceDefinition nervexjobs.nervex.sensetime.com"
    yield "crds.enabled", False, crd, "", ABSENT, {}
    yield "crds.keep", True, crd, "metadata.annotations.helm~sh/resource-policy", "keep", {}
    yield "crds.keep", False, crd, "metadata.annotations", None, {}
    yield "certificates.mode", "selfIssued", "Certificate nervex-ca", "", ABSENT, {}
    yield "certificates.mode", "selfIssued", "Job nervex-certs-*", f"{POD}.serviceAccountName", "nervex-certs", {}
    yield "certificates.mode", "selfIssued", HOOK, "metadata.annotations", None, {}
    yield "certificates.mode", "provided", "ServiceAccount nervex-certs", "", ABSENT, PROVIDED
    yield "certificates.caBundle", "Q0E=", HOOK, "webhooks[0].clientConfig.caBundle", "Q0E=", PROVIDED
    yield "certificates.secretName", "tls", webhook, f"{POD}.volumes[tls].secret.secretName", "tls", PROVIDED
    issuer = {"kind": "ClusterIssuer", "name": "internal"}
    yield "certificates.issuerRef", issuer, "Certificate nervex-serving-cert", "spec.issuerRef", issuer, {}
    yield "certificates.issuerRef", issuer, "Certificate nervex-ca", "", ABSENT, {}
    yield "certificates.issuerRef", issuer, "Issuer nervex-selfsigned-issuer", "", ABSENT, {}
    yield "networkPolicies.enabled", False, "NetworkPolicy nervex-default", "", ABSENT, {}
    closed = {"networkPolicies": {"egress": "apiServer"}}
    yield "networkPolicies.egress", "apiServer", "NetworkPolicy nervex-default", "spec.egress[0].ports[1].port", 6443, {}
    yield "networkPolicies.apiServerPorts", [8443], "NetworkPolicy nervex-default", "spec.egress", \
        [{"ports": [{"port": 8443}]}], closed
    peer = [{"ipBlock": {"cidr": "10.0.0.0/8"}}]
    yield "networkPolicies.metricsFrom", peer, "NetworkPolicy nervex-metrics", "spec.ingress[0].from", peer, {}
    yield "networkPolicies.metricsFrom", peer, "NetworkPolicy nervex-scheduler", "spec.ingress[0].from", peer, {}
    yield "podDisruptionBudgets.enabled", False, "PodDisruptionBudget nervex-server", "", ABSENT, {}
    yield "podDisruptionBudgets.maxUnavailable", "50%", "PodDisruptionBudget nervex-server", "spec.maxUnavailable", "50%", {}
    yield "criticalPodsQuota.enabled", False, "ResourceQuota nervex-critical-pods", "", ABSENT, {}
    yield "criticalPodsQuota.pods", 40, "ResourceQuota nervex-critical-pods", "spec.hard.pods", "40", {}
    for section, name, interval in (("podMonitor", "PodMonitor nervex", "spec.podMetricsEndpoints[0].interval"),
                                    ("serviceMonitor", "ServiceMonitor nervex", "spec.endpoints[0].interval")):
        on = {section: {"enabled": True}}
        yield f"{section}.enabled", False, name, "", ABSENT, {}
        yield f"{section}.enabled", True, name, "metadata.namespace", "nervex-system", {}
        yield f"{section}.interval", "1m", name, interval, "1m", on
        yield f"{section}.labels", LABELS, name, "metadata.labels.release", "monitoring", on
    yield "serviceMonitor.enabled", True, "Service nervex-metrics", "spec.ports[metrics].targetPort", "metrics", {}
    yield "prometheusRule.enabled", True, "PrometheusRule nervex", "spec.groups[nervex].rules[0].for", "2m", {}
    yield "prometheusRule.labels", LABELS, "PrometheusRule nervex", "metadata.labels.release", "monitoring", \
        {"prometheusRule": {"enabled": True}}
    on = {"dashboards": {"enabled": True}}
    yield "dashboards.enabled", True, "ConfigMap nervex-dashboards", "metadata.labels.grafana_dashboard", "1", {}
    yield "dashboards.labels", LABELS, "ConfigMap nervex-dashboards", "metadata.labels.release", "monitoring", on
    yield "dashboards.annotations", {"folder": "batch"}, "ConfigMap nervex-dashboards", "metadata.annotations.folder", \
        "batch", on
    yield "pods.priorityClassName", "mine", webhook, f"{POD}.priorityClassName", "mine", {}
    yield "pods.priorityClassName", "", webhook, f"{POD}.priorityClassName", None, {}
    yield "pods.nodeSelector", {"a": "b"}, controller, f"{POD}.nodeSelector", {"kubernetes.io/os": "linux", "a": "b"}, {}
    yield "pods.nodeSelector", {"a": "b"}, "Job nervex-certs-*", f"{POD}.nodeSelector.a", "b", SELF_ISSUED
    yield "pods.tolerations", [TOLERATION], controller, f"{POD}.tolerations", [TOLERATION], {}
    yield "pods.affinity", AFFINITY, controller, f"{POD}.affinity", AFFINITY, {}
    spread = f"{POD}.topologySpreadConstraints"
    yield "pods.topologySpreadConstraints", [], webhook, spread, [], {}
    yield "pods.topologySpreadConstraints", [SPREAD], webhook, spread, [
        {**SPREAD, "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "nervex-webhook"}},
         "matchLabelKeys": ["pod-template-hash"]}], {}
    yield "pods.labels", {"a": "b"}, server, "spec.template.metadata.labels.a", "b", {}
    yield "pods.labels", {"app.kubernetes.io/name": "x"}, server, \
        "spec.template.metadata.labels.app~kubernetes~io/name", "nervex-server", {}
    yield "pods.annotations", {"a": "b"}, server, "spec.template.metadata.annotations.a", "b", {}
    yield "webhook.pod", {"topologySpreadConstraints": []}, webhook, spread, [], {}
    yield "webhook.pod", {"topologySpreadConstraints": []}, server, f"{spread}[0].maxSkew", 1, {}
    args = f"{POD}.containers[0].args"
    yield "webhook.hostAccess", "refuse", webhook, args, Has("--host-access=refuse"), {}
    yield "webhook.verifyClients", True, webhook, args, Has("--client-ca-file=/etc/nervex/tls/ca.crt"), {}
    yield "controller.services", "per-pod", controller, args, Has("--services=per-pod"), {}
    yield "controller.directPlacement", True, controller, args, Has("--direct-placement"), {}
    yield "server.auth", "token", server, args, Has("--auth=token"), {}
    yield "server.auth", "transition", server, args, Has("--auth=transition"), {}
    yield "server.auth", "transition", controller, args, Has("--server-auth=token"), {}
    yield "server.auth", "token", controller, args, Has("--server-auth=token"), {}
    yield "server.auth", "token", "ClusterRole nervex-server-token-review", "rules[0].verbs", ["create"], {}


class Has:
    """Equal to a list with this item."""

    def __init__(self, item):
        self.item = item

    def __eq__(self, other):
        return self.item in other

    def __repr__(self):
        return f"[..., {self.item!r}]"


def merged(one, other):
    """As helm merges values: by key, lists as a whole."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return other
    return {key: merged(one[key], other[key]) if key in one and key in other else {**one, **other}[key]
            for key in {**one, **other}}


def test_a_value_changes_its_object():
    wrong = []
    for value, to, name, path, expected, others in rows():
        one = find(render_text(merged(others, nested(value, to))), name)
        have = ABSENT if one is None else look(one, path)
        if not expected == have:
            wrong.append(f"{value}={json.dumps(to)}: {name} {path} is {have!r}, not {expected!r}")
    assert not wrong, "\n".join(wrong)


def test_every_value_is_tried():
    documented = [path for path, _, _ in helm_values.read(read("charts", "nervex", "values.yaml"))]
    assert sorted({row[0] for row in rows()}) == sorted(documented)


def every_value():
    """The first row of each value that turns something on, all at the same time."""
    values, seen = SELF_ISSUED, set()
    for value, to, *_ in rows():
        if value not in seen and to and not value.startswith("certificates."):
            values = merged(values, nested(value, to))
            seen.add(value)
    return values


def test_with_every_value_set_the_objects_are_accepted_to_the_last_field(kubectl):
    """Except those whose kinds are of the Prometheus Operator."""
    objects = [one for one in render(every_value()) if not one["apiVersion"].startswith("monitoring.coreos.com/")]
    variants.check_accepted(kubectl, objects)


def test_the_programs_know_the_flags_that_values_add():
    known = set(re.findall(r"`(--[a-z-]+)`", read("docs", "reference", "flags.md")))
    added = {expected.item.partition("=")[0] for *_, expected, _ in rows() if isinstance(expected, Has)}
    assert len(added) >= 6 and added - known == set()


def leaves(values, path=""):
    for key, value in values.items():
        at = f"{path}.{key}" if path else key
        yield at
        if isinstance(value, dict):
            yield from leaves(value, at)


def test_the_schema_knows_the_values_of_the_chart_and_no_others():
    schema = json.loads(read("charts", "nervex", "values.schema.json"))

    def properties(one, path=""):
        one = schema["definitions"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one
        for key, each in one.get("properties", {}).items():
            at = f"{path}.{key}" if path else key
            yield at
            yield from properties(each, at)

    documented = {path for path, _, _ in helm_values.read(read("charts", "nervex", "values.yaml"))}
    known = set(properties(schema)) - {"global"}  # what helm gives to charts within charts
    # the inside of a documented value (resources, pod, issuerRef) needs no default
    known = {path for path in known if not any(path.startswith(one + ".") for one in documented)}
    stated = {path for path in leaves(yaml.safe_load(read("charts", "nervex", "values.yaml")))
              if not any(path.startswith(one + ".") for one in documented)}
    assert stated == known


def test_the_page_of_values_is_current():
    assert read("docs", "reference", "helm-values.md") == helm_values.page(read("charts", "nervex", "values.yaml"))


@pytest.mark.parametrize("said, tag", [("v1.33.5-gke.1080000", "v1.33.5"), ("v1.32.9-eks-3025e55", "v1.32.9"),
                                       ("v1.31.12+k3s1", "v1.31.12"), ("v1.36.0", "v1.36.0")])
def test_kube_scheduler_has_the_version_of_the_cluster(said, tag):
    scheduler = find(render_text({}, "--kube-version", said), "Deployment nervex-scheduler")
    assert look(scheduler, f"{POD}.containers[kube-scheduler].image") == f"registry.k8s.io/kube-scheduler:{tag}"


# -- what is refused


@pytest.mark.parametrize("values, said", [
    ({"webhok": {}}, ["webhok"]),
    ({"webhook": {"replica": 3}}, ["/webhook", "replica"]),
    ({"webhook": {"replicas": "3"}}, ["/webhook/replicas", "string", "integer"]),
    ({"webhook": {"hostAccess": "deny"}}, ["/webhook/hostAccess", "'refuse'"]),
    ({"webhook": {"image": {"digest": "sha256:12"}}}, ["/webhook/image/digest"]),
    ({"server": {"auth": "basic"}}, ["/server/auth", "'token'"]),
    ({"server": {"extraArgs": ["auth=token"]}}, ["/server/extraArgs/0"]),
    ({"server": {"extraEnv": [{"value": "x"}]}}, ["/server/extraEnv/0", "name"]),
    ({"server": {"resources": {"limit": {}}}}, ["/server/resources", "limit"]),
    ({"controller": {"services": "none"}}, ["/controller/services", "'per-pod'"]),
    ({"controller": {"directPlacement": "yes"}}, ["/controller/directPlacement", "boolean"]),
    ({"certificates": {"mode": "letsencrypt"}}, ["/certificates/mode", "'selfIssued'"]),
    ({"certificates": {"mode": "provided"}}, ["/certificates/caBundle"]),
    ({"certificates": {"secretName": "mine"}}, ["/certificates/secretName"]),
    ({"certificates": {"issuerRef": {"kind": "ClusterIssuer"}}}, ["/certificates/issuerRef", "name"]),
    ({"networkPolicies": {"egress": "none"}}, ["/networkPolicies/egress", "'apiServer'"]),
    ({"networkPolicies": {"apiServerPorts": [70000]}}, ["/networkPolicies/apiServerPorts/0", "65,535"]),
    ({"networkPolicies": {"apiServerPorts": []}}, ["/networkPolicies/apiServerPorts"]),
    ({"podDisruptionBudgets": {"maxUnavailable": "half"}}, ["/podDisruptionBudgets/maxUnavailable"]),
    ({"podMonitor": {"interval": "30"}}, ["/podMonitor/interval"]),
    ({"image": {"pullPolicy": "Sometimes"}}, ["/image/pullPolicy", "'IfNotPresent'"]),
    ({"image": {"pullSecrets": ["regcred"]}}, ["/image/pullSecrets/0"]),
    ({"pods": {"nodeSelector": {"a": True}}}, ["/pods/nodeSelector/a", "string"]),
    ({"pods": {"topologySpreadConstraints": [{"maxSkew": 1}]}}, ["/pods/topologySpreadConstraints/0", "topologyKey"]),
    ({"scheduler": {"pod": {"toleration": []}}}, ["/scheduler/pod", "toleration"]),
    ({"commonLabels": {"a": 1}}, ["/commonLabels/a"]),
], ids=lambda one: json.dumps(one) if isinstance(one, dict) else "")
def test_a_wrong_value_is_refused_by_its_path(values, said):
    done = template(values)
    assert done.returncode != 0
    assert [word for word in said if word not in done.stderr] == [], done.stderr


def test_an_older_cluster_is_refused():
    done = template({}, "--kube-version", "v1.30.14")
    assert done.returncode != 0 and "1.31.0" in done.stderr


# -- by Helm 3


def by_title(objects):
    return {variants.title(one): one for one in objects}


@pytest.fixture(scope="module")
def helm_3():
    """The path of Helm 3. Builds it if it is missing."""
    done = subprocess.run([os.path.join(ROOT, "scripts", "control-plane"), "--helm-3"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return binaries.path("helm", "--helm-3")


@pytest.mark.extended
@pytest.mark.parametrize("values", [*map(load_values, variants.VARIANTS), every_value()], ids=[*variants.VARIANTS, "every-value"])
def test_helm_3_renders_the_same(helm_3, monkeypatch, values):
    """In another order."""
    want = by_title(render(values))
    monkeypatch.setenv("HELM", helm_3)
    done = template(values)
    assert done.returncode == 0, done.stderr
    assert by_title(one for one in manifests.load_all(done.stdout) if one) == want
    refused = template({"webhook": {"replicas": "3"}})
    assert refused.returncode != 0 and "'/webhook/replicas': got string, want integer" in refused.stderr


# -- the packaged chart


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    """pack(registry, scheduler): the path of the chart as in a release."""
    def pack(*images):
        name, content = contents.chart_archive(versions.read().version, 1_700_000_000, *images)
        path = tmp_path_factory.mktemp("chart") / name
        path.write_bytes(content)
        return str(path)
    return pack


def test_a_packaged_chart_renders_the_same(packaged):
    assert render(MONITORING, chart=packaged()) == render(MONITORING)


def test_a_chart_packaged_twice_is_the_same_bytes():
    assert contents.chart_archive(versions.read().version, 1) == contents.chart_archive(versions.read().version, 1)


def test_a_packaged_chart_has_the_images_of_the_release(packaged):
    rendered = render(SELF_ISSUED, chart=packaged("r.example.com/nervex/", "registry.k8s.io/kube-scheduler:v1.33.5"))
    images = {container["image"] for one in rendered if variants.template_of(one)
              for container in variants.template_of(one)["spec"]["containers"]}
    ours = ("nervex-controller", "nervex-extender", "nervex-server", "nervex-webhook", "nervexctl")
    assert images == {*(f"r.example.com/nervex/{name}:{versions.read().version}" for name in ours),
                      "registry.k8s.io/kube-scheduler:v1.33.5"}


def test_a_chart_without_its_files_says_what_is_missing(tmp_path):
    for name in ("Chart.yaml", "values.yaml"):
        (tmp_path / name).write_text(read("charts", "nervex", name))
    os.symlink(os.path.join(CHART, "templates"), tmp_path / "templates")
    done = template(chart=str(tmp_path))
    assert done.returncode != 0 and "helm package" in done.stderr
