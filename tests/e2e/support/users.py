"""Accounts with one of Kubernetes' own roles in one namespace, as users have them."""

import kubernetes
import yaml

from support.wait import wait_for


class Users:
    """users.kubeconfig("edit"): the file of an account that has this ClusterRole in the namespace."""

    def __init__(self, target, core, namespace, folder):
        self.core, self.namespace, self.folder = core, namespace, folder
        with open(target.kubeconfig, encoding="utf-8") as file:
            self.cluster = yaml.safe_load(file)["clusters"][0]["cluster"]

    def kubeconfig(self, role):
        name, path = f"user-{role}", self.folder / role
        if path.exists():
            return str(path)
        self.core.create_namespaced_service_account(self.namespace, {"metadata": {"name": name}})
        kubernetes.client.RbacAuthorizationV1Api(self.core.api_client).create_namespaced_role_binding(self.namespace, {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.namespace}]})
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": self.namespace}}],
            "clusters": [{"name": "c", "cluster": self.cluster}],
            "users": [{"name": "u", "user": {"token": self.token(role)}}]}), encoding="utf-8")
        return str(path)

    def token(self, role, *audiences):
        """For the API server, or for these audiences. kubeconfig() creates the account."""
        return self.core.create_namespaced_service_account_token(f"user-{role}", self.namespace, {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": list(audiences)}}).status.token


def may(kubectl, kubeconfig, verb, what):
    """`what`: "nervexjobs", "nervexjobs/scale"; with the group if another group has the same kind."""
    resource, _, subresource = what.partition("/")
    more = [f"--subresource={subresource}"] if subresource else []
    return kubectl("--kubeconfig", kubeconfig, "auth", "can-i", verb, resource, *more).stdout.strip() == "yes"


def wait_until_user_may(kubectl, kubeconfig, verb, what):
    """A newly bound role applies after the API server's authorizer has seen it and, for additions to Kubernetes' own
    roles, the controller manager."""
    wait_for(lambda: may(kubectl, kubeconfig, verb, what), f"the account to be allowed to {verb} {what}")
