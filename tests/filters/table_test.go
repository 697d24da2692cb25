package main

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

const page = "docs/reference/scheduler-filters.md"

// What a pin makes of a filter's check.
const (
	same = "same" // the filter refuses the pinned pod, too
	void = "void" // the filter accepts it: the planner has to check
)

// Rules of the planner, in the words of docs/concepts/placement.md.
const (
	byCapacity     = "**Capacity**"
	byNodes        = "`nodeSelector`, required node affinity, tolerations"
	byPorts        = "`hostPort`, and all ports of pods with `hostNetwork`"
	byClaims       = "a PersistentVolumeClaim that is bound"
	byAntiAffinity = "required anti-affinity that selects the role's own pods"
	byAffinity     = "required affinity that selects the role's own pods"
	bySpread       = "`topologySpreadConstraints`"
)

// row is a row of the page: a reason why a filter refuses the node `here`, and a pod that it
// refuses for that reason.
type row struct {
	filter string
	// The node is refused if ...
	when string
	pin  string // same or void: for the same pod with a pin and no other change
	// If this is not "": as `pin`, for the pod as the controller creates it. It is `by <filter>` if the controller's
	// change hands the check to another filter.
	created string
	planner string // the rule with which the planner checks the same; "": it does not
	kubelet bool   // a kubelet refuses the created pod, too, before it starts it

	message string // part of the filter's message
	pod     *v1.Pod
	// The rest of the cluster. Without other nodes of these names, `here` and `there` are as aNode() makes them.
	objects []runtime.Object
}

