#include "demand/member_set.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "demand/gangs.h"
#include "kube/model/anti_affinity.h"
#include "kube/model/node.h"
#include "kube/model/resources.h"
#include "kube/model/topology_spread.h"
#include "kube/model/volume.h"

namespace nervex::demand {

namespace {

using job::Role;

// Pod anti-affinity, as implicit resources, and pod affinity.
void add_affinity_of_pods(const Json& spec, std::string_view ns, const kube::Labels& labels,
                          gang::PodShape& shape) {
  const auto terms = [&spec](std::string_view kind) -> const Json& {
    return kube::array_at(spec,
                          {"affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"});
  };
  for (const auto& resource : kube::self_anti_affinity(terms("podAntiAffinity"), ns, labels)) {
    shape.requests.set(resource, 1);
  }
  std::vector<std::string> together = kube::self_affinity(terms("podAffinity"), ns, labels);
  together.resize(std::min(together.size(), gang::kMaxAffinityTerms));
  shape.together = std::move(together);
}

// Topology and node classes. Pods of a multi-GPU learner are those of a learner.
void set_domains(const job::Spec& spec, Role role, gang::PodShape& shape) {
  const auto add = [&](const std::optional<job::Topology>& topology, std::string_view group) {
    if (!topology) return;
    shape.topology.push_back({topology->level, std::string(group), topology->is_required});
  };
  add(spec.topology, gang::kWholeJob);
  const Role of = role == Role::kDdpLearner ? Role::kLearner : role;
  const std::optional<job::RoleSpec>* its = of == Role::kCollector ? &spec.collector
                                            : of == Role::kLearner ? &spec.learner
                                                                   : nullptr;
  if (its == nullptr || !*its) return;
  add((*its)->topology, to_string(of));
  shape.node_classes = (*its)->node_classes;
}

// A pod's entry names a claim or a template.
std::vector<std::string> list_resource_claims(const Json& spec) {
  std::set<std::string> claims;
  for (const Json& entry : kube::array_at(spec, {"resourceClaims"})) {
    const std::string claim = kube::string_at(entry, {"resourceClaimName"});
    const std::string from = kube::string_at(entry, {"resourceClaimTemplateName"});
    if (!claim.empty()) claims.insert("ResourceClaim/" + claim);
    if (!from.empty()) claims.insert("ResourceClaimTemplate/" + from);
  }
  return {claims.begin(), claims.end()};
}

}  // namespace

void set_topology_spread(const job::Job& job, Role role, bool is_requested,
                         const job::PodContext& context, gang::PodShape& shape) {
  const std::string& ns = job.meta.ns.str();
  const auto list = [&](Role of, bool is_of_request) {
    const Json* spec = kube::find(job::role_template(job, of, context), {"spec"});
    if (spec == nullptr || kube::array_at(*spec, {"topologySpreadConstraints"}).empty()) {
      return std::vector<kube::TopologySpread>();
    }
    const Json labels = job::make_pod_labels(job, of, is_of_request, context);
    return kube::list_topology_spread(*spec, ns, kube::list_labels(labels));
  };
  shape.spread = list(role, is_requested);
  std::vector<kube::TopologySpread> counting = shape.spread;
  for (const Role one : {Role::kCoordinator, Role::kAggregator, Role::kCollector, Role::kLearner}) {
    const auto more = list(one, false);
    counting.insert(counting.end(), more.begin(), more.end());
  }
  if (counting.empty()) return;
  const Json written = job::make_pod_labels(job, role, is_requested, context);
  const kube::Labels labels = kube::list_labels(written);
  for (const kube::TopologySpread& spread : counting) {
    const auto selector = kube::decode_selector(spread.pods);
    if (!selector || !kube::selects(*selector, labels)) continue;
    shape.requests.set(spread.pods.counter, 1);
  }
}

gang::MemberSet make_member_set(const job::Job& job, const gang::Gang& gang,
                                const job::WantedSlot& slot, const job::PodContext& context) {
  // Includes ports that the controller declares: with hostNetwork they are host ports.
  const Json spec = job::pod_spec_with_ports(job, slot.role, slot.slot, slot.entry(), context);
  gang::MemberSet set;
  set.name = set_name(gang, slot.role, slot.part);
  set.role = to_string(slot.role);
  set.shape.requests = kube::pod_requests(spec);
  const bool is_requested = slot.entry() != nullptr;
  const Json labels = job::make_pod_labels(job, slot.role, is_requested, context);
  add_affinity_of_pods(spec, job.meta.ns.str(), kube::list_labels(labels), set.shape);
  set_topology_spread(job, slot.role, is_requested, context, set.shape);
  set_domains(job.spec, slot.role, set.shape);
  set.shape.constraints = kube::decode_node_constraints(spec);
  set.bind_last = slot.role == Role::kCoordinator;
  set.heals_alone = heals_alone(gang.kind, slot.role);
  set.shape.claims = kube::claim_names(spec);
  set.resource_claims = list_resource_claims(spec);
  set.part = slot.part;
  return set;
}

gang::MemberSet* find_role_set(gang::Gang& gang, Role role) {
  const auto at = std::find_if(gang.members.begin(), gang.members.end(),
                               [role](const auto& set) { return set.role == to_string(role); });
  return at == gang.members.end() ? nullptr : &*at;
}

bool heals_alone(gang::GangKind gang, Role role) {
  return gang == gang::GangKind::kBase && role == Role::kAggregator;
}

bool has_templates(const job::Job& job, const job::WantedSlot& slot,
                   const job::PodContext& context) {
  const bool is_multi_gpu = slot.entry() != nullptr && job::is_multi_gpu(*slot.entry());
  const auto has_template = [&](Role role) {
    return !job::role_template(job, role, context).is_null();
  };
  if (is_multi_gpu) return has_template(Role::kAggregator) && has_template(Role::kDdpLearner);
  return has_template(slot.role) || slot.role == Role::kCoordinator;
}

}  // namespace nervex::demand
