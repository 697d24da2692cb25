"""How does nervexctl authenticate to the API server? Client certificates, tokens and credential plugins of a
kubeconfig."""

import base64
import json
import os

import pytest
import yaml

V1 = "client.authentication.k8s.io/v1"


@pytest.fixture
def admin(target):
    """The administrator's kubeconfig: (cluster, user), with file names as they stand in it."""
    with open(target.kubeconfig, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    context = next(c["context"] for c in config["contexts"] if c["name"] == config["current-context"])
    find = {part: next(entry[part] for entry in config[part + "s"] if entry["name"] == context[part])
            for part in ("cluster", "user")}
    if "client-certificate" not in find["user"] and "client-certificate-data" not in find["user"]:
        pytest.skip("this cluster's administrator has no client certificate")
    return find["cluster"], find["user"]


def pem(entry, key):
    """The PEM text of `key`, which is given as data or as a file."""
    if f"{key}-data" in entry:
        return base64.b64decode(entry[f"{key}-data"]).decode()
    with open(entry[key], encoding="utf-8") as file:
        return file.read()


@pytest.fixture
def explain_as(tmp_path, admin, nervexctl, namespace):
    """Explains a job that does not exist, as `user` of a kubeconfig; `cluster` adds to the cluster's entry."""
    def run(user, **cluster):
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "here",
                  "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
                  "clusters": [{"name": "c", "cluster": {**admin[0], **cluster}}],
                  "users": [{"name": "u", "user": user}]}
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return nervexctl("explain", "nobody", "-n", namespace, "--kubeconfig", str(path))
    return run


@pytest.fixture
def plugin(tmp_path):
    """A credential plugin that prints this status; returns the user's entry. Records its input."""
    def make(status, script="", **more):
        answer = {"kind": "ExecCredential", "apiVersion": V1, "status": status}
        (tmp_path / "answer").write_text(json.dumps(answer), encoding="utf-8")
        path = tmp_path / "plugin.sh"
        path.write_text('#!/bin/sh\ncd "$(dirname "$0")" || exit 1\n'
                        'echo "$KUBERNETES_EXEC_INFO" >>told\n' + script + "\ncat answer\n", encoding="utf-8")
        os.chmod(path, 0o700)
        return {"exec": {"apiVersion": V1, "command": "./plugin.sh", "interactiveMode": "Never", **more}}
    return make


def told(tmp_path):
    return [json.loads(line) for line in (tmp_path / "told").read_text(encoding="utf-8").splitlines()]


def was_let_in(said):
    """The API server knows the caller, who may read jobs: no job has that name."""
    return said.returncode == 1 and '"nobody" not found' in said.stderr


@pytest.fixture
def account_token(kubectl, namespace):
    """A token of a service account without rights: the refusal names it."""
    assert kubectl("create", "serviceaccount", "visitor", "-n", namespace).returncode == 0
    said = kubectl("create", "token", "visitor", "-n", namespace)
    assert said.returncode == 0, said.stderr
    return said.stdout.strip()


def test_a_client_certificate_is_shown_from_files_and_from_data(admin, explain_as, tmp_path):
    cert, key = pem(admin[1], "client-certificate"), pem(admin[1], "client-key")
    (tmp_path / "tls.crt").write_text(cert, encoding="utf-8")
    (tmp_path / "tls.key").write_text(key, encoding="utf-8")
    said = explain_as({"client-certificate": "tls.crt", "client-key": "tls.key"})
    assert was_let_in(said), said.stderr
    said = explain_as({"client-certificate-data": base64.b64encode(cert.encode()).decode(),
                       "client-key-data": base64.b64encode(key.encode()).decode()})
    assert was_let_in(said), said.stderr


def test_a_caller_without_an_identity_is_rejected(explain_as):
    said = explain_as({})
    assert said.returncode == 1
    assert "system:anonymous" in said.stderr or "401" in said.stderr


def test_a_plugin_s_token_is_shown(account_token, explain_as, plugin, tmp_path, namespace):
    said = explain_as(plugin({"token": account_token}))
    assert said.returncode == 1
    assert f"system:serviceaccount:{namespace}:visitor" in said.stderr
    assert [call["spec"] for call in told(tmp_path)] == [{"interactive": False}]


def test_a_plugin_s_client_certificate_is_shown(admin, explain_as, plugin):
    said = explain_as(plugin({"clientCertificateData": pem(admin[1], "client-certificate"),
                              "clientKeyData": pem(admin[1], "client-key")}))
    assert was_let_in(said), said.stderr


def test_a_plugin_may_get_the_cluster_info(admin, explain_as, plugin, account_token, tmp_path):
    explain_as(plugin({"token": account_token}, provideClusterInfo=True),
               extensions=[{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "nervex"}}])
    cluster = told(tmp_path)[0]["spec"]["cluster"]
    assert cluster["server"] == admin[0]["server"]
    assert cluster["config"] == {"audience": "nervex"}


def test_a_plugin_that_fails_says_why_and_how_to_fix_it(explain_as, plugin):
    said = explain_as(plugin({}, script="echo 'please log in first' >&2; exit 3", installHint="see example.test"))
    assert said.returncode == 1
    assert "exit code 3: please log in first; see example.test" in said.stderr


def test_a_plugin_is_asked_again_when_its_token_is_refused(explain_as, plugin, account_token, tmp_path, namespace):
    user = plugin({"token": account_token},
                  script='test -e again || { touch again; sed "s/\\"token\\": \\"[^\\"]*/\\"token\\": \\"stale/" answer; exit; }')
    said = explain_as(user)
    assert f"system:serviceaccount:{namespace}:visitor" in said.stderr
    assert len(told(tmp_path)) == 2
