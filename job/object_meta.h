// job/object_meta.h - whose is this pod or service? Name, labels, owner.
#pragma once

#include <string>

#include "job/types.h"
#include "kube/model/json.h"

namespace nervex::job {

// metadata of a pod or service: `from`'s metadata.labels and metadata.annotations are kept (of a
// PodTemplateSpec; null: none), the contract's labels win, the owner is the job.
Json object_meta(const Job& job, Role role, const std::string& name, const Json& from);

}  // namespace nervex::job
