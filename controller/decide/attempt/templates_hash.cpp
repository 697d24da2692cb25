#include "controller/decide/attempt/templates_hash.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/text.h"
#include "kube/model/json.h"
#include "kube/model/resources.h"

namespace nervex::controller {

namespace {

// Equal for what admission takes for the same (is_same() of job/validate_update.cpp): a member that
// is null is as good as none, and 1.0 is 1.
std::uint64_t hash_json(const Json& value, std::uint64_t hash) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      if (member.is_null()) continue;
      hash = hash_json(member, fnv1a(kube::to_text(Json(key)) + ":", hash));
    }
    return fnv1a("}", hash);
  }
  if (value.is_array()) {
    for (const Json& item : value) hash = fnv1a(",", hash_json(item, hash));
    return fnv1a("]", hash);
  }
  if (value.is_number_float()) {
    constexpr double kExact = 1LL << 53;
    const auto number = value.get<double>();
    const bool is_whole = std::abs(number) < kExact && number == std::trunc(number);
    if (is_whole) return fnv1a(kube::to_text(Json(static_cast<std::int64_t>(number))), hash);
  }
  return fnv1a(kube::to_text(value), hash);
}

constexpr std::string_view kHashVersion = "1";
constexpr std::string_view kNoTemplate = "-";
constexpr std::string_view kWaitsForTemplate = "?";
constexpr std::size_t kAggregatorPart = 5;  // versions up to 0.2 wrote none

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t space = text.find(' '); space != text.npos; space = text.find(' ')) {
    words.push_back(text.substr(0, space));
    text.remove_prefix(space + 1);
  }
  words.push_back(text);
  return words;
}

std::string hash_part(const Json& made_of) {
  return made_of.is_null() ? std::string(kNoTemplate)
                           : fmt::format("{:016x}", hash_json(made_of, fnv1a("")));
}

Json encode_placement(const std::optional<job::Topology>& topology,
                      const std::vector<std::string>& node_classes) {
  Json placement = Json::object();
  if (topology) {
    placement["topology"] = {{"level", topology->level}, {"required", topology->is_required}};
  }
  if (!node_classes.empty()) placement["nodeClasses"] = node_classes;
  return placement;
}

// Adds `placement` to the part of a role. An empty one changes nothing: versions up to 0.2 wrote
// none, and an upgrade must not plan jobs again. A role without a template has no pods to place.
std::string with_placement(std::string part, const Json& placement) {
  if (placement.empty() || part == kNoTemplate) return part;
  return fmt::format("{:016x}", hash_json(placement, fnv1a(part)));
}

// Capacity for aggregators of multi-GPU learners (reserved_capacity.h).
bool may_reserve_aggregators(const job::Spec& spec) {
  if (!spec.learner || spec.learner->reserved_replicas <= spec.learner->replicas) return false;
  const Json* pod = kube::find(spec.learner->pod_template.get(), {"spec"});
  return pod != nullptr && kube::pod_requests(*pod).get("nvidia.com/gpu") > 1;
}

std::string aggregator_part(const job::Spec& spec, const job::AggregatorConfig* config) {
  if (job::waits_for_aggregator(spec, config != nullptr)) return std::string(kWaitsForTemplate);
  const bool has_place =
      job::wants_aggregator(spec, config != nullptr) || may_reserve_aggregators(spec);
  return hash_part(config != nullptr && has_place ? config->pod_template.get() : Json());
}

}  // namespace

std::string templates_hash(const job::Spec& spec, const job::AggregatorConfig* config) {
  const auto hash_role = [&](const std::optional<job::RoleSpec>& role) {
    if (!role) return std::string(kNoTemplate);
    return with_placement(hash_part(role->pod_template.get()),
                          encode_placement(role->topology, role->node_classes));
  };
  // The coordinator's part has spec.topology, because every job has a coordinator.
  const std::string coordinator =
      with_placement(hash_part(spec.coordinator_template), encode_placement(spec.topology, {}));
  return fmt::format("{} {} {} {} {} {}", kHashVersion, hash_part(spec.volumes), coordinator,
                     hash_role(spec.collector), hash_role(spec.learner),
                     aggregator_part(spec, config));
}

bool has_other_templates(std::string_view planned, std::string_view now, bool is_committed) {
  const auto before = split_words(planned);
  const auto after = split_words(now);
  if (before.front() != kHashVersion) return false;
  if (before.size() < kAggregatorPart || before.size() > after.size()) return false;
  for (std::size_t i = 1; i < before.size(); ++i) {
    const bool matters = !is_committed || (before[i] != kNoTemplate && i != kAggregatorPart);
    if (before[i] != after[i] && matters) return true;
  }
  return false;
}

}  // namespace nervex::controller
