package main

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// Asks kube-scheduler itself, configured as manifests/scheduler/config.yaml says, about the pods of table_test.go.

// withoutRow lists the filters that no row is about.
func withoutRow(filters []string) []string {
	var missing []string
	for _, name := range filters {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.filter == name }) {
			missing = append(missing, name)
		}
	}
	return missing
}

// A version of Kubernetes with another filter fails here. Then add rows for it to table_test.go: does a pin change what
// it says, and which rule of the planner checks the same?
func TestEachFilterOfKubeSchedulerHasARow(t *testing.T) {
	for name, profiles := range map[string][]config.KubeSchedulerProfile{
		"the default profile": nil, "nervex-scheduler": nervexProfiles(t)} {
		filters := startScheduler(t, profiles).filters()
		if missing := withoutRow(filters); len(missing) > 0 {
			t.Errorf("%s: filters without a row in table_test.go and %s: %v", name, page, missing)
		}
		for _, r := range rows {
			if !slices.Contains(filters, r.filter) {
				t.Errorf("%s does not run the filter %s, which has a row", name, r.filter)
			}
		}
	}
	if missing := withoutRow([]string{"NodePorts", "NewFilter"}); !slices.Equal(missing, []string{"NewFilter"}) {
		t.Errorf("a filter without a row is not found: %v", missing)
	}
}

func TestEachScoringPluginHasARow(t *testing.T) {
	var listed []string
	for _, s := range scores {
		listed = append(listed, s.plugin)
	}
	if ran := startScheduler(t, nervexProfiles(t)).scorers(); !slices.Equal(ran, listed) {
		t.Errorf("nervex-scheduler scores with %v, the table lists %v", ran, listed)
	}
}

// effect is what a pin makes of the row's check, if this is said about the pod then.
func (r row) effect(said refusal) string {
	switch said.filter {
	case "":
		return void
	case r.filter:
		return same
	}
	return "by " + said.filter
}

func (r row) effectOnCreated() string {
	if r.created != "" {
		return r.created
	}
	return r.pin
}

func TestWhatAPinMakesOfEachFilter(t *testing.T) {
	profiles := nervexProfiles(t)
	for _, r := range rows {
		t.Run(r.filter+": "+r.when, func(t *testing.T) {
			scheduler := startScheduler(t, profiles, r.world()...)
			said := scheduler.refuses(t, r.pod, here)
			if said.filter != r.filter || !strings.Contains(said.message, r.message) {
				t.Fatalf("as it is written: %+v, want %s: ... %s ...", said, r.filter, r.message)
			}
			said = scheduler.refuses(t, pin(r.pod, here), here)
			if got := r.effect(said); got != r.pin {
				t.Errorf("with a pin: %s, want %s (%+v)", got, r.pin, said)
			}
			created := asCreated(r.pod, here)
			if created.Spec.NodeName != "" {
				t.Error("as the controller creates it, the pod bypasses kube-scheduler")
			}
			said = scheduler.refuses(t, created, here)
			if got := r.effect(said); got != r.effectOnCreated() {
				t.Errorf("as the controller creates it: %s, want %s (%+v)", got, r.effectOnCreated(), said)
			}
			// A whole cycle says the same, and never chooses another node.
			want := map[bool]string{true: here, false: ""}[r.effectOnCreated() == void]
			if node, _ := scheduler.schedule(t, created); node != want {
				t.Errorf("as the controller creates it: goes to %q, want %q", node, want)
			}
		})
	}
}

func TestWhatAKubeletChecksAgain(t *testing.T) {
	for _, r := range rows {
		t.Run(r.filter+": "+r.when, func(t *testing.T) {
			node := r.node(here)
			if node == nil {
				node = aNode(here, zoneHere)
			}
			started := asCreated(r.pod, here)
			started.Spec.NodeName = here
			if why := kubeletRefusal(t, started, node, r.podsOn(here)); (why != "") != r.kubelet {
				t.Errorf("the kubelet says %q, want a refusal: %v", why, r.kubelet)
			}
		})
	}
}

func TestAPodWithoutConstraintsIsAccepted(t *testing.T) {
	scheduler := startScheduler(t, nervexProfiles(t), aNode(here, zoneHere), aNode(there, zoneThere))
	for _, pod := range []*v1.Pod{aPod("p"), asCreated(aPod("p"), here)} {
		if said := scheduler.refuses(t, pod, here); said.filter != "" {
			t.Errorf("refused: %+v", said)
		}
		started := pod.DeepCopy()
		started.Spec.NodeName = here
		if why := kubeletRefusal(t, started, aNode(here, zoneHere), nil); why != "" {
			t.Errorf("the kubelet refuses it: %s", why)
		}
	}
}

// Scores choose between nodes that pass the filters. A pin leaves one.
func TestAPinnedPodGoesToItsNodeAgainstAllScores(t *testing.T) {
	// `here` has more requests, a taint PreferNoSchedule, and no label that the pod prefers.
	scheduler := startScheduler(t, nervexProfiles(t), aNode(there, zoneThere),
		aNode(here, zoneHere, tainted(v1.TaintEffectPreferNoSchedule)), running(here, requesting(v1.ResourceCPU, "5")))
	pod := aPod("p", preferring(zoneThere))
	if node, feasible := scheduler.schedule(t, pod); node != there || feasible != 2 {
		t.Errorf("as it is written: %s of %d nodes, want %s of 2", node, feasible, there)
	}
	if node, feasible := scheduler.schedule(t, asCreated(pod, here)); node != here || feasible != 1 {
		t.Errorf("pinned: %s of %d nodes, want %s alone", node, feasible, here)
	}
}

// The reason for which the controller changes constraints of topology spread (leave_spread_to_planner()): an even plan
// would be refused, because kube-scheduler counts one domain and minDomains asks for two.
func TestAPinMakesMinDomainsStricter(t *testing.T) {
	scheduler := startScheduler(t, nervexProfiles(t), aNode(here, zoneHere), aNode(there, zoneThere),
		running(here, ofRole("learner")), running(there, ofRole("learner")))
	pod := aPod("p", spread(v1.LabelTopologyZone, minDomains(2)))
	for what, want := range map[string]struct {
		pod    *v1.Pod
		filter string
	}{
		"as it is written":             {pod, ""},
		"pinned, with no other change": {pin(pod, here), "PodTopologySpread"},
		"as the controller creates it": {asCreated(pod, here), ""},
	} {
		if said := scheduler.refuses(t, want.pod, here); said.filter != want.filter {
			t.Errorf("%s: %+v, want %q", what, said, want.filter)
		}
	}
}

func TestAPinnedPodWithSeveralTermsKeepsThem(t *testing.T) {
	fast := aNode(here, zoneHere, func(node *v1.Node) { node.Labels["fast"] = "yes" })
	scheduler := startScheduler(t, nervexProfiles(t), fast, aNode(there, zoneThere))
	pod := aPod("p", requiring("large", "fast"))
	terms := &pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	*terms = append(*terms, v1.NodeSelectorTerm{}) // matches no node
	for _, node := range []string{here, there} {
		said := scheduler.refuses(t, asCreated(pod, node), node)
		if want := map[string]string{here: "", there: "NodeAffinity"}[node]; said.filter != want {
			t.Errorf("pinned to %s: %+v, want %q", node, said, want)
		}
	}
}
