#include "controller/decide/objects/direct_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/decide/reasons.h"
#include "controller/decide/round/attempt.h"
#include "controller/decide/round/condition.h"
#include "gang/slot.h"
#include "kube/model/anti_affinity.h"

namespace nervex::controller {
namespace {

using job::Role;

// Of a PodSpec: what the planner reads, and what no scheduler does. Not among them: nodeName,
// schedulerName, schedulingGates, topologySpreadConstraints, resourceClaims, runtimeClassName (it
// may choose nodes), schedulingGroup, workloadRef.
constexpr std::array<std::string_view, 33> kKnownFields{"activeDeadlineSeconds",
                                                        "affinity",
                                                        "automountServiceAccountToken",
                                                        "containers",
                                                        "dnsConfig",
                                                        "dnsPolicy",
                                                        "enableServiceLinks",
                                                        "hostAliases",
                                                        "hostIPC",
                                                        "hostNetwork",
                                                        "hostPID",
                                                        "hostUsers",
                                                        "hostname",
                                                        "hostnameOverride",
                                                        "imagePullSecrets",
                                                        "initContainers",
                                                        "nodeSelector",
                                                        "preemptionPolicy",
                                                        "priority",
                                                        "priorityClassName",
                                                        "readinessGates",
                                                        "resources",
                                                        "restartPolicy",
                                                        "securityContext",
                                                        "serviceAccount",
                                                        "serviceAccountName",
                                                        "setHostnameAsFQDN",
                                                        "shareProcessNamespace",
                                                        "subdomain",
                                                        "terminationGracePeriodSeconds",
                                                        "tolerations",
                                                        "volumes",
                                                        "os"};

// Of a volume, beside its name. Claims are bound by kube-scheduler, or count against what a node
// can attach; so do disks of clouds and inline volumes of CSI drivers.
constexpr std::array<std::string_view, 9> kKnownVolumes{"name",     "emptyDir",    "configMap",
                                                        "secret",   "downwardAPI", "projected",
                                                        "hostPath", "nfs",         "image"};

template <std::size_t kSize>
bool is_one_of(const std::array<std::string_view, kSize>& known, std::string_view name) {
  return std::find(known.begin(), known.end(), name) != known.end();
}

// As good as absent.
bool says_nothing(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value.is_null() || (value.is_structured() && value.empty());
}

const Json& required_apart(const Json& spec) {
  return kube::array_at(
      spec, {"affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
}

bool is_known_affinity(const Json& affinity) {
  if (!affinity.is_object()) return false;
  for (const auto& [kind, value] : affinity.items()) {
    if (kind == "nodeAffinity" || says_nothing(value)) continue;
    if (kind != "podAntiAffinity" || !value.is_object()) return false;
    for (const auto& [key, terms] : value.items()) {
      if (key != "requiredDuringSchedulingIgnoredDuringExecution" && !says_nothing(terms)) {
        return false;
      }
    }
  }
  return true;
}

// A role of the base gang that has pods.
struct Member {
  const Json* spec = nullptr;
  Json labels;
};

std::vector<std::string> apart_from(const Json& terms, const std::string& ns, const Json& labels) {
  kube::Labels texts;
  for (const auto& [key, value] : labels.items()) {
    if (value.is_string()) texts.emplace_back(key, value.get_ref<const std::string&>());
  }
  return kube::self_anti_affinity(terms, ns, texts);
}

// Each term is about pods of its kind, and those of the gang's others that it selects have it, too:
// then it is in their shapes.
bool keep_apart_as_known(const std::vector<Member>& members, const std::string& ns) {
  for (const Member& member : members) {
    const Json& terms = required_apart(*member.spec);
    if (terms.empty()) continue;
    if (apart_from(terms, ns, member.labels).size() != terms.size()) return false;
    for (const Member& other : members) {
      const auto theirs = apart_from(required_apart(*other.spec), ns, other.labels);
      const std::set<std::string> known(theirs.begin(), theirs.end());
      for (const auto& selected : apart_from(terms, ns, other.labels)) {
        if (known.count(selected) == 0) return false;
      }
    }
  }
  return true;
}

std::vector<Role> base_roles(const Round& round) {
  std::vector<Role> roles{Role::kCoordinator};
  if (round.attempt.has_aggregator) roles.push_back(Role::kAggregator);
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    const auto& spec = role_spec(round.job.spec, role);
    if (spec && spec->replicas > 0) roles.push_back(role);
  }
  return roles;
}

// Without a worker there is nothing to gain.
bool is_base_known(const Round& round, const job::PodContext& context) {
  const std::vector<Role> roles = base_roles(round);
  if (roles.size() < 2 || !are_known_volumes(round.job.spec.volumes)) return false;
  std::vector<Member> members;
  for (const Role role : roles) {
    const Json* spec = kube::find(job::role_template(round.job, role, context), {"spec"});
    if (spec == nullptr || !is_known_to_planner(*spec) ||
        !are_known_volumes(kube::array_at(*spec, {"volumes"}))) {
      return false;
    }
    members.push_back({spec, job::make_pod_labels(round.job, role, false, context)});
  }
  return keep_apart_as_known(members, round.job.meta.ns.str());
}

// Something kept its pods from running that the planner did not know, or found out too late: now
// kube-scheduler is asked.
bool was_not_made_whole(const job::Status& status) {
  return status.last_attempt && status.last_attempt->reason == gang::kReasonHealingTimeout;
}

// The flag, and what the job remembers.
bool is_allowed(const Round& round) {
  return round.seen.direct_placement && !is_true(round.seen.job.status, kDirectPlacementRefused);
}

}  // namespace

bool is_known_to_planner(const Json& pod_spec) {
  if (!pod_spec.is_object()) return false;
  for (const auto& [field, value] : pod_spec.items()) {
    if (says_nothing(value) || is_one_of(kKnownFields, field)) continue;
    const bool is_our_scheduler = field == "schedulerName" && value == gang::kSchedulerName;
    if (!is_our_scheduler) return false;
  }
  const Json* affinity = kube::find(pod_spec, {"affinity"});
  return affinity == nullptr || says_nothing(*affinity) || is_known_affinity(*affinity);
}

bool are_known_volumes(const Json& volumes) {
  return std::all_of(volumes.begin(), volumes.end(), [](const Json& volume) {
    if (!volume.is_object()) return false;
    const auto& fields = volume.items();
    return std::all_of(fields.begin(), fields.end(),
                       [](const auto& field) { return is_one_of(kKnownVolumes, field.key()); });
  });
}

bool wants_direct_placement(const Round& round, const job::PodContext& context) {
  const gang::PodGroup* group = round.attempt.group;
  if (!is_allowed(round) || (group != nullptr && !group->spec.direct_placement)) return false;
  if (was_not_made_whole(round.seen.job.status)) return false;
  return is_base_known(round, context);
}

bool is_created_with_node(const Round& round, const WantedPod& want) {
  const gang::PodGroup& group = *round.attempt.group;
  if (!is_allowed(round) || !group.spec.direct_placement) return false;
  if (!want.is_of_base || want.role == Role::kCoordinator) return false;
  const auto* base = gang::find_gang(group.status, gang::kBaseGang);
  return base != nullptr && base->committed && gang::is_direct(*base, *want.placement);
}

Actions fall_back_to_scheduler(const Observed& seen, const std::string& message) {
  if (seen.job.meta.deleting || is_true(seen.job.status, kDirectPlacementRefused)) return {};
  job::Status status = seen.job.status;
  std::string told = fmt::format(
      "{}: from now on kube-scheduler binds this job's pods, and direct placement is not used",
      message);
  set_condition(seen, status, kDirectPlacementRefused, true, kFailedCreate, told);
  return {UpdateStatus{std::move(status)}, warning_event(kDirectPlacementRefused, std::move(told))};
}

}  // namespace nervex::controller
