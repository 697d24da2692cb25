"""python -m tools.demo cluster|node|training, called by scripts/demo, scripts/demo-node and scripts/demo-training."""

import os
import sys

from tools.base import entry
from tools.cluster.settings import Settings
from tools.demo import cluster, node, training
from tools.realnode.settings import Settings as NodeSettings

KEEP = os.environ.get("KEEP") == "1"


ON_NODE = {"node": node.run, "training": training.run}


def run_on_node(settings):
    ON_NODE[sys.argv[1]](settings, os.path.abspath(os.environ.get("NERVEX_BIN") or Settings.bin), KEEP)


if __name__ == "__main__":
    if sys.argv[1] in ON_NODE:
        sys.exit(entry.run(NodeSettings.from_environment, run_on_node))
    sys.exit(entry.run(Settings.from_environment, lambda settings: cluster.run(settings, KEEP)))
