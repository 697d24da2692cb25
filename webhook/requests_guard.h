// webhook/requests_guard.h - did somebody but nervex-server change spec.requests?
//
// It is nervex-server's own part of a job (design: one writer per fact).
#pragma once

#include "kube/model/json.h"

namespace nervex::webhook {

// JSON Patch that gives `object` the spec.requests of `old_object` (null: none). Empty if it has
// them, or if there is no spec.
Json restore_requests(const Json& object, const Json& old_object);

// The specs are the same, spec.requests aside. False if one has no spec.
bool same_spec_but_requests(const Json& object, const Json& old_object);

}  // namespace nervex::webhook
