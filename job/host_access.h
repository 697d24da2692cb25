// job/host_access.h - what in a job's templates lets its pods reach into their nodes? Pure.
#pragma once

#include "job/field_error.h"

namespace nervex::job {

// Whatever level `baseline` of Kubernetes' Pod Security Standards forbids, as of version 1.36
// (k8s.io/pod-security-admission v0.36.3), and volumes that the node mounts by the author's own
// words: every kind that level `restricted` forbids, and `csi`. In the templates of all roles (an
// AggregatorConfig's too) and in the job's own volumes. As errors (Forbidden): a caller may only
// warn of them. tests/job/host_access.json has a row for each control.
FieldErrors find_host_access(const Json& object);

}  // namespace nervex::job
