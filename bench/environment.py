"""Which cluster is measured? What `make up` wrote about it. Imported first: the modules of tools/ are found then."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def read_env(path):
    """The `export NAME=value` lines of its environment file."""
    if not path.exists():
        sys.exit(f"{path} is not there: start a cluster with `make up`, or name its file with --env")
    lines = (line.removeprefix("export ").strip() for line in path.read_text().splitlines())
    return {name: value.strip("'\"")
            for name, _, value in (line.partition("=") for line in lines if "=" in line)}
