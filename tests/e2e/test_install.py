"""What users feed to kubectl: the examples, the variants of manifests/ and the single-file install.

When manifests/ changed on purpose, write what is expected of the variants again and read the difference:

    NERVEX_RENEW_GOLDEN=1 $(scripts/setup --print-venv)/bin/pytest tests/e2e/test_install.py -k golden
"""

import copy
import os
import re
import subprocess

import kubernetes
import pytest
import yaml
from tools.base.tree import ROOT
from tools.cluster import manifests
from tools.controlplane import binaries
from support import variants
from support.commands import command
from support.jobs import load
from support.wait import wait_for

EXAMPLES = ["nervex-mock-agconfig.yaml", "nervex-mock-nervexjob.yaml", "gang-first.yaml", "gang-second.yaml",
            "limits-and-retries.yaml", "queues.yaml", "reserved-capacity.yaml", "topology.yaml"]
PROGRAMS = ["nervex-controller", "nervex-extender", "nervex-server", "nervex-webhook", "nervexctl"]
SCHEDULER = "registry.k8s.io/kube-scheduler"
MANIFEST = os.path.join(ROOT, "manifests", "nervex-manager.yaml")


def examples():
    return sorted(name for name in os.listdir(os.path.join(ROOT, "examples")) if name.endswith(".yaml"))


def test_every_example_is_tested():
    assert examples() == sorted([*EXAMPLES, "wrong-job.yaml"])


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_accepted(kubectl, namespace, name):
    path = os.path.join(ROOT, "examples", name)
    objects = [one if one["kind"] == "Queue" else {**one, "metadata": {**one["metadata"], "namespace": namespace}}
               for one in load(path)]
    said = kubectl("create", "--dry-run=server", "-f", "-", body=manifests.dump_all(objects))
    assert said.returncode == 0, said.stderr
    # The mock job's replicas are those that its coordinator asks for: a user who wants them for certain sets reservedReplicas.
    # An AggregatorConfig is used in its own namespace alone, where there is one already. Nodes of an earlier test have
    # zones, and may be in the webhook's memory.
    expected = ("or reservedReplicas", f"AggregatorConfig {namespace}/aggregator-config is not used",
                "can never fit in one topology.kubernetes.io/zone")
    assert not [line for line in said.stderr.splitlines() if "Warning" in line and not any(one in line for one in expected)]


def test_the_wrong_example_is_refused(kubectl, namespace):
    said = kubectl("create", "-n", namespace, "-f", os.path.join(ROOT, "examples", "wrong-job.yaml"))
    assert said.returncode == 1
    assert "spec.cleanPodPolicy" in said.stderr
    assert "Invalid CleanPodPolicy" in said.stderr


# -- the variants


def images(objects):
    """The images of all containers, without their versions."""
    pods = [template["spec"] for template in map(variants.template_of, objects) if template]
    return {one["image"].rpartition(":")[0] for pod in pods
            for one in pod.get("initContainers", []) + pod["containers"]}


@pytest.mark.parametrize("variant", variants.VARIANTS)
def test_our_images_belong_to_no_registry(variant):
    """A name with a folder would be pulled from the owner of that folder in a public registry."""
    assert images(manifests.variant(variant)) - {SCHEDULER} <= set(PROGRAMS)


def test_images_get_registry_and_version_in_one_place():
    path = os.path.join(ROOT, "manifests", "images", "kustomization.yaml")
    with open(path, encoding="utf-8") as file:
        named = {one["name"]: one for one in yaml.safe_load(file)["images"]}
    assert sorted(named) == ["kube-scheduler", *PROGRAMS]
    for folder in ("manifests/deployments", "certs/self-issued"):
        for name in os.listdir(os.path.join(ROOT, folder)):
            with open(os.path.join(ROOT, folder, name), encoding="utf-8") as file:
                stated = re.findall(r"^ *image: *(.*)$", file.read(), re.MULTILINE)
            assert set(stated) <= set(named), f"{folder}/{name}"


