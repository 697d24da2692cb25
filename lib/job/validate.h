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
// With the role of an AggregatorConfig; a job's spec.aggregator is a text.
inline constexpr std::array<std::string_view, 4> kRolesWithTemplates{"coordinator", "collector",
                                                                     "learner", "aggregator"};

// Rules beyond the schema: the clean-up policy's text, names and lengths, whole quantities for
// devices, duplicate volumes, base replicas against bounds, labels of nodes. `object` is a
// NerveXJob as JSON; it may violate its schema, as no types are assumed.
FieldErrors validate_job(const Json& object);
// The same for an AggregatorConfig: its template.
FieldErrors validate_aggregator_config(const Json& object);

// Reports too many pods: coordinator, aggregator (unless OnDemand), and for collectors and learners
// the larger of replicas and reservedReplicas may be kMaxPodsPerJob together. Names each field that
// counts. `old_object` (null: none) is the stored job: an update that adds base replicas counts
// what the coordinator has requested, too. One that adds none is allowed, so that users can fix a
// job that exceeds the limit. Cost: such an update decodes the job.
FieldErrors check_pod_count(const Json& object, const Json& old_object);

// ---- updates (validate_update.cpp)

// Reports forbidden changes of an update: templates, roles, volumes, topologies and node classes of
// a job whose coordinator runs, unless the update suspends the job; and `suspend` back to false
// before the controller has ended the attempt. Replicas, their limits, time limits, clean-up and
// retries may always change. Each error says what to do instead.
FieldErrors check_update(const Json& object, const Json& old_object);

inline constexpr std::string_view kFixedWhileRunning =
    "may not change while the job starts or runs, because existing pods are never changed: create "
    "a new job, or set spec.suspend to true together with this change; that deletes the pods, and "
    "setting it back to false starts a new attempt";

// `errors` of `object` without those in `stored`, the errors of `old_object`: stored errors must
// not freeze a job, and are not the update's fault. Each stored error excuses one. List items with
// names match by name, and item positions in messages (containers[1]) are ignored.
FieldErrors without_stored_errors(FieldErrors errors, const Json& object, const FieldErrors& stored,
                                  const Json& old_object);

// JSON Patch operations that set defaults for absent fields. A second call on the result returns
// none.
Json default_patch(const Json& object);

}  // namespace nervex::job
