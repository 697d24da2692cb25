"""What is started: how many gangs, of how many pods, on how many nodes."""

import dataclasses

POD_CPU = "100m"
BLOCK = "topology.kubernetes.io/zone"  # label of nodes


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    gangs: int
    pods: int             # of a gang
    nodes: int
    title: str
    cpu: str = POD_CPU    # that each pod asks for
    capacity: int = 0     # gangs that fit, if not all do
    block: int = 0        # nodes with one value of BLOCK; the pods of a gang have to be on such; 0: anywhere

    @property
    def is_contention(self):
        return self.capacity > 0

    @property
    def expected(self):
        """Pods that are bound at the end."""
        return (self.capacity or self.gangs) * self.pods

    def gang_names(self, prefix):
        return [f"{prefix}-{number:03}" for number in range(self.gangs)]


# In this order, so that nodes are only added.
SCENARIOS = {one.name: one for one in (
    # 8 pods to a node of 64 CPUs: 40 nodes hold 320, which is 20 gangs of 16.
    Scenario("contention", 40, 16, 40, "40 gangs × 16 pods, capacity for 20", cpu="8", capacity=20),
    Scenario("1x1000", 1, 1000, 500, "1 × 1,000 pods, 500 nodes"),
    Scenario("100x10", 100, 10, 500, "100 × 10 pods, 500 nodes"),
    Scenario("10x64", 10, 64, 1000, "10 × 64 pods, 1,000 nodes"),
    Scenario("3x300", 3, 300, 5000, "3 × 300 pods, 5,000 nodes"),
)}
# Chosen by name only, for ours and native gangs: one pod to a node, all in one of two blocks of nodes.
NEAR = Scenario("near", 1, 512, 576, "1 × 512 pods on the 512 nodes of one block, 576 nodes", cpu="40", block=512)
# How the cost grows with nodes, gangs, and pods of a gang (--sweep). Ours alone. A role has 4,096 replicas at most.
SWEEP = ("1x64@100", "1x64@1000", "1x10@1000", "1x100@1000", "1x1000@1000", "1x4000@1000",
         "10x10@1000", "100x10@1000", "1000x10@1000", "1x64@5000", "1x64@15000")
# Chosen by name only: a check that all works, in a minute.
SMALL = Scenario("small", 2, 8, 10, "2 × 8 pods, 10 nodes")


def named(name):
    """One of the above, or GANGSxPODS@NODES. ValueError for anything else."""
    for one in (SMALL, NEAR):
        if name == one.name:
            return one
    if name in SCENARIOS:
        return SCENARIOS[name]
    shape, _, nodes = name.partition("@")
    gangs, _, pods = shape.partition("x")
    gangs, pods, nodes = int(gangs), int(pods), int(nodes)
    return Scenario(name, gangs, pods, nodes, f"{gangs:,} × {pods:,} pods, {nodes:,} nodes")
