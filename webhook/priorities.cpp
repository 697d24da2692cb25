#include "webhook/priorities.h"

#include <fmt/format.h>

namespace nervex::webhook {
namespace {

void check(const Json& pod_spec, const std::string& path, const ClassPriority& computed,
           job::FieldErrors& errors) {
  const std::string by = computed.name.empty()
                             ? std::string("of pods without a PriorityClass")
                             : fmt::format("of PriorityClass \"{}\"", computed.name);
  const auto refuse = [&](const char* field, const Json& stated, const std::string& right) {
    errors.push_back({job::FieldErrorType::kInvalid, path + field, kube::to_text(stated),
                      fmt::format("leave it out: the cluster sets it, and refuses pods with a "
                                  "value other than {}, that {}",
                                  right, by)});
  };
  const Json* priority = kube::find(pod_spec, {"priority"});
  if (priority != nullptr && priority->is_number_integer() && *priority != computed.value) {
    refuse("priority", *priority, std::to_string(computed.value));
  }
  const Json* policy = kube::find(pod_spec, {"preemptionPolicy"});
  if (policy != nullptr && policy->is_string() && *policy != computed.preemption_policy) {
    refuse("preemptionPolicy", *policy, computed.preemption_policy);
  }
}

}  // namespace

ClassPriority decode_class_priority(const Json& object) {
  ClassPriority found;
  found.name = kube::string_at(object, {"metadata", "name"});
  found.value = kube::int_at(object, {"value"});
  const std::string policy = kube::string_at(object, {"preemptionPolicy"});
  if (!policy.empty()) found.preemption_policy = policy;
  return found;
}

ClassPriority default_class_priority(const Json& list) {
  std::optional<ClassPriority> lowest;  // the API server's choice among several
  for (const Json& object : kube::array_at(list, {"items"})) {
    if (!kube::bool_at(object, {"globalDefault"})) continue;
    const ClassPriority one = decode_class_priority(object);
    if (!lowest || one.value < lowest->value) lowest = one;
  }
  return lowest.value_or(ClassPriority());
}

job::FieldErrors priority_errors(const Json& object, const std::vector<std::string_view>& roles,
                                 const FindPriority& find) {
  job::FieldErrors errors;
  const std::string of_job = kube::string_at(object, {"spec", "priorityClassName"});
  for (const std::string_view role : roles) {
    const Json* spec = kube::find(object, {"spec", role, "template", "spec"});
    if (spec == nullptr || !spec->is_object()) continue;
    const bool states_one = kube::find(*spec, {"priority"}) != nullptr ||
                            kube::find(*spec, {"preemptionPolicy"}) != nullptr;
    if (!states_one) continue;
    // The job's class replaces the template's (job/pod_spec.cpp).
    const auto computed =
        find(of_job.empty() ? kube::string_at(*spec, {"priorityClassName"}) : of_job);
    if (!computed) continue;
    check(*spec, fmt::format("spec.{}.template.spec.", role), *computed, errors);
  }
  return errors;
}

}  // namespace nervex::webhook
