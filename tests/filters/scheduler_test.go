package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	versionutil "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	coreschema "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	schedulerscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internal "k8s.io/kubernetes/pkg/scheduler/framework"
)

const root = "../.."

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// nervexProfiles reads the profiles of nervex-scheduler from the manifest that installs it.
func nervexProfiles(t *testing.T) []config.KubeSchedulerProfile {
	t.Helper()
	text := readFile(t, "manifests/scheduler/config.yaml")
	object, _, err := coreschema.Codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	object, _, err = schedulerscheme.Codecs.UniversalDecoder().Decode(
		[]byte(object.(*v1.ConfigMap).Data["config.yaml"]), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return object.(*config.KubeSchedulerConfiguration).Profiles
}

// kubeScheduler is a whole kube-scheduler, without its loop and without extenders.
type kubeScheduler struct {
	*scheduler.Scheduler
	profile internal.Framework
}

// startScheduler starts kube-scheduler with feature gates at their defaults, in a cluster of these objects.
// profiles: nil for the default one.
func startScheduler(t *testing.T, profiles []config.KubeSchedulerProfile, objects ...runtime.Object) kubeScheduler {
	t.Helper()
	ctx := t.Context()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	recorder := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	var options []scheduler.Option
	if profiles != nil {
		options = append(options, scheduler.WithProfiles(profiles...))
	}
	started, err := scheduler.New(ctx, client, factory, nil, recorder, options...)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := started.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	if len(started.Profiles) != 1 {
		t.Fatalf("%d profiles, want one", len(started.Profiles))
	}
	var only internal.Framework
	for _, profile := range started.Profiles {
		only = profile
	}
	return kubeScheduler{started, only}
}

func names(plugins config.PluginSet) []string {
	var all []string
	for _, plugin := range plugins.Enabled {
		all = append(all, plugin.Name)
	}
	return all
}

// filters and scorers list the plugins that run at the extension points Filter and Score.
func (s kubeScheduler) filters() []string { return names(s.profile.ListPlugins().Filter) }
func (s kubeScheduler) scorers() []string { return names(s.profile.ListPlugins().Score) }

// refusal says which filter refuses a pod on a node, and why. Both are "" if all filters accept it.
type refusal struct {
	filter, message string
}

// begin brings kube-scheduler's snapshot of the cluster up to date, as at the start of each cycle.
func (s kubeScheduler) begin(t *testing.T) {
	t.Helper()
	err := s.Cache.UpdateSnapshot(klog.FromContext(t.Context()), s.profile.SnapshotSharedLister().(*cache.Snapshot))
	if err != nil {
		t.Fatal(err)
	}
}

// refuses runs all filters for one node.
func (s kubeScheduler) refuses(t *testing.T, pod *v1.Pod, node string) refusal {
	t.Helper()
	s.begin(t)
	state := internal.NewCycleState()
	only, status, by := s.profile.RunPreFilterPlugins(t.Context(), state, pod)
	if status.IsRejected() {
		return refusal{status.Plugin(), status.Message()}
	}
	if !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	if !only.AllNodes() && !only.NodeNames.Has(node) {
		return refusal{strings.Join(sets.List(by), ","), "not one of the nodes of the pod"}
	}
	info, err := s.profile.SnapshotSharedLister().NodeInfos().Get(node)
	if err != nil {
		t.Fatal(err)
	}
	status = s.profile.RunFilterPlugins(t.Context(), state, pod, info)
	if status.IsSuccess() {
		return refusal{}
	}
	if !status.IsRejected() {
		t.Fatal(status.AsError())
	}
	return refusal{status.Plugin(), status.Message()}
}

// schedule runs a scheduling cycle up to the choice of a node. It returns the node and how many passed all filters;
// "" and 0 if all nodes are refused.
func (s kubeScheduler) schedule(t *testing.T, pod *v1.Pod) (node string, feasible int) {
	t.Helper()
	s.begin(t)
	info, err := internal.NewPodInfo(pod)
	if err != nil {
		t.Fatal(err)
	}
	queued := &internal.QueuedPodInfo{PodInfo: info}
	result, err := s.SchedulePod(t.Context(), s.profile, internal.NewCycleState(), queued)
	var unfit *internal.FitError
	if err != nil && !errors.As(err, &unfit) {
		t.Fatal(err)
	}
	return result.SuggestedHost, result.FeasibleNodes
}

// kubeletRefusal repeats what a kubelet checks before it starts a pod (pkg/kubelet/lifecycle: predicate.go and
// declaredFeaturesAdmitHandler), with the functions that the kubelet calls. It says why the pod is refused, or "".
func kubeletRefusal(t *testing.T, pod *v1.Pod, node *v1.Node, others []*v1.Pod) string {
	t.Helper()
	info := internal.NewNodeInfo(others...)
	info.SetNode(node)
	admitted := pod.DeepCopy()
	// The kubelet ignores extended resources that its node does not list.
	for i := range admitted.Spec.Containers {
		for name := range admitted.Spec.Containers[i].Resources.Requests {
			if _, listed := node.Status.Allocatable[name]; !listed {
				delete(admitted.Spec.Containers[i].Resources.Requests, name)
			}
		}
	}
	for _, failed := range scheduler.AdmissionCheck(admitted, info, true) {
		if failed.InsufficientResource != nil {
			return failed.InsufficientResource.Reason
		}
		return failed.Reason
	}
	taint, untolerated := corev1.FindMatchingUntoleratedTaint(klog.FromContext(t.Context()), node.Spec.Taints, pod.Spec.Tolerations,
		func(taint *v1.Taint) bool { return taint.Effect == v1.TaintEffectNoExecute }, false)
	if untolerated {
		return "taint " + taint.Key
	}
	features := nodedeclaredfeatures.DefaultFramework
	needed, err := features.InferForPodScheduling(&nodedeclaredfeatures.PodInfo{Spec: &pod.Spec, Status: &pod.Status},
		versionutil.MustParse(version.Get().String()))
	if err != nil {
		t.Fatal(err)
	}
	match, err := features.MatchNode(needed, node)
	if err != nil {
		t.Fatal(err)
	}
	if !match.IsMatch {
		return fmt.Sprint("lacks features ", match.UnsatisfiedRequirements)
	}
	return ""
}
