"""A plan that does not start releases its capacity, even if its pods cannot be created: see "how a gang starts" in
docs/concepts/plan-and-commit.md."""

import contextlib

import kubernetes
import pytest
from support import nodes
from support.jobs import job, template
from support.wait import wait_for

QUICK = "--hold-deadline=2s --plan-deadline=3s"
LONG = 120


@pytest.fixture
def refuse_pods(api_client, namespace):
    """refuse_pods(job): a webhook without an answer makes the creation of that job's pods fail inside the block."""
    hooks = kubernetes.client.AdmissionregistrationV1Api(api_client)

    @contextlib.contextmanager
    def refuse(name):
        hook = f"e2e-down-{namespace}"
        hooks.create_validating_webhook_configuration({
            "metadata": {"name": hook},
            "webhooks": [{
                "name": "down.e2e.example.com", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 1,
                "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/"},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "objectSelector": {"matchLabels": {"nervexjob-name": name}},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            }]})
        try:
            yield
        finally:
            hooks.delete_validating_webhook_configuration(hook)
    return refuse


def test_a_plan_whose_pods_cannot_be_created_releases_its_capacity(jobs, quick, refuse_pods):
    with nodes.own_nodes(quick.api(), {}, gpus=8) as (pool, names):
        nodes.wait_usable(quick.api(), names)

        def wants_all(name):
            one = template(gpus=8, nodeSelector={nodes.OWN: pool})
            return job(name, collector={"template": one, "replicas": 1})
        with refuse_pods("first"):
            jobs.create(wants_all("first"))
            wait_for(lambda: any(one.get("status", {}).get("gangs") for one in jobs.pod_groups("first")), "a plan")
            jobs.create(wants_all("second"))
            jobs.wait_phase("second", "Running", LONG)

            def look():
                message = jobs.pod_groups("first")[0]["status"]["gangs"][0]["message"]
                return "pods were not created within 3s" in message, message
            wait_for(look, "the message to say what was missing", LONG)
            assert jobs.pods("first") == []
        jobs.delete("second")
        jobs.wait_phase("first", "Running", LONG)
