#include "job/pin.h"

#include "job/json_edit.h"

namespace nervex::job {
namespace {

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

bool has_demand(const Json& term) {
  return !kube::array_at(term, {"matchExpressions"}).empty() ||
         !kube::array_at(term, {"matchFields"}).empty();
}

Json with_pin(Json term, const std::string& node) {
  append_to(term, "matchFields",
            {{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({node})}});
  return term;
}

}  // namespace

void pin_to_node(Json& pod_spec, const std::string& node) {
  const Json terms =
      kube::array_at(pod_spec, {"affinity", "nodeAffinity", kRequired, "nodeSelectorTerms"});
  Json pinned = Json::array();
  for (const auto& term : terms) pinned.push_back(has_demand(term) ? with_pin(term, node) : term);
  if (pinned.empty()) pinned.push_back(with_pin(Json::object(), node));
  Json& affinity = object_at(object_at(pod_spec, "affinity"), "nodeAffinity");
  object_at(affinity, kRequired)["nodeSelectorTerms"] = std::move(pinned);
}

}  // namespace nervex::job
