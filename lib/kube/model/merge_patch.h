// kube/model/merge_patch.h - which merge patch turns one object into another?
#pragma once

#include "kube/model/json.h"

namespace nervex::kube {

// The merge patch from `before` to `after`, both objects: omits equal fields, sets removed ones to
// null. Arrays are replaced whole.
Json merge_patch_between(const Json& before, const Json& after);

}  // namespace nervex::kube
