"""python -m harness.realnode VERB, called by scripts/real-node."""

import os
import sys

from harness import entry
from harness.console import Failure, say
from harness.realnode import demo, machine, node
from harness.realnode.settings import Settings
from harness.settings import Settings as Common


def present(settings):
    found = node.Node.load(settings)
    if not found or not found.alive:
        raise Failure(f"there is no node {settings.name}: scripts/real-node up")
    return found


def status(settings):
    found = present(settings)
    for program, process in found.programs.items():
        say(f"{program:<26} {'runs' if node.processes.alive(process) else 'ENDED'}, pid {process['pid']}")
    say(found.kubectl("get", "nodes,pods", "--all-namespaces", "-o", "wide").stdout.rstrip())


def run(settings, words):
    """Becomes the command, in the node's network: kubectl, tests, anything that only calls its addresses."""
    found = present(settings)
    if not words:
        raise Failure("what shall run? scripts/real-node run kubectl get pods")
    os.environ["KUBECONFIG"] = found.kubeconfig
    os.environ["PATH"] = f"{node.control_plane.programs_folder()}:{os.environ.get('PATH', os.defpath)}"
    os.execvp("nsenter", ["nsenter", f"--target={found.init['pid']}", "--net", "--", *words])


def act(settings):
    verb, *rest = sys.argv[1:]
    if verb == "check":
        return machine.check()
    if verb == "up":
        node.up(settings)
    elif verb == "down":
        node.down(settings)
    elif verb == "status":
        status(settings)
    elif verb == "load":
        present(settings).load_images(os.path.abspath(path) for path in rest)
    elif verb == "demo":
        demo.run(settings, os.path.abspath(os.environ.get("NERVEX_BIN") or Common.bin), os.environ.get("KEEP") == "1")
    elif verb == "run":
        run(settings, rest)
    else:
        raise Failure(f"unknown verb {verb}")
    return 0


if __name__ == "__main__":
    sys.exit(entry.run(Settings.from_environment, act))
