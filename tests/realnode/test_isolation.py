"""Nothing of the node reaches any other network, and what it needs of the machine is named when it is not there."""

import pytest
from tools.realnode import config, machine

pytestmark = pytest.mark.short


def test_the_node_has_no_link_to_the_outside(node):
    links = [line.split()[1].rstrip(":") for line in node.run("ip", "-oneline", "link").stdout.splitlines()]
    own = {"lo", "node0@node1", "node1@node0", "pods0"}
    others = [one for one in links if one not in own]
    assert own <= set(links)
    assert all(one.startswith("veth") for one in others), others  # of pods, with one end in each
    routes = node.run("ip", "route").stdout
    assert {line.split("dev ")[1].split()[0] for line in routes.splitlines()} == {"node0", "pods0"}


def test_the_programs_get_nothing_of_the_callers_environment(node, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://192.0.2.1:1")
    assert "192.0.2.1" not in node.run("env").stdout


def test_what_a_machine_lacks_is_named(monkeypatch):
    monkeypatch.setattr(machine, "TRIALS", (*machine.TRIALS, ("a thing that no machine has", "false")))
    assert machine.problems() == ["a thing that no machine has"]


def test_the_kubelets_file_asks_for_cgroup_v1_only_where_that_is(node):
    assert config.kubelet(node.settings, 1)["failCgroupV1"] is False
    assert "failCgroupV1" not in config.kubelet(node.settings, 2)
