#include "webhook/capacity.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "job/pod_manifest.h"
#include "job/types.h"
#include "kube/model/node.h"
#include "kube/model/resources.h"
#include "placement/plan.h"

namespace nervex::webhook {
namespace {

// The shape that the controller gives the role's set, but for what keeps pods apart from each
// other: that is left out, so that nothing is held against a job that may be right.
gang::MemberSet set_of(const job::Job& job, job::Role role, int pods) {
  const Json spec = job::pod_spec_with_ports(job, role, {}, nullptr, {});
  gang::MemberSet set;
  set.name = job::to_string(role);
  set.gang = gang::kBaseGang;
  set.role = job::to_string(role);
  set.shape.requests = kube::pod_requests(spec);
  set.shape.constraints = kube::constraints_of(spec);
  set.bind_last = role == job::Role::kCoordinator;
  for (int ordinal = 0; ordinal < pods; ++ordinal) set.slots.push_back({ordinal, 0});
  return set;
}

std::vector<gang::MemberSet> sets_of(const job::Job& job) {
  std::vector<gang::MemberSet> sets{set_of(job, job::Role::kCoordinator, 1)};
  const auto add = [&](const std::optional<job::RoleSpec>& role, job::Role name) {
    const int pods = role ? std::max(role->replicas, role->reserved_replicas) : 0;
    if (pods > 0) sets.push_back(set_of(job, name, pods));
  };
  add(job.spec.collector, job::Role::kCollector);
  add(job.spec.learner, job::Role::kLearner);
  return sets;
}

// Copies are made of what is judged, and a review has only so much memory (webhook/bounded.h).
constexpr std::size_t kMaxValues = 40'000;
// Of nodeSelector, node affinity and tolerations of all roles: each may be compared with each node.
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
  const auto job = job::decode_job(named.is_null() ? object : named);
  if (!job) return std::nullopt;
  const auto sets = sets_of(*job);
  if (constrains_too_much(sets)) return std::nullopt;
  const auto plan = placement::plan_gang(sets, nodes.for_one_plan());
  const auto* no_fit = std::get_if<placement::NoFit>(&plan);
  if (no_fit == nullptr || !gang::is_proof(*no_fit)) return std::nullopt;
  return NeverFits{fmt::format("spec.{}.template", gang::find_set(*no_fit)->role),
                   placement::explain_without_role(*no_fit)};
}

}  // namespace nervex::webhook
