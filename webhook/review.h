// webhook/review.h - is this NerveXJob admitted, and with which changes? Pure.
//
// Both hooks run the full check, so that all errors come together: the mutating one comes before
// the API server's own checks, which stop at the first error; the validating one is the backstop.
// What is answered when it cannot decide: docs/adr/2026-11-21-admission.md.
#pragma once

#include <string>
#include <vector>

#include "kube/model/admission.h"
#include "kube/model/json.h"
#include "webhook/schema_check.h"

namespace nervex::webhook {

enum class Hook { kMutate, kValidate };

struct Rules {
  const SchemaCheck& schema;
  std::string server_user;  // who may write spec.requests
};

// Refusals carry code 422 and name every wrong field. Only the mutating hook answers with a patch;
// applying it and asking again gives none. Never looks at anything but its arguments.
kube::AdmissionResponse review(kube::AdmissionRequest request, Hook hook, const Rules& rules);

// ---- warnings

// One line each, below 120 characters, for kubectl to show. `object` is a valid NerveXJob.
std::vector<std::string> warnings_for(const Json& object);

}  // namespace nervex::webhook