var rows = []row{
	{
		filter: "NodeUnschedulable", when: "the node is cordoned", pin: same, planner: byNodes,
		message: "unschedulable", pod: aPod("p"),
		objects: list(aNode(here, zoneHere, func(node *v1.Node) { node.Spec.Unschedulable = true })),
	},
	{
		filter: "NodeName", when: "the pod's `nodeName` is another node", pin: same, created: "by NodeAffinity",
		planner: byNodes, kubelet: true,
		message: "didn't match the requested node name",
		pod:     aPod("p", func(pod *v1.Pod) { pod.Spec.NodeName = there }),
	},
	{
		filter: "TaintToleration", when: "a taint `NoSchedule` is not tolerated", pin: same, planner: byNodes,
		message: "untolerated taint", pod: aPod("p"),
		objects: list(aNode(here, zoneHere, tainted(v1.TaintEffectNoSchedule))),
	},
	{
		filter: "TaintToleration", when: "a taint `NoExecute` is not tolerated", pin: same, planner: byNodes, kubelet: true,
		message: "untolerated taint", pod: aPod("p"),
		objects: list(aNode(here, zoneHere, tainted(v1.TaintEffectNoExecute))),
	},
	{
		filter: "NodeAffinity", when: "`nodeSelector` does not match", pin: same, planner: byNodes, kubelet: true,
		message: "didn't match Pod's node affinity/selector",
		pod: aPod("p", func(pod *v1.Pod) {
			pod.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: zoneThere}
		}),
	},
	{
		filter: "NodeAffinity", when: "no term of the required node affinity matches", pin: same, planner: byNodes,
		kubelet: true,
		message: "didn't match Pod's node affinity/selector", pod: aPod("p", requiring("fast", "large")),
	},
	{
		filter: "NodePorts", when: "a `hostPort` is taken", pin: same, planner: byPorts, kubelet: true,
		message: "free ports", pod: aPod("p", withHostPort(9000)),
		objects: list(running(here, withHostPort(9000))),
	},
	{
		filter: "NodeResourcesFit", when: "cpu, memory or ephemeral storage is short", pin: same, planner: byCapacity,
		kubelet: true,
		message: "Insufficient cpu", pod: aPod("p", requesting(v1.ResourceCPU, "3")),
		objects: list(running(here, requesting(v1.ResourceCPU, "6"))),
	},
	{
		filter: "NodeResourcesFit", when: "the node has as many pods as it may", pin: same, planner: byCapacity,
		kubelet: true,
		message: "Too many pods", pod: aPod("p"),
		objects: list(aNode(here, zoneHere, allocatable(v1.ResourcePods, "1")), running(here)),
	},
	{
		filter: "NodeResourcesFit", when: "an extended resource that the node lists is short", pin: same,
		planner: byCapacity, kubelet: true,
		message: "Insufficient " + gpu, pod: aPod("p", requesting(gpu, "1")),
		objects: list(aNode(here, zoneHere, allocatable(gpu, "1")), running(here, requesting(gpu, "1"))),
	},
	{
		filter: "NodeResourcesFit", when: "the node does not list an extended resource", pin: same, planner: byCapacity,
		message: "Insufficient " + gpu, pod: aPod("p", requesting(gpu, "1")),
	},
	{
		filter: "VolumeRestrictions", when: "a `ReadWriteOncePod` claim is in use, on any node", pin: same,
		message: "ReadWriteOncePod", pod: aPod("p", withClaim(claimOfPod)),
		objects: list(aClaim(claimOfPod, "", oncePod, bound), aVolume(claimOfPod), running(there, withClaim(claimOfPod))),
	},
	{
		filter: "VolumeRestrictions", when: "a pod on the node uses the same disk (GCE, EBS, iSCSI, Ceph RBD)", pin: same,
		message: "no available disk", pod: aPod("p", withDisk()), objects: list(running(here, withDisk())),
	},
	{
		filter: "NodeVolumeLimits", when: "a CSI driver attaches no further volume", pin: same,
		message: "exceed max volume count", pod: aPod("p", withClaim(claimOfPod)),
		objects: list(attachesAtMost(here, 1), aClaim(claimOfPod, "", bound), aVolume(claimOfPod),
			running(here, withClaim("other")), aClaim("other", "", bound), aVolume("other")),
	},
	{
		filter: "VolumeBinding", when: "the node affinity of a bound volume excludes the node", pin: same, planner: byClaims,
		message: "didn't match PersistentVolume's node affinity", pod: aPod("p", withClaim(claimOfPod)),
		objects: list(aClaim(claimOfPod, "", bound), aVolume(claimOfPod, usableIn(zoneThere))),
	},
	{
		filter: "VolumeBinding", when: "a claim is not bound, and its class binds at once (`Immediate`)", pin: same,
		message: "unbound immediate PersistentVolumeClaims", pod: aPod("p", withClaim(claimOfPod)),
		objects: list(aStorageClass("now", storagev1.VolumeBindingImmediate), aClaim(claimOfPod, "now")),
	},
	{
		filter: "VolumeBinding", when: "the class of an unbound claim makes no volumes for the node", pin: same,
		message: "didn't find available persistent volumes", pod: aPod("p", withClaim(claimOfPod)),
		objects: list(aStorageClass("later", storagev1.VolumeBindingWaitForFirstConsumer, onlyIn(zoneThere)),
			aClaim(claimOfPod, "later")),
	},
	{
		filter: "VolumeBinding", when: "too little storage is left for an unbound claim (CSIStorageCapacity)", pin: same,
		message: "enough free storage", pod: aPod("p", withClaim(claimOfPod)),
		objects: list(aCSIDriver(), aStorageClass("later", storagev1.VolumeBindingWaitForFirstConsumer),
			aClaim(claimOfPod, "later"), storageLeft("later", zoneHere, "1Gi"), storageLeft("later", zoneThere, "50Gi")),
	},
	{
		filter: "VolumeZone", when: "a bound volume has a label `topology.kubernetes.io/zone` or `/region` of other nodes", pin: same,
		planner: byClaims,
		message: "no available volume zone", pod: aPod("p", withClaim(claimOfPod)),
		objects: list(aClaim(claimOfPod, "", bound), aVolume(claimOfPod, volumeLabel(v1.LabelTopologyZone, zoneThere))),
	},
	{
		filter: "VolumeZone", when: "a bound volume has such a label of the old form, `failure-domain.beta.kubernetes.io`", pin: same,
		message: "no available volume zone", pod: aPod("p", withClaim(claimOfPod)),
		objects: list(aClaim(claimOfPod, "", bound),
			aVolume(claimOfPod, volumeLabel(v1.LabelFailureDomainBetaZone, zoneThere))),
	},
	{
		filter: "PodTopologySpread", when: "`maxSkew` is exceeded; `nodeAffinityPolicy` is `Honor`, the default", pin: void,
		planner: bySpread,
		message: "didn't match pod topology spread constraints", pod: aPod("p", spread(v1.LabelTopologyZone)),
		objects: list(running(here, ofRole("learner"))),
	},
	{
		filter: "PodTopologySpread", when: "`maxSkew` is exceeded; `nodeAffinityPolicy` is `Ignore`", pin: same,
		created: void, planner: bySpread,
		message: "didn't match pod topology spread constraints",
		pod:     aPod("p", spread(v1.LabelTopologyZone, ignoringAffinity)),
		objects: list(running(here, ofRole("learner"))),
	},
	{
		filter: "PodTopologySpread", when: "`maxSkew` is exceeded; there are fewer than `minDomains`", pin: same,
		created: void, planner: bySpread,
		message: "didn't match pod topology spread constraints",
		pod:     aPod("p", spread(v1.LabelTopologyZone, minDomains(3))),
		objects: list(running(here, ofRole("learner")), running(there, ofRole("learner"))),
	},
	{
		filter: "PodTopologySpread", when: "the node lacks the label `topologyKey`", pin: same, planner: bySpread,
		message: "missing required label", pod: aPod("p", spread("rack")),
	},
	{
		filter: "InterPodAffinity", when: "required affinity selects the role's own pods, and they are elsewhere", pin: same,
		planner: byAffinity,
		message: "didn't match pod affinity rules",
		pod:     aPod("p", ofRole("learner"), near(v1.LabelTopologyZone, "learner")),
		objects: list(running(there, ofRole("learner"))),
	},
	{
		filter: "InterPodAffinity", when: "required affinity selects others, and none is near", pin: same,
		message: "didn't match pod affinity rules",
		pod:     aPod("p", ofRole("learner"), near(v1.LabelTopologyZone, "cache")),
		objects: list(running(there, ofRole("cache"))),
	},
	{
		filter: "InterPodAffinity", when: "required anti-affinity selects the role's own pods, and one is near", pin: same,
		planner: byAntiAffinity,
		message: "didn't match pod anti-affinity rules",
		pod:     aPod("p", ofRole("learner"), apartFrom(v1.LabelHostname, "learner")),
		objects: list(running(here, ofRole("learner"), apartFrom(v1.LabelHostname, "learner"))),
	},
	{
		filter: "InterPodAffinity", when: "required anti-affinity selects others, and one is near", pin: same,
		message: "didn't match pod anti-affinity rules",
		pod:     aPod("p", ofRole("learner"), apartFrom(v1.LabelHostname, "cache")),
		objects: list(running(here, ofRole("cache"))),
	},
	{
		filter: "InterPodAffinity", when: "required anti-affinity of another pod selects this one", pin: same,
		message: "didn't satisfy existing pods anti-affinity rules",
		pod:     aPod("p", ofRole("learner")),
		objects: list(running(here, ofRole("cache"), apartFrom(v1.LabelHostname, "learner"))),
	},
	{
		filter: "DynamicResources", when: "the DeviceClass of a ResourceClaim does not exist", pin: same,
		message: "device class gpus does not exist", pod: aPod("p", withResourceClaim()), objects: list(aResourceClaim()),
	},
	{
		filter: "DynamicResources", when: "the node has too few devices for a ResourceClaim", pin: same,
		message: "cannot allocate all claims", pod: aPod("p", withResourceClaim()),
		objects: list(aDeviceClass(), oneDeviceOn(there), aResourceClaim()),
	},
	{
		filter: "DynamicResources", when: "a ResourceClaim has devices of other nodes", pin: same,
		message: "resourceclaim not available on the node", pod: aPod("p", withResourceClaim()),
		objects: list(aDeviceClass(), aResourceClaim(allocatedIn(zoneThere))),
	},
	{
		filter: "DynamicResources", when: "the node has too few devices for an extended resource of a DeviceClass", pin: same,
		message: "cannot allocate all claims", pod: aPod("p", requesting(gpu, "1")),
		objects: list(aDeviceClass(backingGPUs), oneDeviceOn(there)),
	},
	{
		filter: "NodeDeclaredFeatures", when: "the node does not declare a feature that the pod needs (`status.declaredFeatures`)", pin: same,
		kubelet: true,
		message: "didn't match Pod's required features",
		pod: aPod("p", func(pod *v1.Pod) {
			main := &pod.Spec.Containers[0]
			main.RestartPolicy = ptr.To(v1.ContainerRestartPolicyNever)
			main.RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
		}),
	},
}

