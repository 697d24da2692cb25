// webhook/guarded_fields.h - which parts of a job do its users not write? Pure.
//
// spec.requests belongs to nervex-server: one writer per fact. job::kSubmittedByAnnotation, whose
// user decides who is served first in a queue with fairUsers, belongs to the webhook.
#pragma once

#include <string>
#include <vector>

#include "job/field_error.h"
#include "kube/model/admission.h"
#include "kube/model/json.h"

namespace nervex::webhook {

// The JSON Patch that gives the object its own values again. Applies it to spec.requests of
// `request` at once, so that what is ignored is not checked. Adds a warning for each change that is
// ignored. `request` creates or updates a job or an AggregatorConfig; `server_user` may change
// spec.requests.
Json restore_guarded_fields(kube::AdmissionRequest& request, const std::string& server_user,
                            std::vector<std::string>& warnings);

// For the validating hook: refuses what the mutating one would have restored. A new job without the
// annotation passes: its user is unknown.
job::FieldErrors guarded_field_errors(const kube::AdmissionRequest& request,
                                      const std::string& server_user);

}  // namespace nervex::webhook
