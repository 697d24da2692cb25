"""How does a job look in Python, and what manifest comes of it?"""

import dataclasses
import json
import os
import unittest

from support import ROOT
from nervex import Job, Role, Topology, Workers
from nervex.job import camel_case

NOT_FOR_USERS = {"requests"}  # written by nervex-server
SPREAD = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
PREFERENCE = {"weight": 1, "podAffinityTerm": {"topologyKey": "topology.kubernetes.io/zone",
                                               "labelSelector": {"matchLabels": {"nervexjob-name": "dqn"}}}}


def container(manifest, role="coordinator"):
    return manifest["spec"][role]["template"]["spec"]["containers"][0]


class Manifest(unittest.TestCase):
    def test_the_smallest_job_has_a_coordinator(self):
        self.assertEqual(Job("dqn", coordinator=Role("trainer:1")).to_manifest(), {
            "apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob", "metadata": {"name": "dqn"},
            "spec": {"coordinator": {"template": {"spec": {"containers": [
                {"name": "nervex-container", "image": "trainer:1"}]}}}}})

    def test_all_fields_of_a_role_are_in_its_template(self):
        role = Role("trainer:1", command=["python3"], args=["t.py"], env={"A": "1"}, cpu=0.5, memory="4Gi", gpus=8,
                    requests={"ephemeral-storage": "1Gi"}, port=80, node_selector={"zone": "a"},
                    tolerations=[{"operator": "Exists"}], service_account="runner",
                    affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [PREFERENCE]}},
                    topology_spread_constraints=[SPREAD],
                    volume_mounts=[{"name": "data", "mountPath": "/data"}], labels={"team": "rl"}, annotations={"a": "b"})
        manifest = Job("dqn", coordinator=role).to_manifest()
        template = manifest["spec"]["coordinator"]["template"]
        self.assertEqual(template["metadata"], {"labels": {"team": "rl"}, "annotations": {"a": "b"}})
        self.assertEqual({name: template["spec"][name] for name in (
            "nodeSelector", "tolerations", "serviceAccountName", "affinity", "topologySpreadConstraints")}, {
            "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [PREFERENCE]}},
            "topologySpreadConstraints": [SPREAD],
            "nodeSelector": {"zone": "a"}, "tolerations": [{"operator": "Exists"}], "serviceAccountName": "runner"})
        self.assertEqual(container(manifest), {
            "name": "nervex-container", "image": "trainer:1", "command": ["python3"], "args": ["t.py"],
            "env": [{"name": "A", "value": "1"}], "ports": [{"name": "nervex-port", "containerPort": 80}],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "resources": {"requests": {"ephemeral-storage": "1Gi", "cpu": "0.5", "memory": "4Gi"},
                          "limits": {"nvidia.com/gpu": "8"}}})

    def test_workers_have_counts(self):
        spec = Job("dqn", coordinator=Role("a"), collector=Workers("b", replicas=2, reserved_replicas=4, max_replicas=8),
                   learner=Workers("c")).to_manifest()["spec"]
        self.assertEqual({name: value for name, value in spec["collector"].items() if name != "template"},
                         {"replicas": 2, "reservedReplicas": 4, "maxReplicas": 8})
        self.assertEqual(list(spec["learner"]), ["template"])

    def test_a_job_and_its_workers_may_have_a_topology(self):
        spec = Job("dqn", coordinator=Role("a"), topology=Topology("topology.kubernetes.io/zone"),
                   learner=Workers("b", topology=Topology("kubernetes.io/hostname", policy="Preferred"),
                                   node_classes=["h100", "a100"])).to_manifest()["spec"]
        self.assertEqual(spec["topology"], {"level": "topology.kubernetes.io/zone"})
        self.assertEqual({name: value for name, value in spec["learner"].items() if name != "template"},
                         {"topology": {"level": "kubernetes.io/hostname", "policy": "Preferred"}, "nodeClasses": ["h100", "a100"]})

    def test_fields_of_the_spec_have_kubernetes_names(self):
        spec = Job("dqn", coordinator=Role("a"), priority_class_name="high", queue="vision", backoff_limit=0, suspend=False,
                   preemptible=True, active_deadline_seconds=60, volumes=[{"name": "data", "emptyDir": {}}]).to_manifest()["spec"]
        del spec["coordinator"]
        self.assertEqual(spec, {"priorityClassName": "high", "queue": "vision", "backoffLimit": 0, "suspend": False,
                                "preemptible": True, "activeDeadlineSeconds": 60, "volumes": [{"name": "data", "emptyDir": {}}]})

    def test_all_fields_of_the_schema_are_there(self):
        with open(os.path.join(ROOT, "schemas", "nervexjob.json"), encoding="utf-8") as file:
            spec = json.load(file)["properties"]["spec"]["properties"]
        metadata = {"name", "namespace", "labels", "annotations"}
        self.assertEqual({camel_case(one.name) for one in dataclasses.fields(Job)} - metadata, set(spec) - NOT_FOR_USERS)
        of_role = {camel_case(one.name) for one in dataclasses.fields(Role)}
        of_workers = {camel_case(one.name) for one in dataclasses.fields(Workers)}
        for role in ("collector", "learner"):
            self.assertEqual(of_workers - of_role | {"template"}, set(spec[role]["properties"]))

    def test_a_template_is_the_base_and_is_not_changed(self):
        template = {"spec": {"containers": [
            {"name": "sidecar", "image": "s"},
            {"name": "nervex-container", "image": "old", "env": [{"name": "A", "value": "0"}, {"name": "B", "value": "2"}]}]}}
        made = Role("new", env={"A": "1"}, template=template).to_template()
        self.assertEqual(made["spec"]["containers"], [
            {"name": "sidecar", "image": "s"},
            {"name": "nervex-container", "image": "new", "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]}])
        self.assertEqual(template["spec"]["containers"][1]["image"], "old")

    def test_mistakes_are_noticed_where_they_are_made(self):
        for make, error in ((lambda: Job("DQN", coordinator=Role("a")), ValueError),
                            (lambda: Job("dqn", coordinator=Role("a"), backof_limit=1), TypeError),
                            (lambda: Workers("a", replica=1), TypeError),
                            (lambda: Workers("a", node_classes="a100").to_spec(), TypeError),
                            (lambda: Topology("zone", polcy="Preferred"), TypeError),
                            (lambda: Role("a", command="python3 t.py").to_template(), TypeError)):
            self.assertRaises(error, make)


if __name__ == "__main__":
    unittest.main()
