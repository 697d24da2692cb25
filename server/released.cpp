#include "server/released.h"

#include <algorithm>

#include "gang/slot.h"
#include "server/ordinals.h"

namespace nervex::server {
namespace {

using job::Role;

}  // namespace

Released::Released(const job::Job& job) : job_(job) {
  const auto* lost = find_condition(job.status, job::kRequestsLost);
  is_lost_ = lost != nullptr && lost->status;
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    for (const auto& unit : job::wanted_units(job, role)) {
      for (const auto& pod : job::pods_of(unit)) {
        wanted_[{pod.role, pod.slot.ordinal}] = pod.slot.incarnation;
      }
    }
  }
}

bool Released::has(const kube::Pod& pod) const {
  const auto id = gang::slot_of(pod);
  const auto role = id ? job::parse_role(id->role) : std::nullopt;
  if (!role) return false;
  const auto at = wanted_.find({*role, id->slot.ordinal});
  if (at != wanted_.end()) return id->slot.incarnation < at->second;
  return was_removed(*role, id->slot.ordinal);
}

bool Released::was_removed(Role role, int ordinal) const {
  const auto& requests = job_.spec.requests;
  if (ordinal >= job::kFirstRequestedOrdinal) {
    return !is_lost_ && ordinal < next_ordinal(requests, role);
  }
  return std::any_of(requests.base.begin(), requests.base.end(), [&](const auto& change) {
    return change.removed && change.role == role && change.slot.ordinal == ordinal &&
           change.attempt == job_.status.attempt;
  });
}

std::vector<PodPtr> kept_pods(const job::Job& job, std::vector<PodPtr> pods) {
  const Released released(job);
  std::erase_if(pods, [&](const PodPtr& pod) { return released.has(*pod); });
  return pods;
}

}  // namespace nervex::server
