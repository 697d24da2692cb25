"""What the API server itself says about Queues: defaults, ranges and refusals of the schema."""

import json

import kubernetes
import pytest

PLURAL = ("nervex.sensetime.com", "v1alpha1", "queues")


def create(api, spec, name="vision"):
    """As the API server would store it."""
    body = {"apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
    return api.create_cluster_custom_object(*PLURAL, body, dry_run="All")


def test_a_queue_gets_its_defaults(custom):
    assert create(custom, {"quota": [{"resources": {"nvidia.com/gpu": 8}}]})["spec"] == {
        "quota": [{"nodeClass": "", "resources": {"nvidia.com/gpu": 8}}],
        "weight": 1, "order": "Priority", "fairUsers": False, "reclaim": "Never", "preemption": "Never",
        "minRuntimeSeconds": 300, "stop": "None",
    }


@pytest.mark.parametrize("spec, field", [
    ({"weight": 0}, "spec.weight"),
    ({"weight": 1_000_001}, "spec.weight"),
    ({"order": "Fifo"}, "spec.order"),
    ({"stop": "Drain"}, "spec.stop"),
    ({"maxRuntimeSeconds": 0}, "spec.maxRuntimeSeconds"),
    ({"quota": [{"nodeClass": "a100"}]}, "spec.quota[0].resources"),
    ({"quota": [{"resources": {"cpu": "-1"}}]}, "spec.quota[0].resources"),
    ({"quota": [{"resources": {"cpu": -1}}]}, "spec.quota[0].resources"),
    ({"limit": [{"resources": {"cpu": "many"}}]}, "spec.limit[0].resources"),
    ({"limit": [{"resources": {"cpu": 1}}, {"resources": {"cpu": 2}}]}, "spec.limit[1]"),
    ({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}, "operator"),
    ({"parent": "vision"}, "spec.parent"),
])
def test_a_wrong_queue_is_refused_with_its_field(custom, spec, field):
    with pytest.raises(kubernetes.client.ApiException) as refused:
        create(custom, spec)
    assert refused.value.status == 422
    assert field in json.loads(refused.value.body)["message"]