def test_a_kustomization_of_ones_own_sets_the_registry_of_every_image(tmp_path):
    """As docs/tasks/install.md says."""
    with open(os.path.join(ROOT, "docs", "tasks", "install.md"), encoding="utf-8") as file:
        block = next(text for text in re.findall(r"```yaml\n(.*?)```", file.read(), re.DOTALL) if "images:" in text)
    own = yaml.safe_load(block)
    own["resources"] = [os.path.relpath(os.path.join(ROOT, "manifests", "variants", "self-issued"), tmp_path)]
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(own))
    kubectl = binaries.path("kubectl")
    built = subprocess.run([kubectl, "kustomize", tmp_path], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    made = images(one for one in yaml.safe_load_all(built.stdout) if one)
    assert made == {SCHEDULER, *(f"registry.example.com/{program}" for program in PROGRAMS)}


@pytest.mark.parametrize("said, version", [
    ('{\n  "major": "1",\n  "gitVersion": "v1.33.5-gke.1080000",\n  "goVersion": "go1.24.6"\n}', "v1.33.5"),
    ('{\n  "gitVersion": "v1.32.9-eks-3025e55"\n}', "v1.32.9"), ('{\n  "gitVersion": "v1.31.12+k3s1",\n}', "v1.31.12"),
    ('{"major":"1","gitVersion":"v1.36.3","gitTreeState":"clean"}', "v1.36.3"), ('{"gitVersion": "v1.36.0-rc.1"}', "v1.36.0")])
def test_the_documented_command_takes_the_version_from_what_any_cluster_says(said, version):
    with open(os.path.join(ROOT, "docs", "tasks", "install.md"), encoding="utf-8") as file:
        program = re.search(r"^kubernetes=.* \| (sed .*)\)$", file.read(), re.MULTILINE)[1]
    done = subprocess.run(["bash", "-c", program], input=said, capture_output=True, text=True)
    assert done.stdout.split() == [version], done.stderr


OF_SERVER = re.compile(r"system:serviceaccount:[a-z-]+:nervex-server")


def users_of_server(objects):
    """{where: the name that nervex-server has there}"""
    found = {}
    for one in objects:
        for name in OF_SERVER.findall(yaml.safe_dump(one)):
            found[variants.title(one)] = name
    return found


def test_a_component_gives_nervex_server_another_name_in_every_place(tmp_path):
    """As documented in the component's file: the policy, both hooks and the webhook's flag."""
    with open(os.path.join(ROOT, "manifests", "server-user", "kustomization.yaml"), encoding="utf-8") as file:
        comment = "".join(line[2:] for line in file if line.startswith("#  "))
    own = yaml.safe_load(comment)
    folder = os.path.join(ROOT, "manifests")
    own["resources"] = [os.path.relpath(os.path.join(folder, "variants", "cert-manager"), tmp_path)]
    own["components"] = [os.path.relpath(os.path.join(folder, "server-user"), tmp_path)]
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(own))
    kubectl = binaries.path("kubectl")
    built = subprocess.run([kubectl, "kustomize", tmp_path], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    as_shipped = users_of_server(manifests.variant("cert-manager"))
    assert sorted(as_shipped) == [
        "Deployment nervex-system/nervex-webhook",
        "MutatingWebhookConfiguration nervex-mutating-webhook-configuration",
        "ValidatingAdmissionPolicy nervex-requests",
        "ValidatingWebhookConfiguration nervex-validating-webhook-configuration"]
    assert set(as_shipped.values()) == {"system:serviceaccount:nervex-system:nervex-server"}
    assert users_of_server(one for one in yaml.safe_load_all(built.stdout) if one) == dict.fromkeys(
        as_shipped, "system:serviceaccount:batch:nervex-server")


def command_lines():
    """{program: the flags that any variant gives it}, for our own images."""
    found = {}
    for variant in variants.VARIANTS:
        for one in manifests.variant(variant):
            for container in (variants.template_of(one) or {"spec": {"containers": []}})["spec"]["containers"]:
                program = container["image"].partition(":")[0]
                if program in PROGRAMS:
                    flags = {word.partition("=")[0] for word in container["args"] if word.startswith("--")}
                    found.setdefault(program, set()).update(flags)
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_flag_of_the_manifests_is_one_that_the_program_knows(target, program):
    lines = command_lines()
    assert sorted(lines) == PROGRAMS
    words = [program, "certs", "--help"] if program == "nervexctl" else [program, "--help"]
    helped = command(target, *words)()
    assert helped.returncode == 0, helped.stderr
    assert lines[program] - set(re.findall(r"--[a-z][a-z-]+", helped.stdout)) == set()


@pytest.fixture(scope="module")
def cert_manager_kinds(kubectl):
    """Defines Issuer and Certificate, as far as the manifests use them, on a cluster without cert-manager."""
    path = os.path.join(ROOT, "tests", "e2e", "support", "cert_manager.yaml")
    created = kubectl("create", "-f", path)
    if "AlreadyExists" in created.stderr:  # a user's cluster that has the real ones
        yield
        return
    assert created.returncode == 0, created.stderr
    wait_for(lambda: kubectl("get", "issuers.cert-manager.io,certificates.cert-manager.io", "-A").returncode == 0,
             "the stand-ins for cert-manager to be served")
    yield
    kubectl("delete", "-f", path)


@pytest.mark.versions
@pytest.mark.parametrize("variant", variants.VARIANTS)
def test_a_variant_is_accepted_to_the_last_field(kubectl, cert_manager_kinds, variant):
    said = variants.check_accepted(kubectl, manifests.variant(variant))
    assert "Warning" not in said.stderr


def test_a_misspelt_field_would_be_refused(kubectl, cert_manager_kinds):
    issuer = next(one for one in manifests.variant("cert-manager") if one["kind"] == "Issuer")
    issuer["spec"]["selfSinged"] = {}
    said = kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-",
                   body=yaml.safe_dump(issuer))
    assert said.returncode == 1
    assert "selfSinged" in said.stderr


