"""The cluster's extender with other flags."""

import contextlib
import os


@contextlib.contextmanager
def extender_with(cluster, flags):
    """Runs it with these flags, in addition to its own."""
    before = os.environ.get("NERVEX_EXTENDER_ARGS")
    os.environ["NERVEX_EXTENDER_ARGS"] = f"{before or ''} {flags}"
    try:
        cluster.restart("extender")
        yield
    finally:
        if before is None:
            del os.environ["NERVEX_EXTENDER_ARGS"]
        else:
            os.environ["NERVEX_EXTENDER_ARGS"] = before
        cluster.restart("extender")
