"""Queues that exist for one test."""

import contextlib
import uuid

import kubernetes

PLURAL = ("nervex.sensetime.com", "v1alpha1", "queues")


class Queues:
    """Queues of one test. Their names begin alike, and they are deleted with the test."""

    def __init__(self, custom, namespace):
        self.custom, self.namespace, self.prefix, self.made = custom, namespace, f"q{uuid.uuid4().hex[:6]}", []

    def name(self, short):
        return f"{self.prefix}-{short}"

    def selector(self):
        """Of the namespace of the test."""
        return {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}

    def create(self, short, **spec):
        name = self.name(short)
        if "parent" in spec:
            spec["parent"] = self.name(spec["parent"])
        spec.setdefault("namespaceSelector", self.selector())
        self.custom.create_cluster_custom_object(*PLURAL, {
            "apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": spec})
        self.made.append(name)
        return name

    def patch(self, short, **spec):
        self.custom.api_client.call_api(
            f"/apis/{PLURAL[0]}/{PLURAL[1]}/queues/{self.name(short)}", "PATCH", body={"spec": spec},
            header_params={"Content-Type": "application/merge-patch+json", "Accept": "application/json"},
            auth_settings=["BearerToken"], response_type="object", _return_http_data_only=True)

    def status(self, short):
        return self.custom.get_cluster_custom_object(*PLURAL, self.name(short)).get("status", {})

    def use(self, name):
        return self.custom.get_cluster_custom_object(*PLURAL, name).get("status", {}).get("use", {})

    def delete(self, short):
        with contextlib.suppress(kubernetes.client.ApiException):
            self.custom.delete_cluster_custom_object(*PLURAL, self.name(short))


@contextlib.contextmanager
def own_queues(custom, namespace):
    made = Queues(custom, namespace)
    yield made
    for name in made.made:
        with contextlib.suppress(kubernetes.client.ApiException):
            custom.delete_cluster_custom_object(*PLURAL, name)
