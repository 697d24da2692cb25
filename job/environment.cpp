#include "job/environment.h"

#include <algorithm>
#include <string_view>

#include "job/server_token.h"

namespace nervex::job {
namespace {

std::string_view port_variable(Role role) {
  switch (role) {
    case Role::kCoordinator:
      return "COORDINATOR_PORT";
    case Role::kAggregator:
      return "AGGREGATOR_PORT";
    case Role::kCollector:
      return "COLLECTOR_PORT";
    case Role::kLearner:
    case Role::kDdpLearner:
      return "LEARNER_PORT";
  }
  return "";
}

// Of the job's only pod of that role.
std::string url_of(const Job& job, Role role, const PodContext& context) {
  return replica_url(pod_name(job, role, {}), job.meta.ns,
                     main_port(template_of(job, role, context), role));
}

}  // namespace

Environment environment_of(const Job& job, Role role, Slot slot, const PodContext& context) {
  const int port = main_port(template_of(job, role, context), role);
  Environment environment = {
      {std::string(port_variable(role)), std::to_string(port)},
      {"KUBERNETES_POD_NAMESPACE", job.meta.ns},
      {"KUBERNETES_POD_NAME", pod_name(job, role, slot)},
      {"KUBERNETES_SERVER_URL", context.server_url},
      {"KUBERNETES_NERVEX_SERVER_URL", context.server_url},  // as older clients call it
      {"KUBERNETES_COORDINATOR_URL", url_of(job, Role::kCoordinator, context)}};
  if (context.has_aggregator) {
    environment.emplace_back("KUBERNETES_AGGREGATOR_URL", url_of(job, Role::kAggregator, context));
  }
  if (context.server_token) environment.emplace_back(kServerTokenVariable, kServerTokenFile);
  return environment;
}

void append_environment(Json& container, const Environment& environment) {
  Json kept = Json::array();
  for (const auto& entry : kube::array_at(container, {"env"})) {
    const std::string name = kube::string_at(entry, {"name"});
    const bool is_ours = std::any_of(environment.begin(), environment.end(),
                                     [&](const auto& ours) { return ours.first == name; });
    if (!is_ours) kept.push_back(entry);
  }
  for (const auto& [name, value] : environment) {
    kept.push_back({{"name", name}, {"value", value}});
  }
  container["env"] = std::move(kept);
}

}  // namespace nervex::job
