package main

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Builders of objects for the tables. Names that recur:
const (
	namespace  = "team-a"
	here       = "here"  // the node that each case asks about, in zoneHere
	there      = "there" // the other node, in zoneThere
	zoneHere   = "zone-a"
	zoneThere  = "zone-b"
	csiDriver  = "disk.example.com"
	gpu        = "example.com/gpu"
	gpuDriver  = "gpu.example.com"
	gpuClass   = "gpus"
	claimOfPod = "data" // the PersistentVolumeClaim or ResourceClaim that the pod of a case uses
	roleLabel  = "role"
)

func withName(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID(name)}
}

func inNamespace(name string) metav1.ObjectMeta {
	meta := withName(name)
	meta.Namespace = namespace
	return meta
}

// edited applies the edits to the object.
func edited[T any](object *T, edits []func(*T)) *T {
	for _, edit := range edits {
		edit(object)
	}
	return object
}

// aNode has 8 CPUs, room for 10 pods, and labels of its zone and name.
func aNode(name, zone string, edits ...func(*v1.Node)) *v1.Node {
	node := &v1.Node{ObjectMeta: withName(name)}
	node.Labels = map[string]string{v1.LabelTopologyZone: zone, v1.LabelHostname: name}
	node.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"),
		v1.ResourceMemory: resource.MustParse("32Gi"), v1.ResourcePods: resource.MustParse("10")}
	return edited(node, edits)
}

func allocatable(name v1.ResourceName, amount string) func(*v1.Node) {
	return func(node *v1.Node) { node.Status.Allocatable[name] = resource.MustParse(amount) }
}

func tainted(effect v1.TaintEffect) func(*v1.Node) {
	return func(node *v1.Node) { node.Spec.Taints = []v1.Taint{{Key: "spot", Value: "yes", Effect: effect}} }
}

// aPod has one container that requests one CPU.
func aPod(name string, edits ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: inNamespace(name)}
	pod.Spec.Containers = []v1.Container{{Name: "main", Image: "x", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}}
	return edited(pod, edits)
}

// running is a pod that runs on the node.
func running(node string, edits ...func(*v1.Pod)) *v1.Pod {
	pod := aPod("runs-"+node, edits...)
	pod.Spec.NodeName = node
	pod.Status.Phase = v1.PodRunning
	return pod
}

func requesting(name v1.ResourceName, amount string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(amount) }
}

func labelled(key, value string) func(*v1.Pod) {
	return func(pod *v1.Pod) { metav1.SetMetaDataLabel(&pod.ObjectMeta, key, value) }
}

func ofRole(role string) func(*v1.Pod) { return labelled(roleLabel, role) }

func withHostPort(port int32) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: port, HostPort: port}}
	}
}

func withVolume(source v1.VolumeSource) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "data", VolumeSource: source})
	}
}

func withClaim(name string) func(*v1.Pod) {
	return withVolume(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}})
}

func withDisk() func(*v1.Pod) {
	return withVolume(v1.VolumeSource{RBD: &v1.RBDVolumeSource{CephMonitors: []string{"mon"}, RBDImage: "images"}})
}

func withResourceClaim() func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To(claimOfPod)}}
	}
}

// requiring adds required node affinity: each argument is a term, a label that must have the value "yes".
func requiring(labels ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		selector := &v1.NodeSelector{}
		for _, label := range labels {
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, nodeTerm(label, "yes"))
		}
		pod.Spec.Affinity = &v1.Affinity{
			NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}}
	}
}

// preferring adds preferred node affinity for the zone.
func preferring(zone string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{
				{Weight: 100, Preference: nodeTerm(v1.LabelTopologyZone, zone)}}}}
	}
}

func nodeTerm(label, value string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: label, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}
}

func zoneSelector(zone string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{nodeTerm(v1.LabelTopologyZone, zone)}}
}

func podTerms(topologyKey, role string) []v1.PodAffinityTerm {
	return []v1.PodAffinityTerm{{TopologyKey: topologyKey,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{roleLabel: role}}}}
}

// near requires that the pod runs in a domain with pods of the role, apartFrom that it does not.
func near(topologyKey, role string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: podTerms(topologyKey, role)}}
	}
}

func apartFrom(topologyKey, role string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: podTerms(topologyKey, role)}}
	}
}

