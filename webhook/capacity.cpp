#include "webhook/capacity.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "demand/initial_gang.h"
#include "job/types.h"
#include "job/wanted_slots.h"
#include "kube/model/anti_affinity.h"
#include "kube/model/node.h"
#include "kube/model/resources.h"
#include "placement/explain.h"
#include "placement/plan.h"

namespace nervex::webhook {
namespace {

kube::Resources without_anti_affinity(const kube::Resources& requests) {
  kube::Resources rest;
  for (const auto& [name, amount] : requests.amounts()) {
    if (!name.starts_with(kube::kPodAntiAffinity)) rest.set(name, amount);
  }
  return rest;
}

// The gang that the controller will plan, without an aggregator and without constraints that tie
// its pods to each other or to volumes: these never count against a job that may be valid.
std::vector<gang::MemberSet> make_gang(job::Job job) {
  job.status = {};
  job.spec.requests = {};
  auto sets = demand::make_initial_gang(job, job::WantedSlots(job, false), {}).members;
  for (gang::MemberSet& set : sets) {
    set.shape.requests = without_anti_affinity(set.shape.requests);
    set.shape.together.clear();
    set.shape.claims.clear();
    for (int i = 0; i < set.reserved_pods; ++i) set.slots.push_back(gang::reserved_slot(i));
  }
  return sets;
}

// Judging makes copies, and the memory of a review is limited (webhook/bounded.h).
constexpr std::size_t kMaxValues = 40'000;
// nodeSelector, node affinity and tolerations of all roles: each may be compared with each node.
constexpr std::size_t kMaxConstraintValues = 1'000;

bool has_more_than(const Json& value, std::size_t& left) {
  if (left == 0) return true;
  --left;
  if (!value.is_structured()) return false;
  return std::any_of(value.begin(), value.end(),
                     [&](const Json& child) { return has_more_than(child, left); });
}

bool constrains_too_much(const std::vector<gang::MemberSet>& sets) {
  std::size_t left = kMaxConstraintValues;
  return std::any_of(sets.begin(), sets.end(), [&](const gang::MemberSet& set) {
    const kube::NodeConstraints& its = set.shape.constraints;
    return has_more_than(its.node_selector, left) || has_more_than(its.node_selector_terms, left) ||
           has_more_than(its.tolerations, left) || has_more_than(its.preferred_terms, left);
  });
}

}  // namespace

std::optional<NeverFits> find_never_fitting(const Json& object, const placement::Cluster& nodes) {
  std::size_t left = kMaxValues;
  if (nodes.empty() || has_more_than(object, left)) return std::nullopt;
  Json named;  // with generateName there is no name yet
  const bool has_name = !kube::string_at(object, {"metadata", "name"}).empty();
  if (!has_name && kube::find(object, {"metadata"}) != nullptr) {
    named = object;
    if (named["metadata"].is_object()) named["metadata"]["name"] = "job";
  }
  auto job = job::decode_job(named.is_null() ? object : named);
  if (!job) return std::nullopt;
  const auto sets = make_gang(*std::move(job));
  if (constrains_too_much(sets)) return std::nullopt;
  const auto plan = placement::plan_gang(sets, nodes.for_one_plan());
  const auto* no_fit = std::get_if<gang::NoFit>(&plan);
  if (no_fit == nullptr || !gang::is_proof(*no_fit)) return std::nullopt;
  return NeverFits{fmt::format("spec.{}.template", gang::find_set(*no_fit)->role),
                   placement::explain_without_role(*no_fit)};
}

}  // namespace nervex::webhook
