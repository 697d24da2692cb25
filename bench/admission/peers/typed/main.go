// A webhook as most operators have one: controller-runtime decodes the review into structs, the code sets defaults and
// looks at what a schema does not say. Benchmarks compare nervex-webhook with it.
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nervex.sensetime.com/bench/admission/serve"
)

type hooks struct{}

func (hooks) Default(_ context.Context, job *NerveXJob) error {
	if job.Spec.CleanPodPolicy == "" {
		job.Spec.CleanPodPolicy = "Running"
	}
	return nil
}

func (hooks) ValidateCreate(_ context.Context, job *NerveXJob) (admission.Warnings, error) {
	return nil, verdict(job)
}

func (hooks) ValidateUpdate(_ context.Context, _, job *NerveXJob) (admission.Warnings, error) {
	return nil, verdict(job)
}

func (hooks) ValidateDelete(context.Context, *NerveXJob) (admission.Warnings, error) { return nil, nil }

func verdict(job *NerveXJob) error {
	errs := check(job)
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: "nervex.sensetime.com", Kind: "NerveXJob"}, job.Name, errs)
}

func check(job *NerveXJob) field.ErrorList {
	var errs field.ErrorList
	if len(job.Name) > 46 {
		errs = append(errs, field.TooLong(field.NewPath("metadata", "name"), job.Name, 46))
	}
	for _, why := range validation.IsDNS1035Label(job.Name) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), job.Name, why))
	}
	spec := field.NewPath("spec")
	switch job.Spec.CleanPodPolicy {
	case "", "Running", "All", "ALL", "None":
	default:
		errs = append(errs, field.NotSupported(spec.Child("cleanPodPolicy"), job.Spec.CleanPodPolicy,
			[]string{"Running", "All", "None"}))
	}
	errs = append(errs, checkTemplate(&job.Spec.Coordinator.Template, spec.Child("coordinator", "template"))...)
	for name, worker := range map[string]*WorkerSpec{"collector": job.Spec.Collector, "learner": job.Spec.Learner} {
		if worker != nil {
			errs = append(errs, checkWorker(worker, spec.Child(name))...)
		}
	}
	return errs
}

func checkWorker(worker *WorkerSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if worker.Replicas < 0 {
		errs = append(errs, field.Invalid(path.Child("replicas"), worker.Replicas, "must not be negative"))
	}
	if worker.MaxReplicas != nil && worker.Replicas > *worker.MaxReplicas {
		errs = append(errs, field.Invalid(path.Child("replicas"), worker.Replicas, "must not be more than maxReplicas"))
	}
	return append(errs, checkTemplate(&worker.Template, path.Child("template"))...)
}

func checkTemplate(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	path = path.Child("spec")
	if len(template.Spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), ""))
	}
	volumes := map[string]bool{}
	for i := range template.Spec.Volumes {
		volumes[template.Spec.Volumes[i].Name] = true
	}
	seen := map[string]bool{}
	for i := range template.Spec.Containers {
		container, path := &template.Spec.Containers[i], path.Child("containers").Index(i)
		for _, why := range validation.IsDNS1123Label(container.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), container.Name, why))
		}
		if seen[container.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), container.Name))
		}
		seen[container.Name] = true
		if container.Image == "" {
			errs = append(errs, field.Required(path.Child("image"), ""))
		}
		errs = append(errs, checkResources(&container.Resources, path.Child("resources"))...)
		for j := range container.Env {
			if strings.TrimSpace(container.Env[j].Name) == "" {
				errs = append(errs, field.Required(path.Child("env").Index(j).Child("name"), ""))
			}
		}
		for j, mount := range container.VolumeMounts {
			if mount.MountPath == "" {
				errs = append(errs, field.Required(path.Child("volumeMounts").Index(j).Child("mountPath"), ""))
			}
		}
	}
	return errs
}

func checkResources(resources *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for name, request := range resources.Requests {
		if limit, there := resources.Limits[name]; there && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests").Key(string(name)), request.String(),
				fmt.Sprintf("must not be more than the limit of %s", limit.String())))
		}
	}
	return errs
}

func main() {
	flag.Parse()
	scheme := newScheme()
	serve.Hooks(admission.WithDefaulter[*NerveXJob](scheme, hooks{}), admission.WithValidator[*NerveXJob](scheme, hooks{}))
}
