#include "controller/decide/round/attempt.h"

#include <algorithm>

#include "controller/decide/reasons.h"
#include "job/aggregator_config.h"
#include "job/names.h"

namespace nervex::controller {

namespace {

bool has_aggregator_set(const gang::PodGroup& group) {
  const gang::Gang* base = gang::find_gang(group.spec, gang::kBaseGang);
  if (base == nullptr) return false;
  return std::any_of(base->members.begin(), base->members.end(), [](const auto& set) {
    // One without slots reserves capacity for aggregators of learners: reserved_capacity.h.
    return set.role == to_string(job::Role::kAggregator) && !set.slots.empty();
  });
}

void find_group(const Observed& seen, Attempt& attempt) {
  const std::string name = job::pod_group_name(seen.job, seen.job.status.attempt);
  for (const auto& group : seen.pod_groups) {
    if (group->meta.name != name) continue;
    attempt.name_is_held = group->meta.deleting;
    if (!group->meta.deleting) attempt.group = group.get();
  }
}

void find_pods(const Observed& seen, Attempt& attempt) {
  for (const auto& pod : seen.pods) {
    const auto slot = gang::pod_slot(*pod);
    if (!slot || slot->pod_group_uid != attempt.group->meta.uid) continue;
    const auto role = job::parse_role(slot->role);
    if (!role) continue;
    attempt.pods.push_back(
        {pod.get(), *role, job_slot(slot->slot), slot->placement, job::pod_state(*pod)});
  }
}

}  // namespace

Attempt current_attempt(const Observed& seen) {
  Attempt attempt;
  find_group(seen, attempt);
  if (attempt.group == nullptr) {
    attempt.has_aggregator = wants_aggregator(seen.job.spec, seen.aggregator_config != nullptr);
    return attempt;
  }
  find_pods(seen, attempt);
  // Its pod shows it, too, if a user removed the set from the PodGroup.
  attempt.has_aggregator = has_aggregator_set(*attempt.group) || has_aggregator_pod(attempt, 0);
  return attempt;
}

bool is_base_committed(const Attempt& attempt) {
  if (attempt.group == nullptr) return false;
  const auto* base = gang::find_gang(attempt.group->status, gang::kBaseGang);
  if (base != nullptr && base->committed) return true;
  return std::any_of(attempt.pods.begin(), attempt.pods.end(), [&](const AttemptPod& member) {
    return member.pod != nullptr && !member.pod->node.empty() && !member.pod->is_finished() &&
           is_of_gang(member, *attempt.group, gang::kBaseGang);
  });
}

bool has_aggregator_pod(const Attempt& attempt, int ordinal) {
  return std::any_of(attempt.pods.begin(), attempt.pods.end(), [&](const AttemptPod& member) {
    return member.role == job::Role::kAggregator && member.slot.ordinal == ordinal;
  });
}

const gang::GangStatus* find_released_gang(const Attempt& attempt, std::string_view gang) {
  if (attempt.group == nullptr) return nullptr;
  const gang::PodGroup& group = *attempt.group;
  if (group.status.observed_generation != group.meta.generation) return nullptr;
  const gang::GangStatus* status = gang::find_gang(group.status, gang);
  return status != nullptr && gang::is_released(*status) ? status : nullptr;
}

namespace {

// The pod of a role that has one pod.
const AttemptPod* find_single(const Attempt& attempt, job::Role role) {
  const auto at = std::find_if(attempt.pods.begin(), attempt.pods.end(), [role](const auto& pod) {
    return pod.role == role && pod.slot.ordinal == 0;
  });
  return at == attempt.pods.end() ? nullptr : &*at;
}

}  // namespace

const AttemptPod* find_coordinator(const Attempt& attempt) {
  return find_single(attempt, job::Role::kCoordinator);
}

const AttemptPod* find_own_aggregator(const Attempt& attempt) {
  return find_single(attempt, job::Role::kAggregator);
}

bool is_coordinator(const kube::Pod& pod, const gang::PodGroup& group) {
  return job::pod_role(pod) == job::Role::kCoordinator && is_of_group(pod, group);
}

bool is_of_group(const kube::Pod& pod, const gang::PodGroup& group) {
  return kube::annotation(pod.meta, gang::kPodGroupUidAnnotation) == group.meta.uid;
}

bool is_behind_status(const job::Job& job) {
  return job.spec.requests.next_collector < job.status.next_collector ||
         job.spec.requests.next_learner < job.status.next_learner;
}

// The condition remembers a loss: True in the attempt that it happened in, False in those that
// follow until the counters have caught up.
bool requests_lost(const job::Job& job) {
  const auto* known = find_condition(job.status, kRequestsLost);
  return known != nullptr ? known->status : is_behind_status(job);
}

bool is_of_gang(const AttemptPod& member, const gang::PodGroup& group, std::string_view name) {
  const gang::Gang* gang = gang::find_gang(group.spec, name);
  if (gang == nullptr) return false;
  return std::any_of(gang->members.begin(), gang->members.end(), [&](const auto& set) {
    return gang::wants(set, to_string(member.role), slot_id(member.slot));
  });
}

}  // namespace nervex::controller
