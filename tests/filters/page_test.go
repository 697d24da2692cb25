package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// keeper says who refuses a plan that breaks the rule of the row.
func (r row) keeper() string {
	scheduler := r.effectOnCreated() != void
	switch {
	case scheduler && r.planner != "":
		return "both"
	case scheduler:
		return "kube-scheduler"
	}
	return "planner"
}

func (r row) pinCell() string {
	text := map[string]string{same: "nothing", void: "no longer refused"}
	switch {
	case r.created == "":
		return text[r.pin]
	case r.created == void:
		return text[r.pin] + ", but the controller's change does: no longer refused"
	}
	return text[r.pin] + ", but the controller's change does: refused " + r.created
}

// markdown is the row of the page.
func (r row) markdown() string {
	rule, kubelet := r.planner, "no"
	if rule == "" {
		rule = "none"
	}
	if r.kubelet {
		kubelet = "yes"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |", r.filter, r.when, r.pinCell(), r.keeper(), rule, kubelet)
}

func TestThePageHasTheRowsOfTheTables(t *testing.T) {
	var shown []string
	for _, line := range strings.Split(readFile(t, page), "\n") {
		if strings.HasPrefix(line, "| `") {
			shown = append(shown, line)
		}
	}
	var want []string
	for _, r := range rows {
		want = append(want, r.markdown())
	}
	for _, s := range scores {
		want = append(want, fmt.Sprintf("| `%s` | %s |", s.plugin, s.instead))
	}
	if !slices.Equal(shown, want) {
		t.Errorf("%s has other rows than table_test.go. These are right:\n%s", page, strings.Join(want, "\n"))
	}
}

func TestThePageIsAboutThisVersion(t *testing.T) {
	_, version, found := strings.Cut(readFile(t, "tests/filters/go.mod"), "k8s.io/kubernetes v")
	if !found {
		t.Fatal("go.mod requires no k8s.io/kubernetes")
	}
	parts := strings.SplitN(version, ".", 3)
	if want := "kube-scheduler " + parts[0] + "." + parts[1]; !strings.Contains(readFile(t, page), want) {
		t.Errorf("%s does not name %s, whose filters the tests run", page, want)
	}
}

// The rules that the rows name are words of placement.md: rows of its table, or a term in bold.
func TestRulesOfThePlannerAreThoseOfItsPage(t *testing.T) {
	text := readFile(t, "docs/concepts/placement.md")
	for _, r := range rows {
		if r.planner == "" || strings.Contains(text, "| "+r.planner+" |") {
			continue
		}
		if !strings.HasPrefix(r.planner, "**") || !strings.Contains(text, "\n"+r.planner+" ") {
			t.Errorf("docs/concepts/placement.md has no rule %q", r.planner)
		}
	}
}

// Each row has a reason of its own, and each kind of row exists, so that the table cannot become trivial.
func TestRowsDiffer(t *testing.T) {
	seen := map[string]bool{}
	keepers := map[string]int{}
	for _, r := range rows {
		if key := r.filter + r.when; seen[key] {
			t.Errorf("two rows: %s: %s", r.filter, r.when)
		} else {
			seen[key] = true
		}
		keepers[r.keeper()]++
	}
	if len(keepers) != 3 {
		t.Errorf("keepers: %v, want three", keepers)
	}
}
