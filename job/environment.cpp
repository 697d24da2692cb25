#include "job/environment.h"

#include <algorithm>
#include <string_view>

#include "job/ports.h"
#include "job/server_token.h"
#include "job/slots.h"

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

// Without a slot: of the job's only pod of that role.
std::string url_of(const Job& job, Role role, const PodContext& context, Slot slot = {}) {
  return replica_url(pod_name(job, role, slot), job.meta.ns,
                     main_port(template_of(job, role, context), role));
}

// What the pods of one multi-GPU learner need to find together: as torch.distributed has it.
void add_ranks(Environment& environment, const Job& job, const DdpPlace& place) {
  const std::string first = pod_name(job, Role::kDdpLearner, place.learner);
  environment.emplace_back("WORLD_SIZE", std::to_string(place.world_size));
  environment.emplace_back("LOCAL_WORLD_SIZE", std::to_string(place.gpus));
  environment.emplace_back("START_RANK", std::to_string(place.start_rank));
  environment.emplace_back("MASTER_ADDR", place.index == 0 ? "localhost" : first);
  environment.emplace_back("MASTER_PORT", std::to_string(kMasterPort));
}

}  // namespace

Environment environment_of(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                           const PodContext& context) {
  const auto place = role == Role::kDdpLearner && entry != nullptr
                         ? place_of_ddp_learner(*entry, slot)
                         : std::nullopt;
  const int port = main_port(template_of(job, role, context), role);
  Environment environment = {
      {std::string(port_variable(role)), std::to_string(port)},
      {"KUBERNETES_POD_NAMESPACE", job.meta.ns},
      {"KUBERNETES_POD_NAME", pod_name(job, role, slot)},
      {"KUBERNETES_SERVER_URL", context.server_url},
      {"KUBERNETES_NERVEX_SERVER_URL", context.server_url},  // as older clients call it
      {"KUBERNETES_COORDINATOR_URL", url_of(job, Role::kCoordinator, context)}};
  if (place) {  // it has an aggregator of its own, whatever the job has
    environment.emplace_back("KUBERNETES_AGGREGATOR_URL",
                             url_of(job, Role::kAggregator, context, place->learner));
    add_ranks(environment, job, *place);
  } else if (context.has_aggregator) {
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
