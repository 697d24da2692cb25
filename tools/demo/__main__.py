"""python -m tools.demo cluster|node, called by scripts/demo and scripts/demo-node."""

import os
import sys

from tools.base import entry
from tools.cluster.settings import Settings
from tools.demo import cluster, node
from tools.realnode.settings import Settings as NodeSettings

KEEP = os.environ.get("KEEP") == "1"


def run_on_node(settings):
    node.run(settings, os.path.abspath(os.environ.get("NERVEX_BIN") or Settings.bin), KEEP)


if __name__ == "__main__":
    if sys.argv[1:] == ["node"]:
        sys.exit(entry.run(NodeSettings.from_environment, run_on_node))
    sys.exit(entry.run(Settings.from_environment, lambda settings: cluster.run(settings, KEEP)))
