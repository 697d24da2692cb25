#include "webhook/warnings.h"

#include <fmt/format.h>

namespace nervex::webhook {
namespace {

void warn_of_idle_fields(const Json& spec, std::vector<std::string>& warnings) {
  for (const auto role : {"collector", "learner"}) {
    if (kube::int_at(spec, {role, "minReplicas"}) <= kube::int_at(spec, {role, "replicas"}))
      continue;
    warnings.push_back(
        fmt::format("spec.{}.minReplicas: no room is held for them in this version", role));
  }
}

bool has_host_port(const Json& pod_spec) {
  for (const auto& container : kube::array_at(pod_spec, {"containers"})) {
    for (const auto& port : kube::array_at(container, {"ports"})) {
      if (kube::int_at(port, {"hostPort"}) != 0) return true;
    }
  }
  return false;
}

// The planner looks at room and at nodes; what depends on other pods is the scheduler's own.
std::string unplanned(const Json& pod_spec) {
  if (!kube::array_at(pod_spec, {"schedulingGates"}).empty()) return "schedulingGates";
  if (!kube::array_at(pod_spec, {"topologySpreadConstraints"}).empty()) {
    return "topologySpreadConstraints";
  }
  for (const auto kind : {"podAntiAffinity", "podAffinity"}) {
    const auto& terms = kube::array_at(
        pod_spec, {"affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"});
    if (!terms.empty()) return kind;
  }
  return has_host_port(pod_spec) ? "hostPort" : "";
}

void warn_of_unplanned(const Json& spec, std::vector<std::string>& warnings) {
  for (const auto role : {"coordinator", "collector", "learner"}) {
    const Json* pod_spec = kube::find(spec, {role, "template", "spec"});
    const std::string what = pod_spec == nullptr ? "" : unplanned(*pod_spec);
    if (what.empty()) continue;
    warnings.push_back(fmt::format(
        "spec.{}.template: {} is not planned for: the gang may start in part", role, what));
  }
}

}  // namespace

std::vector<std::string> warnings_for(const Json& object) {
  std::vector<std::string> warnings;
  const std::string policy = kube::string_at(
      object, {"spec", "coordinator", "template", "spec", "restartPolicy"}, "Never");
  if (!policy.empty() && policy != "Never") {
    // A container restarted in place would ask for a second full set of replicas.
    warnings.push_back(fmt::format(
        "spec.coordinator.template.spec.restartPolicy {}: a restarted coordinator starts the whole "
        "job anew",
        policy));
  }
  const Json* spec = kube::find(object, {"spec"});
  if (spec == nullptr) return warnings;
  warn_of_idle_fields(*spec, warnings);
  warn_of_unplanned(*spec, warnings);
  return warnings;
}

}  // namespace nervex::webhook
