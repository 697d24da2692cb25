"""Follows pods until something holds of them: shared by the benchmarks that wait for pods."""

import sys
import time

from kubernetes import watch


def follow(core, options, selector, version, holds):
    """The time (monotonic) at which the watch from `version` on had shown enough for holds({name: pod})."""
    pods = {}
    stream = watch.Watch().stream(core.list_namespaced_pod, options.namespace, label_selector=selector,
                                  resource_version=version, timeout_seconds=options.timeout)
    for event in stream:
        pod = event["object"]
        if event["type"] == "DELETED":
            pods.pop(pod.metadata.name, None)
        else:
            pods[pod.metadata.name] = pod
        if holds(pods):
            return time.monotonic()
    sys.exit(f"pods {selector} were not there within {options.timeout} s: {len(pods)} were seen")
