"""The reviews that all sides get: valid jobs, as an API server sends them, defaults of the CRD filled in."""

import json

NAMESPACE = "team-a"
COUNT = 64  # different ones, sent in turn


def write(path, size, unique=False):
    """Writes a file with one body per line. With `unique` no two jobs share a template."""
    with open(path, "w", encoding="utf-8") as file:
        for number in range(COUNT if size < 100_000 else 8):
            file.write(review(number, size, f"r{number}" if unique else "v1.4.2") + "\n")


def review(number, size, tag):
    """`size` bytes, within one variable of the environment."""
    variables = 0
    text = dump(body(number, tag, 0))
    while len(text) < size:
        variables += max(1, (size - len(text)) // 80)
        text = dump(body(number, tag, variables))
    return text


def dump(value):
    return json.dumps(value, separators=(",", ":"))


def body(number, tag, variables):
    name = f"dqn-{number:04}"
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": f"705ab4f5-6393-11e8-b7cc-{number:012}",
        "kind": {"group": "nervex.sensetime.com", "version": "v1alpha1", "kind": "NerveXJob"},
        "resource": {"group": "nervex.sensetime.com", "version": "v1alpha1", "resource": "nervexjobs"},
        "requestKind": {"group": "nervex.sensetime.com", "version": "v1alpha1", "kind": "NerveXJob"},
        "requestResource": {"group": "nervex.sensetime.com", "version": "v1alpha1", "resource": "nervexjobs"},
        "name": name, "namespace": NAMESPACE, "operation": "CREATE",
        "userInfo": {"username": "alice@example.com", "groups": ["team-a", "system:authenticated"]},
        "object": managed(job(name, tag, variables)), "oldObject": None, "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldValidation": "Strict"}}}


def job(name, tag, variables):
    return {"apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob",
            "metadata": {"name": name, "namespace": NAMESPACE, "creationTimestamp": "2026-01-01T00:00:00Z",
                         "generation": 1, "uid": "5cd1a0c6-6ab3-4b7e-9d8d-6c2f2b0d6b1f", "labels": {"app": "dqn"}},
            "spec": {"group": "research", "cleanPodPolicy": "Running", "reservationSeconds": 600, "suspend": False,
                     "volumes": [{"name": "shared", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}],
                     "coordinator": {"template": template("coordinator", tag, [], cpu="1", memory="2Gi")},
                     "collector": {"replicas": 8, "reservedReplicas": 0,
                                   "template": template("collector", tag, spread(variables // 2), cpu="4", memory="8Gi")},
                     "learner": {"replicas": 2, "reservedReplicas": 0,
                                 "template": template("learner", tag, spread(variables - variables // 2), cpu="16",
                                                      memory="64Gi", gpus=8)}}}


def managed(stored):
    """The job with managedFields, which an API server adds before the review."""
    written = {"f:metadata": {"f:labels": fields_of(stored["metadata"]["labels"])}, "f:spec": fields_of(stored["spec"])}
    stored["metadata"]["managedFields"] = [{"manager": "kubectl-create", "operation": "Update", "apiVersion": stored["apiVersion"],
                                            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": written}]
    return stored


def fields_of(value):
    """Lists of a CRD count as one field."""
    return {".": {}} | {f"f:{key}": fields_of(below) if isinstance(below, dict) else {} for key, below in value.items()}


def spread(variables):
    return [{"name": f"VARIABLE_{number}", "value": f"what number {number} of them is set to"}
            for number in range(variables)]


def template(role, tag, variables, cpu, memory, gpus=0):
    limits = {"memory": memory} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    container = {"name": "nervex-container", "image": f"registry.example.com/research/dqn:{tag}",
                 "command": ["python3", "-m", f"dqn.{role}", "--config=/etc/dqn/config.yaml"],
                 "ports": [{"name": "nervex-port", "containerPort": 22270}],
                 "env": [{"name": "LOG_LEVEL", "value": "info"},
                         {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}, *variables],
                 "resources": {"requests": {"cpu": cpu, "memory": memory}, "limits": limits},
                 "volumeMounts": [{"name": "shared", "mountPath": "/dev/shm"}],
                 "securityContext": {"allowPrivilegeEscalation": False}}
    return {"metadata": {"labels": {"role": role}},
            "spec": {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 30}}
