// job/host_access.h - which template fields give pods access to their nodes? Pure.
#pragma once

#include "job/field_error.h"

namespace nervex::job {

// What level `baseline` of Kubernetes' Pod Security Standards 1.36 forbids
// (k8s.io/pod-security-admission v0.36.3), plus volumes that the node mounts as the author says:
// each kind that level `restricted` forbids, and `csi`. Checks the templates of all roles (an
// AggregatorConfig's too) and the job's own volumes. Returns errors (Forbidden), which a caller may
// show as warnings. tests/job/host_access.json has a row for each control.
FieldErrors find_host_access(const Json& object);

}  // namespace nervex::job
