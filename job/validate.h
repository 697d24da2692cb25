// job/validate.h - is this job well-formed? All errors at once, each with its field.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "job/field_error.h"
#include "kube/model/json.h"

namespace nervex::job {

// Roles whose templates a job has.
inline constexpr std::array<std::string_view, 3> kTemplateRoles{"coordinator", "collector",
                                                                "learner"};
// With that of an AggregatorConfig; a job's spec.aggregator is a text.
inline constexpr std::array<std::string_view, 4> kRolesWithTemplates{"coordinator", "collector",
                                                                     "learner", "aggregator"};

// What no schema says: the clean-up policy's text, names and lengths, quantities that are whole for
// devices, volumes named twice, base replicas against bounds. `object` is a NerveXJob as JSON,
// maybe one that breaks its schema: nothing here assumes types.
FieldErrors validate_job(const Json& object);
// The same of an AggregatorConfig: its template.
FieldErrors validate_aggregator_config(const Json& object);

// Too many pods: coordinator, aggregator (unless OnDemand), and of collectors and learners replicas
// or reservedReplicas, whichever is more, may be kMaxPodsPerJob together. Names each field that
// counts. `old_object` (null: none) is what is stored: a job that is beyond the limit already may
// be changed in all that does not add pods, or nobody could set it right.
FieldErrors check_pod_count(const Json& object, const Json& old_object);

// ---- updates (validate_update.cpp)

// What an update changes although it may not: templates, roles and volumes of a job whose
// coordinator runs, unless the update suspends the job; and `suspend` back to false before the
// controller has ended the attempt. Replicas, limits of them and of time, clean-up and retries may
// change at any time. Each error says what to do instead.
FieldErrors check_update(const Json& object, const Json& old_object);

inline constexpr std::string_view kFixedWhileRunning =
    "may not change while the job starts or runs, for pods that exist are never changed: set "
    "spec.suspend to true together with this change, which deletes them and starts a new attempt "
    "when it is false again, or create a new job";

// `errors` of `object` without those that `old_object` has as well, `stored`: what is stored must
// not freeze a job, and an update of something else is not to blame for it. Each stored error
// excuses one. Items of lists that have a name are the same where their names are, and the places
// of items that a message names (containers[1]) do not count.
FieldErrors without_stored_errors(FieldErrors errors, const Json& object, const FieldErrors& stored,
                                  const Json& old_object);

// JSON Patch operations that fill in what the user left out. Applying them and asking again gives
// none.
Json default_patch(const Json& object);

}  // namespace nervex::job
