// job/host_access.h - what in a job's templates lets its pods reach into their nodes? Pure.
#pragma once

#include "job/validate.h"

namespace nervex::job {

// hostPath volumes, host namespaces, privileged containers and added capabilities, in the templates
// of all roles (an AggregatorConfig's too) and in the job's own volumes. As errors (Forbidden): a
// caller may only warn of them.
FieldErrors find_host_access(const Json& object);

}  // namespace nervex::job
