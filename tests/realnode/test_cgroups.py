"""Both branches of tools.realnode.cgroups, on plain folders that look like each version: needs neither node nor root."""

import os

import pytest
from tools.realnode import cgroups

pytestmark = pytest.mark.short


def file(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(cgroups, "ROOT", str(tmp_path))
    return str(tmp_path)


@pytest.fixture
def version_2(root):
    """With the folder of a node, in which the kernel puts such files as soon as it is made."""
    file(f"{root}/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma")
    file(f"{root}/cgroup.subtree_control", "cpu memory")
    file(f"{root}/it/cgroup.controllers", "cpuset cpu io memory hugetlb pids")
    file(f"{root}/it/cgroup.subtree_control", "")
    return root


@pytest.fixture
def version_1(root):
    for hierarchy in ("cpu", "cpuset", "memory", "pids", "devices", "freezer"):
        os.makedirs(f"{root}/{hierarchy}")
    file(f"{root}/cpuset/cpuset.cpus", "0-1")
    file(f"{root}/cpuset/cpuset.mems", "0")
    return root


def test_version_2_is_known_by_its_single_hierarchy(version_2):
    assert cgroups.version() == 2
    assert cgroups.folders("it") == [f"{version_2}/it"]


def test_on_version_2_the_node_gets_a_folder_whose_children_have_the_controllers(version_2):
    cgroups.make("it")
    asked = cgroups.read(f"{version_2}/cgroup.subtree_control").split()
    assert asked == ["+cpuset", "+pids", "+hugetlb", "+io"], "of the root only what is not enabled there yet"
    assert cgroups.read(f"{version_2}/it/cgroup.subtree_control").split() == [
        "+cpu", "+cpuset", "+memory", "+pids", "+hugetlb", "+io"], "the kubelet refuses a root without hugetlb"
    assert cgroups.left("it") == [f"{version_2}/it"]


def test_on_version_2_a_controller_that_is_missing_is_named(version_2):
    assert cgroups.problems() == []
    file(f"{version_2}/cgroup.controllers", "cpu io memory pids")
    assert cgroups.problems() == ["cgroup v2 without the controllers cpuset"]


def test_version_1_is_known_by_its_hierarchies(version_1):
    assert cgroups.version() == 1
    assert cgroups.problems() == []
    cgroups.make("it")
    assert sorted(os.path.relpath(one, version_1) for one in cgroups.left("it")) == [
        "cpu/it", "cpuset/it", "devices/it", "freezer/it", "memory/it", "pids/it"]
    assert cgroups.read(f"{version_1}/cpuset/it/cpuset.cpus") == "0-1", "a new one is empty, and takes no process"
    os.rmdir(f"{version_1}/freezer/it")
    os.rmdir(f"{version_1}/freezer")
    assert cgroups.problems() == ["cgroup v1 without freezer"]


def test_a_machine_without_any_is_said(root):
    assert cgroups.version() == 0
    assert cgroups.problems() == [f"no cgroups are mounted on {root}"]
