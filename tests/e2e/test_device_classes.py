"""Extended resources that no node lists and that a DeviceClass backs (KEP-5004): the planner leaves them to
kube-scheduler, which allocates devices from ResourceSlices."""

import uuid

import pytest
from support import nodes
from support.jobs import job, template
from support.wait import wait_for

GROUP = "/apis/resource.k8s.io/v1"


class Devices:
    """Two simulated nodes with as many devices each as add() says, and a DeviceClass for them."""

    def __init__(self, api, pool, names):
        self.api, self.names, self.selector = api, names, {nodes.OWN: pool}
        self.driver = f"gpu-{uuid.uuid4().hex[:8]}.example.com"
        self.explicit, self.implicit = f"{self.driver}/gpu", f"deviceclass.resource.kubernetes.io/{self.driver}"

    def add_class(self):
        self.api.post(f"{GROUP}/deviceclasses", {
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": self.driver},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{self.driver}"'}}],
                     "extendedResourceName": self.explicit}})

    def add(self, count):
        for name in self.names:
            self.api.post(f"{GROUP}/resourceslices", {
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{self.driver}-{name}"},
                "spec": {"driver": self.driver, "nodeName": name,
                         "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                         "devices": [{"name": f"gpu-{i}"} for i in range(count)]}})

    def remove(self):
        for path in [f"deviceclasses/{self.driver}", *(f"resourceslices/{self.driver}-{name}" for name in self.names)]:
            self.api.call("DELETE", f"{GROUP}/{path}", None, "application/json")

    def role(self, replicas, resource):
        body = template(nodeSelector=self.selector)
        body["spec"]["containers"][0]["resources"]["limits"] = {resource: "1"}
        return {"replicas": replicas, "template": body}

    def claim(self, pod):
        """The claim that kube-scheduler made for the pod: allocated, with a device of the pod's node."""
        path = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"
        status = self.api.get(path)["status"]["extendedResourceClaimStatus"]
        claim = self.api.get(f"{GROUP}/namespaces/{pod.metadata.namespace}/resourceclaims/{status['resourceClaimName']}")
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        assert (result["driver"], result["pool"]) == (self.driver, pod.spec.node_name)
        return result["pool"], result["device"]


@pytest.fixture
def devices(target):
    if not target.cluster:
        pytest.skip("the nodes of this cluster are its owner's")
    api = target.cluster.api()
    with nodes.own_nodes(api, {}, {}) as (pool, names):
        nodes.wait_usable(api, names)
        made = Devices(api, pool, names)
        made.add_class()
        yield made
        made.remove()


def test_a_job_gets_devices_of_a_device_class_by_the_name_of_its_resource(jobs, devices):
    devices.add(2)
    jobs.create(job("devices", learner=devices.role(1, devices.explicit), collector=devices.role(2, devices.implicit)))
    jobs.wait_phase("devices", "Running", timeout=60)
    (learner,) = jobs.wait_pods("devices", 1, "Running", role="learner")
    collectors = jobs.wait_pods("devices", 2, "Running", role="collector")
    assert len({devices.claim(pod) for pod in [learner, *collectors]}) == 3
    assert jobs.get("devices")["status"]["attempt"] == 1


def test_a_gang_that_waits_for_devices_says_that_kube_scheduler_allocates_them(jobs, devices):
    jobs.create(job("waits", learner=devices.role(1, devices.explicit)))

    def is_said():
        groups = jobs.pod_groups("waits")
        said = [gang.get("message", "") for one in groups for gang in one.get("status", {}).get("gangs", [])]
        return any(f"{devices.explicit} is left to kube-scheduler" in one for one in said), said
    wait_for(is_said, "the gang to say who allocates its devices", 30)
    assert jobs.phase("waits") != "Running"
    devices.add(1)
    jobs.wait_phase("waits", "Running", timeout=120)
    (learner,) = jobs.wait_pods("waits", 1, "Running", role="learner")
    devices.claim(learner)


def test_pods_that_find_too_few_devices_on_a_node_go_to_the_next(jobs, devices):
    devices.add(1)
    jobs.create(job("spreads", learner=devices.role(2, devices.explicit)))
    jobs.wait_phase("spreads", "Running", timeout=120)
    learners = jobs.wait_pods("spreads", 2, "Running", role="learner")
    assert sorted(devices.claim(pod)[0] for pod in learners) == sorted(devices.names)


def test_a_gang_whose_resource_claims_do_not_exist_names_them_and_starts_when_they_do(jobs, devices):
    devices.add(2)
    wanted = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": devices.driver}}]}}
    claims = f"{GROUP}/namespaces/{jobs.namespace}"

    def role(reference):
        body = template(nodeSelector=devices.selector, resourceClaims=[{"name": "gpu", **reference}])
        body["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
        return {"replicas": 1, "template": body}

    def says(what):
        def said():
            gangs = [one for group in jobs.pod_groups("claims") for one in group.get("status", {}).get("gangs", [])]
            found = [(one.get("reason"), one.get("message", ""), one.get("planned")) for one in gangs]
            return any(reason == "ClaimMissing" and what in message and not planned for reason, message, planned in found), found
        return said

    jobs.create(job("claims", collector=role({"resourceClaimName": "gpu"}), learner=role({"resourceClaimTemplateName": "gpu"})))
    wait_for(says("ResourceClaim gpu"), "the gang to name the claim", 120)
    wait_for(lambda: (jobs.pods("claims") == [], jobs.pods("claims")), "no pod to be there", 120)
    devices.api.post(f"{claims}/resourceclaims", {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                                                  "metadata": {"name": "gpu"}, "spec": wanted})
    wait_for(says("ResourceClaimTemplate gpu"), "the gang to name the template", 240)
    devices.api.post(f"{claims}/resourceclaimtemplates", {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
                                                          "metadata": {"name": "gpu"}, "spec": {"spec": wanted}})
    jobs.wait_phase("claims", "Running", timeout=240)
