// kube/model/merge_patch.h - what has to be said to turn one object into another?
#pragma once

#include "kube/model/json.h"

namespace nervex::kube {

// The merge patch that turns `before` into `after`, both objects: fields that are equal are left
// out, those that were removed are null. Arrays are replaced whole.
Json merge_patch_between(const Json& before, const Json& after);

}  // namespace nervex::kube
