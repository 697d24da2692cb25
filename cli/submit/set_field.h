// cli/submit/set_field.h - how does --set change a job before it is created? Pure.
#pragma once

#include <string>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::cli {

// `assignment` is PATH=VALUE: "spec.learner.replicas=4", `metadata.labels["a.b/c"]=x`,
// "spec.coordinator.template.spec.containers[0].image=repo:1". A path that begins with neither
// metadata nor spec is inside spec. The value is read as in a YAML file; empty or null removes the
// field. Missing objects on the way are created; an index may be at most the end of its list.
// kInvalid: the path or value is wrong, and `object` is unchanged.
Result<Nothing> set_field(Json& object, const std::string& assignment);

}  // namespace nervex::cli
