"""Which PodDisruptionBudgets of its namespace do not work for a job's pods, and why? Pure. The rules are those of
view/budgets.cpp."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

Json = Mapping[str, Any]
Test = Callable[[Optional[str], Sequence[str]], bool]

OPERATORS: Dict[str, Test] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, values: value is not None,
    "DoesNotExist": lambda value, values: value is None,
}


def find_budget_problems(job: Json, pods: Mapping[str, int], budgets: Sequence[Json]) -> List[str]:
    """A sentence for each. `pods`: how many the job has of each role."""
    problems: List[str] = []
    expected = int(job.get("spec", {}).get("collector", {}).get("replicas") or 0)  # by the job's scale
    first: Dict[str, str] = {}  # by role, the first budget that selects its pods
    for budget in budgets:
        name, spec = budget["metadata"]["name"], budget.get("spec", {})
        roles = [role for role, count in pods.items() if count and selects(spec.get("selector"), labels_of(job, role))]
        problems += [f"PodDisruptionBudgets {first[role]} and {name} both select {role} pods: Kubernetes evicts no pod that two "
                     "budgets select" for role in roles if first.setdefault(role, name) != name]
        setting, selected = counted_by_scale(spec), sum(pods[role] for role in roles)
        if not selected or not setting or selected == expected:
            continue
        wrong = "allows no eviction" if expected == 0 else "allows too many or too few evictions"
        problems.append(f"PodDisruptionBudget {name} cannot work ({setting}): it selects {selected} pod{'s' * (selected != 1)} of "
                        f"the job, and Kubernetes expects {expected}, the base collectors, so that it {wrong}. Use minAvailable "
                        "with a number")
    return problems


def counted_by_scale(spec: Json) -> str:
    """ "minAvailable: 50%" if Kubernetes counts the budget's pods by the scale of their owner, else "". """
    if spec.get("maxUnavailable") is not None:
        return f"maxUnavailable: {spec['maxUnavailable']}"
    return f"minAvailable: {spec['minAvailable']}" if isinstance(spec.get("minAvailable"), str) else ""


def labels_of(job: Json, role: str) -> Dict[str, str]:
    """Of the role's pods, as the controller sets them."""
    template = job.get("spec", {}).get({"ddp-learner": "learner"}.get(role, role), {}).get("template", {})
    return {**template.get("metadata", {}).get("labels", {}), "group-name": "nervex.sensetime.com",
            "nervexjob-name": job["metadata"]["name"], "controller-name": "nervex-operator", "replica-type": role}


def selects(selector: Optional[Json], labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches; an empty one matches all, a missing one nothing."""
    if selector is None:
        return False
    return (all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
            and all(OPERATORS[one["operator"]](labels.get(one["key"]), one.get("values", []))
                    for one in selector.get("matchExpressions", [])))
