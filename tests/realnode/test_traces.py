"""What is left of a node that did not start, or whose starter was killed: nothing, at the latest after the next `down`. Each
test starts one of its own, beside that of the other tests."""

import os
import signal
import subprocess
import threading
import types

import pytest
from tools.base.console import Failure, wait_for
from tools.base.tree import ROOT
from tools.realnode import config, lifecycle
from tools.realnode.settings import Settings

import traces


@pytest.fixture
def own():
    """Settings of a node that is not there; (them, the machine before)."""
    settings = Settings((os.environ.get("NODE") or "nervex-test-node") + "-traces")
    lifecycle.down(settings)
    yield settings, traces.of_machine(settings)
    lifecycle.down(settings)


def test_a_start_that_fails_leaves_nothing_but_its_logs(node, own, monkeypatch):
    settings, before = own
    lines = config.command_lines
    monkeypatch.setattr(config, "command_lines", lambda *all: {**lines(*all), "kube-apiserver": ["false"]})
    with pytest.raises(Failure, match="kube-apiserver"):
        lifecycle.up(settings)
    assert os.path.getsize(f"{settings.folder}.failed/etcd.log") > 0
    lifecycle.down(settings)
    assert traces.left(before, settings) == {}
    assert not os.path.exists(settings.folder + ".failed")


@pytest.mark.parametrize("written_down", [True, False], ids=["", "before-it-wrote-down-what-it-started"])
def test_a_start_that_is_killed_leaves_nothing_after_the_next_down(node, own, written_down):
    settings, before = own
    starter = subprocess.Popen([os.path.join(ROOT, "scripts", "real-node"), "up"], env={**os.environ, "NODE": settings.name},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: (os.path.exists(settings.log("containerd")), starter.poll()), "containerd to be started", 60)
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    assert traces.left(before, settings)["programs"][1], "it is on its way"
    if not written_down:
        os.unlink(settings.path("state.json"))
    lifecycle.down(settings)
    assert traces.left(before, settings) == {}


def test_who_waited_for_a_lock_that_went_with_its_node_takes_the_next(tmp_path):
    """Else a third one, who finds no file and makes one, would be beside it."""
    settings = types.SimpleNamespace(folder=str(tmp_path / "node"))
    path, held = lifecycle.lock_file(settings), []

    def waits():
        with lifecycle.locked(settings):
            held.append(os.path.exists(path))

    def opened():
        return sum(os.path.realpath(f"/proc/self/fd/{fd}") == path for fd in os.listdir("/proc/self/fd")) == 2, "not yet"
    with lifecycle.locked(settings):
        thread = threading.Thread(target=waits)
        thread.start()
        wait_for(opened, "the other one to wait", 10, 0.01)
        os.unlink(path)
    thread.join(10)
    assert held == [True]
