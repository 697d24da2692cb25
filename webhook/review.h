// webhook/review.h - is this NerveXJob or AggregatorConfig admitted, and how is it changed? Pure.
//
// Both hooks run the full check, so that all errors come together: the mutating one runs before the
// API server's own checks, which stop at the first error; the validating one is the backstop.
// Answers when it cannot decide: docs/adr/2026-11-21-admission.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/schema/schema_check.h"
#include "job/topology_levels.h"
#include "job/types.h"
#include "kube/model/admission.h"
#include "kube/model/json.h"
#include "webhook/capacity.h"

namespace nervex::webhook {

enum class Hook { kMutate, kValidate };

// How to treat a finding that only some clusters want.
enum class Strictness { kOff, kWarn, kRefuse };

enum class TooLarge {
  kNo,
  kToChange,  // it could be stored, but not changed later (is_too_large_to_change)
  kToStore,   // its status could not be stored (is_too_large_to_store)
};

struct Rules {
  const job::SchemaCheck& schema;
  std::string server_user;  // who may write spec.requests
  // Templates with access to their nodes: hostPath, host namespaces, privileged, capabilities.
  Strictness host_access = Strictness::kWarn;
  // Users who may not create pods, but would have the controller create them.
  Strictness pod_access = Strictness::kRefuse;
  // Jobs that could not run even if all nodes were empty.
  Strictness capacity = Strictness::kWarn;
  // Higher reservationSeconds have no effect: nervex-controller --max-reservation-seconds.
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;
  TooLarge too_large = TooLarge::kNo;
  // Levels that topologies may name: --topology-levels.
  std::vector<std::string> topology_levels = job::default_topology_levels();
};

// The outcome of a review.
struct Reviewed {
  kube::AdmissionResponse response;
  // Refused for fields that the schema does not know: a newer schema may know them.
  bool has_unknown_fields = false;
};

// Answers of the cluster about the request (webhook/facts.h).
struct Facts {
  job::FieldErrors errors;         // the API server's, for the request's templates
  job::FieldErrors stored_errors;  // the same for the templates that they replace
  // The job, and the stored one, could never run (webhook/nodes.h).
  std::optional<NeverFits> never_fits;
  std::optional<NeverFits> stored_never_fits;
  // May the user create pods in the job's namespace? nullopt: not asked, or see below.
  std::optional<bool> may_create_pods;
  std::string access_error;    // why the API server gave no answer; empty: it did, or was not asked
  std::string template_error;  // the same for templates, for the log
  std::string priority_error;  // the same for PriorityClasses
  std::string queue_error;     // the same for the queue and its namespace
  std::vector<std::string> warnings;
};

// A new object, or one whose spec differs from the stored one in more than spec.requests. False for
// requests that are answered without reading the spec.
bool changes_spec(const kube::AdmissionRequest& request);

// The roles whose templates the API server should check: for a new job all, for an update those
// whose pods would change.
std::vector<std::string_view> templates_to_ask(const kube::AdmissionRequest& request);

// Refusals carry code 422 and name every wrong field, or 413 if the object is too large. Only the
// mutating hook returns a patch; reviewing the patched object returns none. Reads only its
// arguments.
Reviewed review(kube::AdmissionRequest request, Hook hook, const Rules& rules,
                const Facts& facts = {});

}  // namespace nervex::webhook