@pytest.mark.parametrize("variant", variants.VARIANTS)
def test_a_variant_is_as_its_golden_file_says(variant):
    fields = variants.summary(manifests.variant(variant))
    if variant != variants.BASE:
        fields = variants.difference(fields, variants.summary(manifests.variant(variants.BASE)))
    path = os.path.join(variants.GOLDEN, f"{variant}.yaml")
    if os.environ.get("NERVEX_RENEW_GOLDEN"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(variants.text(fields))
    with open(path, encoding="utf-8") as file:
        assert variants.text(fields) == file.read(), "NERVEX_RENEW_GOLDEN=1 writes it again"


def pod_templates():
    """{(variant, object): template}, without duplicates."""
    found = {}
    for variant in variants.VARIANTS:
        for one in manifests.variant(variant):
            template = variants.template_of(one)
            if template and template not in found.values():
                found[variant, variants.title(one)] = template
    return found


@pytest.fixture
def restricted(core, namespace):
    core.patch_namespace(namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    return namespace


def create_pod(core, namespace, template):
    spec = copy.deepcopy(template["spec"])
    spec.pop("serviceAccountName")  # those live in nervex-system
    return core.create_namespaced_pod(
        namespace, {"metadata": {"generateName": "tried-", "labels": template["metadata"]["labels"]}, "spec": spec},
        dry_run="All")


def test_every_pod_is_let_in_where_the_restricted_standard_is_enforced(core, restricted):
    templates = pod_templates()
    # four programs, two of them with other flags when hardened, and the two ways to run nervexctl certs
    assert len(templates) >= 7
    for template in templates.values():
        create_pod(core, restricted, template)


def test_the_restricted_standard_is_enforced_in_that_test(core, restricted):
    template = copy.deepcopy(next(iter(pod_templates().values())))
    template["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(kubernetes.client.ApiException) as caught:
        create_pod(core, restricted, template)
    assert "violates PodSecurity" in caught.value.body


def test_nothing_but_the_certs_account_may_touch_secrets():
    for variant in variants.VARIANTS:
        for name, fields in variants.summary(manifests.variant(variant)).items():
            if "Role " in name and "Binding" not in name and name != "Role nervex-system/nervex-certs":
                assert not [rule for rule in fields if "secrets" in rule or "*" in rule], name


def test_security_md_says_what_each_account_may_do():
    with open(os.path.join(ROOT, "SECURITY.md"), encoding="utf-8") as file:
        text = file.read()
    for variant in variants.VARIANTS:
        for one in manifests.variant(variant):
            if one["kind"] == "ServiceAccount":
                assert re.search(rf"^### .*\b{one['metadata']['name']}\b", text, re.MULTILINE), one["metadata"]["name"]


def test_the_manifest_names_what_users_rely_on():
    names = {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in load(MANIFEST)}
    system = "nervex-system"
    assert names >= {
        ("Namespace", None, system),
        ("Deployment", system, "nervex-operator"), ("Deployment", system, "nervex-server"),
        ("Deployment", system, "nervex-webhook"), ("Service", system, "nervex-server"),
        ("Service", system, "nervex-webhook-service"),
        ("Issuer", system, "nervex-selfsigned-issuer"), ("Certificate", system, "nervex-serving-cert"),
        ("MutatingWebhookConfiguration", None, "nervex-mutating-webhook-configuration"),
        ("ValidatingWebhookConfiguration", None, "nervex-validating-webhook-configuration"),
    }


def test_the_generated_manifests_are_current():
    done = subprocess.run([os.path.join(ROOT, "scripts", "generate-manifests"), "--check"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.versions
@pytest.mark.parametrize("kind", ["nervexjobs", "aggregatorconfigs", "podgroups", "queues", "simulations"])
def test_kubectl_explains_our_kinds(kubectl, kind):
    said = kubectl("explain", f"{kind}.spec")
    assert said.returncode == 0, said.stderr
    assert "FIELDS:" in said.stdout
