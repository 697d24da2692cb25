"""python -m tools.realnode VERB, called by scripts/real-node."""

import os
import sys

from tools.base import entry, processes
from tools.base.console import Failure, say
from tools.controlplane import binaries
from tools.realnode import lifecycle, machine, node
from tools.realnode.settings import Settings


def present(settings):
    found = node.Node.load(settings)
    if not found or not found.alive:
        raise Failure(f"there is no node {settings.name}: scripts/real-node up")
    return found


def status(settings):
    found = present(settings)
    for program, process in found.programs.items():
        say(f"{program:<26} {'runs' if processes.alive(process) else 'ENDED'}, pid {process['pid']}")
    say(found.kubectl("get", "nodes,pods", "--all-namespaces", "-o", "wide").stdout.rstrip())


def run(settings, words):
    """Becomes the command, in the node's network: kubectl, tests, anything that only calls its addresses."""
    found = present(settings)
    if not words:
        raise Failure("what shall run? scripts/real-node run kubectl get pods")
    os.environ["KUBECONFIG"] = found.kubeconfig
    os.environ["PATH"] = f"{binaries.folder()}:{os.environ.get('PATH', os.defpath)}"
    os.execvp("nsenter", ["nsenter", f"--target={found.init['pid']}", "--net", "--", *words])


def act(settings):
    verb, *rest = sys.argv[1:]
    if verb == "check":
        return machine.check()
    if verb == "up":
        lifecycle.up(settings)
    elif verb == "down":
        lifecycle.down(settings)
    elif verb == "status":
        status(settings)
    elif verb == "load":
        present(settings).load_images(os.path.abspath(path) for path in rest)
    elif verb == "run":
        run(settings, rest)
    else:
        raise Failure(f"unknown verb {verb}")
    return 0


if __name__ == "__main__":
    sys.exit(entry.run(Settings.from_environment, act))
