"""Waits for pods: shared by the benchmarks that do. Lists, since a client in Python falls behind a watch of
many pods, which the API server then ends; so times are exact to about 20 ms."""

import json
import sys
import time


def wait_for_pods(core, options, selector, holds):
    """The time (monotonic) at which holds([pod as JSON]) was seen first."""
    deadline = time.monotonic() + options.timeout
    while time.monotonic() < deadline:
        reply = core.list_namespaced_pod(options.namespace, label_selector=selector, resource_version="0",
                                         _preload_content=False)
        pods = json.loads(reply.data)["items"]
        if holds(pods):
            return time.monotonic()
        time.sleep(0.01)
    sys.exit(f"pods {selector} were not there within {options.timeout} s: {len(pods)} were seen")