// spread adds a constraint with maxSkew 1 over learners, and makes the pod one.
func spread(topologyKey string, edits ...func(*v1.TopologySpreadConstraint)) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		ofRole("learner")(pod)
		constraint := v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: topologyKey,
			WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{roleLabel: "learner"}}}
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, *edited(&constraint, edits))
	}
}

func ignoringAffinity(constraint *v1.TopologySpreadConstraint) {
	constraint.NodeAffinityPolicy = ptr.To(v1.NodeInclusionPolicyIgnore)
}

func minDomains(count int32) func(*v1.TopologySpreadConstraint) {
	return func(constraint *v1.TopologySpreadConstraint) { constraint.MinDomains = &count }
}

// aClaim is not bound, and has the class if it is not "".
func aClaim(name, class string, edits ...func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	claim := &v1.PersistentVolumeClaim{ObjectMeta: inNamespace(name)}
	claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("10Gi")}
	claim.Spec.StorageClassName = &class
	claim.Status.Phase = v1.ClaimPending
	return edited(claim, edits)
}

func oncePod(claim *v1.PersistentVolumeClaim) {
	claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
}

// bound binds the claim to the volume "volume-of-<name of the claim>".
func bound(claim *v1.PersistentVolumeClaim) {
	claim.Spec.VolumeName = "volume-of-" + claim.Name
	claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	claim.Status.Phase = v1.ClaimBound
}

// aVolume is bound to the claim of that name.
func aVolume(claim string, edits ...func(*v1.PersistentVolume)) *v1.PersistentVolume {
	name := "volume-of-" + claim
	volume := &v1.PersistentVolume{ObjectMeta: withName(name)}
	volume.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("10Gi")}
	volume.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteOncePod}
	volume.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: csiDriver, VolumeHandle: name}
	volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: namespace, Name: claim, UID: types.UID(claim)}
	volume.Status.Phase = v1.VolumeBound
	return edited(volume, edits)
}

func usableIn(zone string) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: zoneSelector(zone)}
	}
}

func volumeLabel(key, value string) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) { metav1.SetMetaDataLabel(&volume.ObjectMeta, key, value) }
}

func aStorageClass(name string, mode storagev1.VolumeBindingMode, edits ...func(*storagev1.StorageClass)) *storagev1.StorageClass {
	class := &storagev1.StorageClass{ObjectMeta: withName(name), Provisioner: csiDriver, VolumeBindingMode: &mode}
	return edited(class, edits)
}

func onlyIn(zone string) func(*storagev1.StorageClass) {
	return func(class *storagev1.StorageClass) {
		class.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{
			{Key: v1.LabelTopologyZone, Values: []string{zone}}}}}
	}
}

// aCSIDriver tells how much storage it has left: CSIStorageCapacity.
func aCSIDriver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: withName(csiDriver),
		Spec: storagev1.CSIDriverSpec{StorageCapacity: ptr.To(true)}}
}

func storageLeft(class, zone, amount string) *storagev1.CSIStorageCapacity {
	quantity := resource.MustParse(amount)
	return &storagev1.CSIStorageCapacity{ObjectMeta: inNamespace(class + "-" + zone), StorageClassName: class,
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: zone}},
		Capacity:     &quantity}
}

func attachesAtMost(node string, volumes int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: withName(node), Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: csiDriver, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &volumes}}}}}
}

func aDeviceClass(edits ...func(*resourcev1.DeviceClass)) *resourcev1.DeviceClass {
	return edited(&resourcev1.DeviceClass{ObjectMeta: withName(gpuClass)}, edits)
}

func backingGPUs(class *resourcev1.DeviceClass) { class.Spec.ExtendedResourceName = ptr.To(gpu) }

// oneDeviceOn is a ResourceSlice: the node has one device.
func oneDeviceOn(node string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: withName("slice-" + node), Spec: resourcev1.ResourceSliceSpec{
		Driver: gpuDriver, NodeName: &node, Devices: []resourcev1.Device{{Name: "gpu-0"}},
		Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}}}
}

// aResourceClaim asks for one device of gpuClass.
func aResourceClaim(edits ...func(*resourcev1.ResourceClaim)) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: inNamespace(claimOfPod)}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: gpuClass, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}
	return edited(claim, edits)
}

func allocatedIn(zone string) func(*resourcev1.ResourceClaim) {
	return func(claim *resourcev1.ResourceClaim) {
		claim.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: zoneSelector(zone)}
	}
}
