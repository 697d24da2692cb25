#include "webhook/capacity.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "demand/initial_gang.h"
#include "job/types.h"
#include "job/validate.h"
#include "job/wanted_slots.h"
#include "kube/model/anti_affinity.h"
#include "kube/model/json_hash.h"
#include "kube/model/node.h"
#include "kube/model/resources.h"
#include "placement/explain.h"
#include "placement/topology.h"

namespace nervex::webhook {
namespace {

kube::Resources without_anti_affinity(const kube::Resources& requests) {
  kube::Resources rest;
  for (const auto& [name, amount] : requests.amounts()) {
    if (!name.starts_with(kube::kPodAntiAffinity)) rest.set(name, amount);
  }
  return rest;
}

// The gang that the controller will plan, without an aggregator and without affinity of its pods to
// each other, volumes and node classes, whose label is not known here: these never count against a
// job that may be valid.
std::vector<gang::MemberSet> make_gang(job::Job job) {
  job.status = {};
  job.spec.requests = {};
  auto sets = demand::make_initial_gang(job, job::WantedSlots(job, false), {}).members;
  for (gang::MemberSet& set : sets) {
    set.shape.requests = without_anti_affinity(set.shape.requests);
    set.shape.together.clear();
    set.shape.spread.clear();
    set.shape.node_classes.clear();
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
    const kube::NodeConstraints its = set.shape.constraints.unpack();
    return has_more_than(its.node_selector, left) || has_more_than(its.node_selector_terms, left) ||
           has_more_than(its.tolerations, left) || has_more_than(its.preferred_terms, left);
  });
}

// ---- which parts of a job are needs

enum class Part { kSpec, kRole, kTemplate, kPodSpec, kContainers, kContainer, kOther };

// Members of containers that need nothing of a node. An unknown member counts as a need.
constexpr std::array<std::string_view, 6> kNoNeeds{"args",    "command", "env",
                                                   "envFrom", "image",   "volumeMounts"};

// nullopt: the member is no need.
std::optional<Part> member_part(Part part, std::string_view key) {
  const auto is_any_of = [key](const auto& names) {
    return std::find(names.begin(), names.end(), key) != names.end();
  };
  switch (part) {
    case Part::kSpec:
      if (key == "requests") return std::nullopt;  // make_gang() drops them
      return is_any_of(job::kTemplateRoles) ? Part::kRole : Part::kOther;
    case Part::kRole:
      return key == "template" ? Part::kTemplate : Part::kOther;
    case Part::kTemplate:
      if (key == "metadata") return std::nullopt;  // labels only tie pods to each other
      return key == "spec" ? Part::kPodSpec : Part::kOther;
    case Part::kPodSpec:
      return key == "containers" || key == "initContainers" ? Part::kContainers : Part::kOther;
    case Part::kContainer:
      return is_any_of(kNoNeeds) ? std::nullopt : std::optional(Part::kOther);
    default:
      return Part::kOther;
  }
}

// As kube::add_json() of the value without what is no need.
void add_needs(SipHash& hash, Part part, const Json& value) {
  if (part == Part::kContainers && value.is_array()) {
    kube::add_array(hash, value.size());
    for (const Json& container : value) add_needs(hash, Part::kContainer, container);
    return;
  }
  if (part == Part::kOther || part == Part::kContainers || !value.is_object()) {
    kube::add_json(hash, value);
    return;
  }
  const auto& members = value.get_ref<const Json::object_t&>();
  kube::add_object(hash, static_cast<std::size_t>(
                             std::count_if(members.begin(), members.end(), [&](const auto& member) {
                               return member_part(part, member.first).has_value();
                             })));
  for (const auto& [key, member] : members) {
    const auto its = member_part(part, key);
    if (!its) continue;
    hash.add(std::string_view(key));
    add_needs(hash, *its, member);
  }
}

// The field to change: the topology that no domain satisfies, else the template.
std::string field_of(const gang::UnplacedSet& set, const Json& object) {
  const bool is_topology = set.domain && set.domain->reason == gang::DomainLimit::Reason::kTopology;
  if (!is_topology) return fmt::format("spec.{}.template", set.role);
  const bool is_of_role =
      kube::string_at(object, {"spec", set.role, "topology", "level"}) == set.domain->key;
  return is_of_role ? fmt::format("spec.{}.topology.level", set.role) : "spec.topology.level";
}

}  // namespace

Hash128 hash_needs(SipHash hash, const Json& object) {
  const Json* spec = kube::find(object, {"spec"});
  add_needs(hash, Part::kSpec, spec == nullptr ? Json() : *spec);
  return hash.finish();
}

Result<std::optional<NeverFits>> find_never_fitting(const Json& object,
                                                    const placement::Cluster& nodes) {
  const std::optional<NeverFits> kMayFit;
  if (nodes.empty()) return kMayFit;
  std::size_t left = kMaxValues;
  if (has_more_than(object, left)) return Error{Code::kInvalid, "the job has too many values"};
  Json named;  // with generateName there is no name yet
  const bool has_name = !kube::string_at(object, {"metadata", "name"}).empty();
  if (!has_name && kube::find(object, {"metadata"}) != nullptr) {
    named = object;
    if (named["metadata"].is_object()) named["metadata"]["name"] = "job";
  }
  auto job = job::decode_job(named.is_null() ? object : named);
  if (!job) return job.error();
  const auto sets = make_gang(*std::move(job));
  if (constrains_too_much(sets)) return kMayFit;
  const auto plan = placement::plan_in_domains(sets, nodes.for_one_plan(), {}, {});
  const auto* no_fit = std::get_if<gang::NoFit>(&plan);
  if (no_fit == nullptr || !gang::is_proof(*no_fit)) return kMayFit;
  return std::optional(NeverFits{field_of(*gang::find_set(*no_fit), object),
                                 placement::explain_without_role(*no_fit)});
}

}  // namespace nervex::webhook
