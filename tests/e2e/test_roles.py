"""The programs need exactly the roles in manifests/rbac. Judged by the audit log of the whole run, so these tests
come last."""

import json
import os

import pytest
from tools.cluster import control_plane
from support.roles import Grant, Use, grants_of, kept_uses, read_grants, record_of, refused, unused, uses_of

# Granted and never seen in a run of these tests, with the reason why it is granted all the same.
# (role, verb, resource)
EXCEPTIONS = {
    ("nervex-controller", "update", "nervexjobs/finalizers"):
        "asked by the admission plugin OwnerReferencesPermissionEnforcement, which is off here and on in OpenShift",
    **{("nervex-scheduler-lease", verb, "leases"):
       "the local scheduler is the only one and runs without an election: a slow machine would end it"
       for verb in ("create", "get", "update")},
    **{("nervex-queue-view", verb, "queues"): "a right of all users, not of a program" for verb in ("get", "list", "watch")},
}
# Used in some runs: lists are streamed, which is the verb watch, and come in pages only where the API server
# refuses or breaks that (as before Kubernetes 1.32, and in the worst moments of the outage tests).
SOMETIMES = {(role, "list") for role in ("nervex-controller", "nervex-extender", "nervex-server", "nervex-webhook")}

# Used by the version before alone, which runs on under the new roles until it is replaced.
UPGRADED_FROM = {("nervex-controller", "patch", "nervexjobs/status")}


def may_be_idle(grant):
    return ((grant.role, grant.verb, grant.resource) in {*EXCEPTIONS, *UPGRADED_FROM}
            or (grant.role, grant.verb) in SOMETIMES)


@pytest.fixture(scope="session")
def record(request):
    """Requests of our accounts in this run, or in the earlier run whose workers kept them."""
    if os.environ.get("NERVEX_E2E_USES"):
        return kept_uses(os.environ["NERVEX_E2E_USES"])
    if os.environ.get("NERVEX_E2E_KUBECONFIG"):
        pytest.skip("the audit log of this cluster is its owner's")
    cluster = request.getfixturevalue("target").cluster
    assert os.path.exists(control_plane.audit_log(cluster.settings)), "this cluster was started without AUDIT=1"
    return record_of(cluster, request.session.testsfailed > 0)


@pytest.mark.last
def test_nothing_that_our_programs_ask_for_is_forbidden(record):
    assert record.uses, "the audit log is empty"
    lacking = sorted(map(str, refused(read_grants() + record.grants_of_others, record.uses)))
    assert lacking == [], "requests that no role of manifests/rbac allows:\n" + "\n".join(lacking)


@pytest.mark.last
@pytest.mark.whole_run
def test_nothing_is_granted_that_is_not_used(record):
    if record.failed:
        pytest.skip("other tests of this run failed: what they would have used is not known")
    idle = [one for one in unused(read_grants(), record.uses) if not may_be_idle(one)]
    assert idle == [], ("granted, and used by nothing in this run (take it away, or say why in EXCEPTIONS):\n"
                        + "\n".join(sorted(map(str, idle))))


@pytest.mark.last
def test_every_exception_is_still_needed(record):
    grants = {(one.role, one.verb, one.resource): one for one in read_grants()}
    for key in EXCEPTIONS:
        assert key in grants, f"{key} is not granted any more: its exception can go"
        assert not any(grants[key].allows(use) for use in record.uses), f"{key} was used: its exception can go"


# -- how it is judged; needs no cluster


ROLE = [("r.yaml", {"kind": "Role", "metadata": {"name": "r", "namespace": "nervex-system"}, "rules": [
            {"apiGroups": ["g"], "resources": ["leases"], "resourceNames": ["mine"], "verbs": ["get", "update"]}]}),
        ("r.yaml", {"kind": "RoleBinding", "roleRef": {"kind": "Role", "name": "r"},
                    "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "nervex-system"}]})]


def event(account, verb, decision="allow", **at):
    return json.dumps({"user": {"username": f"system:serviceaccount:nervex-system:{account}"}, "verb": verb,
                       "objectRef": at, "annotations": {"authorization.k8s.io/decision": decision}})


def test_a_grant_is_used_by_its_account_on_its_objects_alone():
    mine = {"apiGroup": "g", "resource": "leases", "namespace": "nervex-system", "name": "mine"}
    get, update = grants_of(ROLE)
    assert str(get) == "r.yaml: role r: get leases (g) named mine"
    assert unused([get, update], uses_of([event("a", "get", **mine)])) == [update]
    for other in (event("b", "get", **mine), event("a", "get", **{**mine, "name": "other"}),
                  event("a", "get", **{**mine, "namespace": "elsewhere"}), event("a", "get", "forbid", **mine)):
        assert unused([get], uses_of([other])) == [get]


def test_a_refused_request_is_logged_with_account_and_object():
    (use,) = uses_of([event("a", "create", "forbid", resource="pods", subresource="exec", namespace="n", name="p")])
    assert use == Use("a", "create", "", "pods/exec", "n", "p", True)
    assert str(use) == "a: create pods/exec in n named p"


def test_a_403_of_a_starting_api_server_is_not_a_missing_right():
    pods = {"resource": "pods", "namespace": "n"}
    lacking = uses_of([event("a", "list", "forbid", **pods)])
    assert refused([], lacking) == list(lacking)
    assert refused([], uses_of([event("a", "list", "forbid", **pods), event("a", "list", **pods)])) == []
    assert refused([Grant("f", "r", frozenset("a"), "list", "", "pods")], lacking) == []


def test_a_cluster_role_applies_in_every_namespace():
    grant = Grant("f", "r", frozenset("a"), "list", "", "pods")
    assert grant.allows(Use("a", "list", "", "pods", "any", "", False))
