package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NerveXJob as a kubebuilder project would have it.
type NerveXJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NerveXJobSpec   `json:"spec,omitempty"`
	Status NerveXJobStatus `json:"status,omitempty"`
}

type NerveXJobSpec struct {
	Group                   string          `json:"group,omitempty"`
	PriorityClassName       string          `json:"priorityClassName,omitempty"`
	CleanPodPolicy          string          `json:"cleanPodPolicy,omitempty"`
	Aggregator              string          `json:"aggregator,omitempty"`
	Suspend                 bool            `json:"suspend,omitempty"`
	ReservationSeconds             *int32          `json:"reservationSeconds,omitempty"`
	BackoffLimit            *int32          `json:"backoffLimit,omitempty"`
	TTLSecondsAfterFinished *int32          `json:"ttlSecondsAfterFinished,omitempty"`
	ActiveDeadlineSeconds   *int64          `json:"activeDeadlineSeconds,omitempty"`
	ScheduleTimeoutSeconds  *int64          `json:"scheduleTimeoutSeconds,omitempty"`
	Volumes                 []corev1.Volume `json:"volumes,omitempty"`
	Coordinator             CoordinatorSpec `json:"coordinator"`
	Collector               *WorkerSpec     `json:"collector,omitempty"`
	Learner                 *WorkerSpec     `json:"learner,omitempty"`
}

type CoordinatorSpec struct {
	Template corev1.PodTemplateSpec `json:"template"`
}

type WorkerSpec struct {
	Replicas    int32                  `json:"replicas,omitempty"`
	ReservedReplicas int32                  `json:"reservedReplicas,omitempty"`
	MaxReplicas *int32                 `json:"maxReplicas,omitempty"`
	Template    corev1.PodTemplateSpec `json:"template,omitempty"`
}

type NerveXJobStatus struct {
	Phase      string             `json:"phase,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (j *NerveXJob) DeepCopyObject() runtime.Object {
	made := *j
	made.ObjectMeta = *j.ObjectMeta.DeepCopy()
	made.Spec.Coordinator.Template = *j.Spec.Coordinator.Template.DeepCopy()
	for _, worker := range []**WorkerSpec{&made.Spec.Collector, &made.Spec.Learner} {
		if *worker != nil {
			copied := **worker
			copied.Template = *copied.Template.DeepCopy()
			*worker = &copied
		}
	}
	return &made
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	version := schema.GroupVersion{Group: "nervex.sensetime.com", Version: "v1alpha1"}
	scheme.AddKnownTypes(version, &NerveXJob{})
	metav1.AddToGroupVersion(scheme, version)
	return scheme
}
