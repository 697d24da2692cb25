// filters asks the Filter plugins of kube-scheduler whether they accept planned nodes.
//
// It reads a case from each line of standard input: nodes, bound pods, and the planned pods, each as its template says
// and with its node. Each pod is asked about twice: pinned to its node, as nervex-controller creates it, in the order
// given; and as it is written, in any order in which kube-scheduler would accept all of them one by one. It prints how
// many cases have such an order, and each pod that is refused. A pinned pod must also be what asCreated() makes, since
// the tests of this folder ask about such pods.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internal "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

type testCase struct {
	Nodes []*v1.Node `json:"nodes"`
	Pods  []*v1.Pod  `json:"pods"`
	// Pinned is the pod as it is created, Written as its template says.
	Planned []struct {
		Node    string  `json:"node"`
		Pinned  *v1.Pod `json:"pinned"`
		Written *v1.Pod `json:"written"`
	} `json:"planned"`
	// The plan promises that there is an order in which each pod is accepted as it is written.
	HasOrder bool `json:"hasOrder"`
}

var filterPlugins = []string{"NodeUnschedulable", "NodeAffinity", "TaintToleration", "NodeResourcesFit",
	"PodTopologySpread"}

func newFramework(ctx context.Context, snapshot *cache.Snapshot) (internal.Framework, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	enabled := config.PluginSet{}
	for _, name := range filterPlugins {
		enabled.Enabled = append(enabled.Enabled, config.Plugin{Name: name})
	}
	profile := defaults.Profiles[0]
	profile.Plugins = &config.Plugins{
		QueueSort: config.PluginSet{Enabled: []config.Plugin{{Name: "PrioritySort"}}},
		Bind:      config.PluginSet{Enabled: []config.Plugin{{Name: "DefaultBinder"}}},
		PreFilter: config.PluginSet{Enabled: enabled.Enabled[1:2:2]},
		Filter:    enabled,
	}
	profile.Plugins.PreFilter.Enabled = append(profile.Plugins.PreFilter.Enabled, enabled.Enabled[3:]...)
	client := fake.NewClientset()
	return runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile,
		runtime.WithSnapshotSharedLister(snapshot), runtime.WithClientSet(client),
		runtime.WithInformerFactory(informers.NewSharedInformerFactory(client, 0)))
}

// accepts says "" if the pod may run on the node beside the bound pods, else why not.
func accepts(ctx context.Context, nodes []*v1.Node, bound []*v1.Pod, pod *v1.Pod, node string) (string, error) {
	snapshot := cache.NewSnapshot(bound, nodes)
	scheduler, err := newFramework(ctx, snapshot)
	if err != nil {
		return "", err
	}
	state := internal.NewCycleState()
	result, status, _ := scheduler.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return status.Message(), nil
	}
	if result != nil && !result.AllNodes() && !result.NodeNames.Has(node) {
		return "prefilter leaves out the node", nil
	}
	info, err := snapshot.NodeInfos().Get(node)
	if err != nil {
		return "", err
	}
	var status2 *framework.Status = scheduler.RunFilterPlugins(ctx, state, pod, info)
	if status2.IsSuccess() {
		return "", nil
	}
	return status2.Message(), nil
}

func bind(pod *v1.Pod, node string) *v1.Pod {
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	return bound
}

// hasOrder looks for an order in which each pod is accepted as it is written.
func hasOrder(ctx context.Context, one *testCase, bound []*v1.Pod, done []bool, left int) (bool, error) {
	if left == 0 {
		return true, nil
	}
	tried := map[string]bool{} // equal pods on one node are tried once
	for i, planned := range one.Planned {
		key := planned.Written.Labels["set"] + "/" + planned.Node
		if done[i] || tried[key] {
			continue
		}
		tried[key] = true
		why, err := accepts(ctx, one.Nodes, bound, planned.Written, planned.Node)
		if err != nil {
			return false, err
		}
		if why != "" {
			continue
		}
		done[i] = true
		found, err := hasOrder(ctx, one, append(bound[:len(bound):len(bound)], bind(planned.Written, planned.Node)),
			done, left-1)
		if found || err != nil {
			return found, err
		}
		done[i] = false
	}
	return false, nil
}

func run(ctx context.Context) (bad int, err error) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	cases, orders := 0, 0
	for lines.Scan() {
		var one testCase
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return bad, err
		}
		cases++
		bound := one.Pods
		for _, planned := range one.Planned {
			if !equality.Semantic.DeepEqual(asCreated(planned.Written, planned.Node), planned.Pinned) {
				bad++
				fmt.Printf("case %d: asCreated() differs from the controller for pod %s: %s\n", cases, planned.Pinned.Name,
					lines.Text())
			}
			why, err := accepts(ctx, one.Nodes, bound, planned.Pinned, planned.Node)
			if err != nil {
				return bad, err
			}
			if why != "" {
				bad++
				fmt.Printf("case %d: pod %s is refused on node %s: %s\n", cases, planned.Pinned.Name, planned.Node, why)
			}
			bound = append(bound[:len(bound):len(bound)], bind(planned.Pinned, planned.Node))
		}
		found, err := hasOrder(ctx, &one, one.Pods, make([]bool, len(one.Planned)), len(one.Planned))
		if err != nil {
			return bad, err
		}
		if found {
			orders++
		} else if one.HasOrder {
			bad++
			fmt.Printf("case %d: no order in which kube-scheduler would accept the pods as they are written: %s\n", cases,
				lines.Text())
		}
	}
	fmt.Printf("%d cases: each pod is accepted as it is created, but %d; %d have an order for the pods as they are written\n",
		cases, bad, orders)
	if cases == 0 {
		return bad, fmt.Errorf("no case was read")
	}
	return bad, lines.Err()
}

func main() {
	metrics.Register()
	bad, err := run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if bad > 0 {
		os.Exit(1)
	}
}
