// webhook/review.h - is this NerveXJob or AggregatorConfig admitted, and how is it changed? Pure.
//
// Both hooks run the full check, so that all errors come together: the mutating one comes before
// the API server's own checks, which stop at the first error; the validating one is the backstop.
// What is answered when it cannot decide: docs/adr/2026-11-21-admission.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/schema/schema_check.h"
#include "job/types.h"
#include "kube/model/admission.h"
#include "kube/model/json.h"
#include "webhook/capacity.h"

namespace nervex::webhook {

enum class Hook { kMutate, kValidate };

// What is done about a finding that some clusters want and others do not.
enum class Strictness { kOff, kWarn, kRefuse };

struct Rules {
  const job::SchemaCheck& schema;
  std::string server_user;  // who may write spec.requests
  // Templates that reach into their nodes: hostPath, host namespaces, privileged, capabilities.
  Strictness host_access = Strictness::kWarn;
  // Users who may not create pods, and would have the controller create them.
  Strictness pod_access = Strictness::kRefuse;
  // Jobs that could not run even if all nodes were empty.
  Strictness capacity = Strictness::kWarn;
  // Above it reservationSeconds have no effect: nervex-controller --max-reservation-seconds.
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;
  // Its object could be stored, but not be changed any more (webhook/review_memory.h).
  bool is_too_large = false;
};

// What a review comes to.
struct Reviewed {
  kube::AdmissionResponse response;
  // It is refused for fields that the schema does not know: a newer one may know them.
  bool has_unknown_fields = false;
};

// What was asked of the cluster about the request (webhook/facts.h).
struct Facts {
  job::FieldErrors errors;         // the API server's, of templates that the request brings
  job::FieldErrors stored_errors;  // the same of the templates that they replace
  // The job, and the stored one, could never run (webhook/nodes.h).
  std::optional<NeverFits> never_fits;
  std::optional<NeverFits> stored_never_fits;
  // May the user create pods in the job's namespace? nullopt: nobody asked, or see below.
  std::optional<bool> may_create_pods;
  std::string access_error;    // why the API server did not tell; empty: it did, or was not asked
  std::string template_error;  // the same of templates, for the log
  std::string priority_error;  // and of PriorityClasses
  std::vector<std::string> warnings;
};

// A new object, or one whose spec differs from what is stored in more than spec.requests. False of
// requests that are answered without a look at the spec.
bool changes_spec(const kube::AdmissionRequest& request);

// The roles about whose templates the API server is worth asking: of a new job all, of an update
// those whose pods would look different.
std::vector<std::string_view> templates_to_ask(const kube::AdmissionRequest& request);

// Refusals carry code 422 and name every wrong field, or 413 if the object is too large. Only the
// mutating hook answers with a patch; applying it and asking again gives none. Never looks at
// anything but its arguments.
Reviewed review(kube::AdmissionRequest request, Hook hook, const Rules& rules,
                const Facts& facts = {});

}  // namespace nervex::webhook
