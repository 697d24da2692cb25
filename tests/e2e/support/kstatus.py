"""Which status does kstatus compute for an object by its generic rules? Flux, kpt and others wait for it."""


def kstatus(found):
    """The generic rules of sigs.k8s.io/cli-utils/pkg/kstatus, in their order: "Terminating", "InProgress",
    "Failed" or "Current"."""
    status = found.get("status", {})
    if "deletionTimestamp" in found["metadata"]:
        return "Terminating"
    if status.get("observedGeneration", found["metadata"]["generation"]) != found["metadata"]["generation"]:
        return "InProgress"
    conditions = {one["type"]: one["status"] for one in status.get("conditions", [])}
    if conditions.get("Reconciling") == "True":
        return "InProgress"
    if conditions.get("Stalled") == "True":
        return "Failed"
    return "Current" if conditions.get("Ready", "True") == "True" else "InProgress"
