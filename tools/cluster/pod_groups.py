"""Reads PodGroups as the API server gives them: neighbouring slots are one entry with a count."""


def sets(group):
    """The member sets of all gangs in the spec."""
    return [member for gang in group["spec"]["gangs"] for member in gang["members"]]


def slots(group):
    """{(role, ordinal): incarnation} of the slots in the spec."""
    return {(member["role"], slot["ordinal"] + i): slot.get("incarnation", 0)
            for member in sets(group)
            for slot in member["slots"] for i in range(slot.get("count", 1))}


def placements(group):
    """The status' placements, one dict per slot: gang, role, ordinal, incarnation, node, number."""
    return [{"gang": gang["name"], "role": places["role"], "incarnation": run.get("incarnation", 0),
             "ordinal": run["ordinal"] + i, "node": run["node"], "number": run["number"] + i}
            for gang in group.get("status", {}).get("gangs", [])
            for places in gang.get("placements", [])
            for run in places["nodes"] for i in range(run.get("count", 1))]
