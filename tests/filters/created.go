package main

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// pin returns the pod with a required node affinity to one node, as job::pin_to_node() adds it: to each term that
// demands anything, because a term without demands matches no node.
func pin(pod *v1.Pod, node string) *v1.Pod {
	pinned := pod.DeepCopy()
	if pinned.Spec.Affinity == nil {
		pinned.Spec.Affinity = &v1.Affinity{}
	}
	affinity := pinned.Spec.Affinity
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		required = &v1.NodeSelector{}
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	only := v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{only}}}
		return pinned
	}
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		if len(term.MatchExpressions)+len(term.MatchFields) > 0 {
			term.MatchFields = append(slices.Clip(term.MatchFields), only)
		}
	}
	return pinned
}

// asCreated returns the pod as nervex-controller creates it for its planned node: without nodeName, pinned, and with
// constraints of topology spread that a pin makes void (job::leave_spread_to_planner()).
func asCreated(pod *v1.Pod, node string) *v1.Pod {
	created := pod.DeepCopy()
	if created.Spec.NodeName != "" {
		created = pin(created, created.Spec.NodeName)
		created.Spec.NodeName = ""
	}
	created = pin(created, node)
	for i := range created.Spec.TopologySpreadConstraints {
		spread := &created.Spec.TopologySpreadConstraints[i]
		if spread.WhenUnsatisfiable == v1.ScheduleAnyway {
			continue
		}
		if spread.NodeAffinityPolicy != nil {
			honor := v1.NodeInclusionPolicyHonor
			spread.NodeAffinityPolicy = &honor
		}
		spread.MinDomains = nil
	}
	return created
}
