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
        "quota": [{"resources": {"nvidia.com/gpu": 8}}],
        "weight": 1, "order": "Priority", "fairUsers": False, "reclaim": "Never", "preemption": "Never",
        "minRuntimeSeconds": 300, "stop": "None",
    }


def test_classes_have_an_entry_each(custom):
    spec = {"limit": [{"resources": {"cpu": "1500m", "memory": "64Gi"}}, {"nodeClass": "a", "resources": {"cpu": 1}}]}
    assert create(custom, spec)["spec"]["limit"] == spec["limit"]


def test_a_number_with_a_fraction_is_refused_in_few_lines(custom):
    with pytest.raises(kubernetes.client.ApiException) as refused:
        create(custom, {"quota": [{"resources": {"cpu": 1.5}}]})
    causes = json.loads(refused.value.body)["details"]["causes"]
    assert len([one for one in causes if one.get("field", "").startswith("spec")]) == 1, causes


def test_an_unchanged_queue_is_applied_as_unchanged(kubectl, tmp_path, custom):
    queue = {"apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "Queue", "metadata": {"name": "applied-twice"},
             "spec": {"weight": 2, "quota": [{"resources": {"nvidia.com/gpu": 8}}],
                      "limit": [{"nodeClass": "a100", "resources": {"nvidia.com/gpu": 4}}, {"resources": {"cpu": "1.5"}}]}}
    file = tmp_path / "queue.yaml"
    file.write_text(json.dumps(queue), encoding="utf-8")
    try:
        assert kubectl("apply", "-f", str(file)).returncode == 0
        assert "unchanged" in kubectl("apply", "-f", str(file)).stdout
    finally:
        custom.delete_cluster_custom_object(*PLURAL, "applied-twice")


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
    ({"limit": [{"resources": {"cpu": 1}}, {"resources": {"cpu": 2}}]}, "spec.limit"),
    ({"limit": [{"resources": {"cpu": 1}}, {"nodeClass": "", "resources": {"cpu": 2}}]}, "spec.limit"),
    ({"quota": [{"nodeClass": "a", "resources": {"cpu": 1}}, {"nodeClass": "a", "resources": {"cpu": 2}}]}, "spec.quota"),
    ({"limit": [{"resources": {"nvidia.com/gpu": "500m"}}]}, "spec.limit[0].resources"),
    ({"quota": [{"resources": {"cpu": 1.5}}]}, "spec.quota[0].resources.cpu"),
    ({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}, "operator"),
    ({"parent": "vision"}, "spec.parent"),
])
def test_a_wrong_queue_is_refused_with_its_field(custom, spec, field):
    with pytest.raises(kubernetes.client.ApiException) as refused:
        create(custom, spec)
    assert refused.value.status == 422
    assert field in json.loads(refused.value.body)["message"]
