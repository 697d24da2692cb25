// job/validate.h - is this job well-formed? All errors at once, each with its field.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/model/json.h"

namespace nervex::job {

// The vocabulary of Kubernetes field errors.
enum class FieldErrorType { kRequired, kInvalid, kNotSupported, kForbidden, kTooLong, kDuplicate };

struct FieldError {
  FieldErrorType type = FieldErrorType::kInvalid;
  std::string field;   // spec.coordinator.template.spec.containers[0].image
  std::string value;   // what stood there, as JSON, cut at 100 characters; empty if required
  std::string detail;  // what is allowed
  bool operator==(const FieldError&) const = default;
};
using FieldErrors = std::vector<FieldError>;

// `spec.cleanPodPolicy: Unsupported value: "hello": ...`, as the API server words it.
std::string to_string(const FieldError& error);
// The same without the field: `Unsupported value: "hello": ...`.
std::string message_of(const FieldError& error);
// metav1.CauseType of the type: "FieldValueRequired", "FieldValueInvalid", ...
std::string_view cause_type(FieldErrorType type);
// "<n> fields are wrong: a; b; c" or the one error alone. Names at most kMaxListedErrors of them.
std::string to_string(const FieldErrors& errors);
inline constexpr std::size_t kMaxListedErrors = 30;
// Checks stop looking for more after this many: a hostile job must not fill the memory.
inline constexpr std::size_t kMaxErrors = 1000;

// `value` as FieldError::value holds it.
std::string shown_value(const Json& value);

// What no schema says: the clean-up policy's text, names and lengths, quantities that are whole for
// devices, volumes named twice, base replicas against bounds. `object` is a NerveXJob as JSON,
// maybe one that breaks its schema: nothing here assumes types.
FieldErrors validate_job(const Json& object);

// Too many pods: coordinator, aggregator (unless OnDemand), and of collectors and learners replicas
// or minReplicas, whichever is more, may be kMaxPodsPerJob together. Names each field that counts.
// `old_object` (null: none) is what is stored: a job that is beyond the limit already may be
// changed in all that does not add pods, or nobody could set it right.
FieldErrors check_pod_count(const Json& object, const Json& old_object);

// JSON Patch operations that fill in what the user left out. Applying them and asking again gives
// none.
Json default_patch(const Json& object);

// ---- templates of pods (validate_template.cpp)

// Checks a PodTemplateSpec that stands at `path`: containers, names, images, resources, volumes.
// The rules are those of the API server for pods (kubernetes 1.36, pkg/apis/core/validation), so
// that what would be noticed at the first pod is noticed at admission. Parts of a wrong type are
// passed over: a schema tells of them.
void validate_template(const Json& pod_template, const std::string& path, FieldErrors& errors);

// Checks the name of the container or volume that stands at `path` against those `seen` before it,
// and adds it to them.
void validate_item_name(const Json& item, const std::string& path,
                        std::set<std::string, std::less<>>& seen, FieldErrors& errors);

}  // namespace nervex::job
