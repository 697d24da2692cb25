"""What manifests/rbac grants, and what programs used of it according to the API server's audit log. Pure except for
the readers."""

import dataclasses
import json
import os

from tools.base.tree import ROOT
from tools.cluster import control_plane, manifests

NAMESPACE = "nervex-system"


@dataclasses.dataclass(frozen=True)
class Grant:
    """One verb on one resource, for some accounts. `namespace` and `name` of None stand for any."""
    file: str
    role: str
    accounts: frozenset
    verb: str
    group: str
    resource: str         # with its subresource: "pods/binding"
    namespace: str = None
    name: str = None

    def allows(self, use):
        return (use.account in self.accounts and use.verb == self.verb and use.group == self.group
                and use.resource == self.resource and self.namespace in (None, use.namespace)
                and self.name in (None, use.name))

    def __str__(self):
        what = f"{self.verb} {self.resource}" + (f" ({self.group})" if self.group else "")
        return f"{self.file}: role {self.role}: {what}" + (f" named {self.name}" if self.name else "")


@dataclasses.dataclass(frozen=True)
class Use:
    """One kind of request by an account."""
    account: str
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    forbidden: bool

    def __str__(self):
        where = f" in {self.namespace}" if self.namespace else ""
        what = f"{self.resource}" + (f" ({self.group})" if self.group else "")
        return f"{self.account}: {self.verb} {what}{where}" + (f" named {self.name}" if self.name else "")


def roles_of_others(documents):
    """Names of the ClusterRoles that are bound and not defined here: the system's own."""
    defined = {one["metadata"]["name"] for _, one in documents if one["kind"] == "ClusterRole"}
    return sorted({one["roleRef"]["name"] for _, one in documents
                   if one["kind"] == "ClusterRoleBinding"} - defined)


def grants_of(documents):
    """`documents`: [(file name, object)] of roles and bindings. Leaves out roles that others define, and those that
    are added to Kubernetes' own roles for users (tests/e2e/test_user_roles.py)."""
    accounts = {}
    for _, one in documents:
        if one["kind"] in ("ClusterRoleBinding", "RoleBinding"):
            to = (one["roleRef"]["kind"], one["roleRef"]["name"])
            accounts.setdefault(to, set()).update(
                subject["name"] for subject in one["subjects"] if subject.get("namespace") == NAMESPACE)
    found = []
    for file, one in documents:
        if one["kind"] not in ("ClusterRole", "Role"):
            continue
        if any(label.startswith("rbac.authorization.k8s.io/aggregate-to-") for label in one["metadata"].get("labels", {})):
            continue
        name = one["metadata"]["name"]
        holders = frozenset(accounts.get((one["kind"], name), ()))
        for rule in one["rules"]:
            found += [Grant(file, name, holders, verb, group, resource, one["metadata"].get("namespace"), only)
                      for group in rule.get("apiGroups", []) for resource in rule.get("resources", [])
                      for verb in rule["verbs"] for only in rule.get("resourceNames", [None])]
    return found


def uses_of(lines):
    """The distinct uses in an audit log; an incomplete line is left out."""
    found = set()
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        at = event.get("objectRef")
        account = event.get("user", {}).get("username", "").removeprefix(f"system:serviceaccount:{NAMESPACE}:")
        if not at or ":" in account or "resource" not in at:  # a path without an object, or a user
            continue
        resource = at["resource"] + (f"/{at['subresource']}" if at.get("subresource") else "")
        # 403 is also what quotas and ending namespaces answer: only the authorizer's word counts
        forbidden = event.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid"
        found.add(Use(account, event["verb"], at.get("apiGroup", ""), resource, at.get("namespace", ""),
                      at.get("name", ""), forbidden))
    return found


def unused(grants, uses):
    return [grant for grant in grants if not any(grant.allows(use) for use in uses if not use.forbidden)]


def refused(grants, uses):
    """Forbidden requests, except those that a role grants or that were allowed at another time: an API server that
    has just started forbids everything until it has read its roles."""
    def what(use):
        return use.account, use.verb, use.group, use.resource, use.namespace
    allowed = {what(use) for use in uses if not use.forbidden}
    return [use for use in uses if use.forbidden and what(use) not in allowed
            and not any(grant.allows(use) for grant in grants)]


# -- readers


def read_documents():
    """The grants of our programs in any variant."""
    folder = os.path.join("manifests", "rbac")
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(os.path.join(ROOT, folder)))
             if name.endswith(".yaml")]
    paths.append(os.path.join("manifests", "hardening", "token-review.yaml"))
    documents = []
    for path in paths:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            documents += [(path, one) for one in manifests.load_all(file) if one]
    return documents


def read_grants():
    return grants_of(read_documents())


def read_grants_of_others(api):
    """The grants of our accounts in the system's own roles of this cluster."""
    documents = read_documents()
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/"
    others = [("the cluster", {**api.get(path + name), "kind": "ClusterRole"}) for name in roles_of_others(documents)]
    return grants_of(others + [(file, one) for file, one in documents if one["kind"].endswith("Binding")])


def read_uses(path):
    with open(path, encoding="utf-8") as file:
        return uses_of(file)


# -- what a worker's cluster has seen, kept for a run that judges all of them


@dataclasses.dataclass
class Record:
    uses: set             # of Use
    grants_of_others: list
    failed: bool          # whether tests failed


def record_of(cluster, failed):
    return Record(read_uses(control_plane.audit_log(cluster.settings)), read_grants_of_others(cluster.api()), failed)


def keep_uses(folder, cluster, failed):
    record = record_of(cluster, failed)
    kept = {"uses": [dataclasses.astuple(one) for one in record.uses], "failed": record.failed,
            "grants": [{**vars(one), "accounts": sorted(one.accounts)} for one in record.grants_of_others]}
    with open(os.path.join(folder, f"{cluster.settings.name}.json"), "w", encoding="utf-8") as file:
        json.dump(kept, file)


def kept_uses(folder):
    """One record of all that was kept."""
    whole = Record(set(), [], False)
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            kept = json.load(file)
        whole.uses |= {Use(*one) for one in kept["uses"]}
        whole.grants_of_others = [Grant(**{**one, "accounts": frozenset(one["accounts"])}) for one in kept["grants"]]
        whole.failed |= kept["failed"]
    return whole