func list(objects ...runtime.Object) []runtime.Object { return objects }

// world is the cluster of the row.
func (r row) world() []runtime.Object {
	objects := append([]runtime.Object{}, r.objects...)
	for name, zone := range map[string]string{here: zoneHere, there: zoneThere} {
		if r.node(name) == nil {
			objects = append(objects, aNode(name, zone))
		}
	}
	return objects
}

// node is the node of that name among the objects of the row, or nil.
func (r row) node(name string) *v1.Node {
	for _, object := range r.objects {
		if node, isNode := object.(*v1.Node); isNode && node.Name == name {
			return node
		}
	}
	return nil
}

func (r row) podsOn(name string) []*v1.Pod {
	var pods []*v1.Pod
	for _, object := range r.objects {
		if pod, isPod := object.(*v1.Pod); isPod && pod.Spec.NodeName == name {
			pods = append(pods, pod)
		}
	}
	return pods
}

// score is a row of the second table of the page: a plugin that chooses between the nodes that all filters accept, and
// what the planner does about the same, because kube-scheduler has no choice left for a pinned pod.
type score struct {
	plugin, instead string
}

var scores = []score{
	{"TaintToleration", "nodes without an untolerated taint `PreferNoSchedule` come first"},
	{"NodeAffinity", "nodes with the higher sum of weights come first"},
	{"NodeResourcesFit", "the reverse: nodes with the least left come first, so whole nodes stay free; pods without GPUs " +
		"avoid nodes with GPUs"},
	{"VolumeBinding", "nothing"},
	{"PodTopologySpread", "`ScheduleAnyway` is kept if the gang fits so; constraints that only kube-scheduler has as " +
		"defaults are not"},
	{"InterPodAffinity", "nothing: preferred affinity and anti-affinity to pods have no effect"},
	{"DynamicResources", "nothing"},
	{"NodeResourcesBalancedAllocation", "nothing"},
	{"ImageLocality", "nothing"},
}
