#include "controller/decide/attempt.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "controller/decide/conditions.h"
#include "job/names.h"

namespace nervex::controller {

namespace {

bool has_aggregator_set(const gang::PodGroup& group) {
  return std::any_of(group.spec.members.begin(), group.spec.members.end(), [](const auto& set) {
    // One without slots reserves capacity for aggregators of learners: reserved_capacity.h.
    return set.gang == gang::kBaseGang && set.role == to_string(job::Role::kAggregator) &&
           !set.slots.empty();
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
    const auto slot = gang::slot_of(*pod);
    if (!slot || slot->pod_group_uid != attempt.group->meta.uid) continue;
    const auto role = job::parse_role(slot->role);
    if (!role) continue;
    attempt.pods.push_back(
        {pod.get(), *role, job_slot(slot->slot), slot->placement, job::state_of(*pod)});
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
  // Its pod bears witness, too, should somebody take the set out of the PodGroup.
  attempt.has_aggregator = has_aggregator_set(*attempt.group) || has_aggregator_pod(attempt, 0);
  return attempt;
}

bool is_base_committed(const Attempt& attempt) {
  if (attempt.group == nullptr) return false;
  const auto* base = gang::find_gang(attempt.group->status, gang::kBaseGang);
  if (base != nullptr && base->committed) return true;
  return std::any_of(attempt.pods.begin(), attempt.pods.end(), [&](const AttemptPod& of) {
    return of.pod != nullptr && !of.pod->node.empty() && !of.pod->is_finished() &&
           is_of_gang(of, *attempt.group, gang::kBaseGang);
  });
}

bool has_aggregator_pod(const Attempt& attempt, int ordinal) {
  return std::any_of(attempt.pods.begin(), attempt.pods.end(), [&](const AttemptPod& of) {
    return of.role == job::Role::kAggregator && of.slot.ordinal == ordinal;
  });
}

const gang::GangStatus* gang_given_up(const Attempt& attempt, std::string_view gang) {
  if (attempt.group == nullptr) return nullptr;
  const gang::PodGroup& group = *attempt.group;
  if (group.status.observed_generation != group.meta.generation) return nullptr;
  const gang::GangStatus* status = gang::find_gang(group.status, gang);
  const bool is_given_up = status != nullptr && status->reason == gang::kReasonHealingTimeout;
  return is_given_up ? status : nullptr;
}

const AttemptPod* coordinator_of(const Attempt& attempt) {
  const auto at = std::find_if(attempt.pods.begin(), attempt.pods.end(), [](const AttemptPod& p) {
    return p.role == job::Role::kCoordinator;
  });
  return at == attempt.pods.end() ? nullptr : &*at;
}

bool wants_aggregator(const job::Spec& spec, bool config_exists) {
  return config_exists && spec.aggregator != "OnDemand";
}

bool waits_for_aggregator(const job::Spec& spec, bool config_exists) {
  return !config_exists && spec.aggregator == "PerJob";
}

job::PodContext pod_context(const Observed& seen, const Attempt& attempt) {
  return {.server_url = seen.server_url,
          .server_token = seen.server_token,
          .has_aggregator = attempt.has_aggregator,
          .aggregator_template =
              seen.aggregator_config ? seen.aggregator_config->pod_template : kube::SharedJson()};
}

SysTime place_in_queue(const job::Job& job, const gang::PodGroup* group) {
  if (job.status.queued_since) return *job.status.queued_since;
  // Queued by a version up to 0.2.
  if (group != nullptr && group->spec.queued_since != SysTime{}) return group->spec.queued_since;
  const auto* suspended = find_condition(job.status, kSuspended);
  return suspended != nullptr && !suspended->status ? suspended->last_transition : job.meta.created;
}

SysTime first_place_in_queue(const kube::Meta& meta, SysTime now) {
  using std::chrono::milliseconds;
  constexpr milliseconds kInTime{950};
  constexpr std::uint64_t kPlacesAfterThat = 50;
  if (meta.created == SysTime{}) return now;
  if (now >= meta.created && now < meta.created + kInTime) return now;
  return meta.created + kInTime + milliseconds(fnv1a(meta.uid) % kPlacesAfterThat);
}

bool is_of_group(const kube::Pod& pod, const gang::PodGroup& group) {
  return kube::annotation(pod.meta, gang::kPodGroupUidAnnotation) == group.meta.uid;
}

namespace {

using job::Role;

using Numbers = std::set<std::pair<std::string_view, int>>;

Numbers numbers_of_base(const gang::PodGroup& group) {
  Numbers numbers;
  for (const auto& set : group.spec.members) {
    if (set.gang != gang::kBaseGang) continue;
    for (const auto slot : set.slots) numbers.emplace(set.role, slot.ordinal);
  }
  return numbers;
}

}  // namespace

WantedSlots::WantedSlots(const job::Job& job, bool has_aggregator) {
  const auto add_single = [&](Role role) {
    const job::Slot slot = job::current_slot(job, role, {});
    add({role, slot, {role, slot, nullptr}, 0, false});
  };
  // A coordinator has no next incarnation: a lost one is the end of the attempt.
  add({Role::kCoordinator, {}, {Role::kCoordinator, {}, nullptr}, 0, false});
  if (has_aggregator) add_single(Role::kAggregator);
  add_replicas(job, Role::kCollector);
  add_replicas(job, Role::kLearner);
  mark_over(job.status.ended);
}

void WantedSlots::add(const WantedSlot& slot) {
  if (by_number_.emplace(std::pair(slot.role, slot.slot.ordinal), slots_.size()).second) {
    slots_.push_back(slot);
  }
}

void WantedSlots::add_replicas(const job::Job& job, Role role) {
  for (const job::Replica& replica : job::wanted_replicas(job, role)) {
    for (const job::ReplicaPod& pod : job::pods_of(replica)) {
      add({pod.role, pod.slot, replica, pod.slot.ordinal - replica.slot.ordinal, false});
    }
  }
}

void WantedSlots::mark_over(const std::vector<job::Status::Ended>& ended) {
  std::set<std::pair<Role, job::Slot>> replicas;
  for (const auto& of : ended) {
    const auto* slot = find(of.role, of.slot);
    if (slot != nullptr) replicas.emplace(slot->replica.role, slot->replica.slot);
  }
  for (auto& slot : slots_) {
    slot.is_over = replicas.count({slot.replica.role, slot.replica.slot}) != 0;
  }
}

const WantedSlot* WantedSlots::find(Role role, int ordinal) const {
  const auto at = by_number_.find({role, ordinal});
  return at == by_number_.end() ? nullptr : &slots_[at->second];
}

const WantedSlot* WantedSlots::find(Role role, job::Slot slot) const {
  const WantedSlot* found = find(role, slot.ordinal);
  return found != nullptr && found->slot == slot ? found : nullptr;
}

Placements planned_placements(const gang::PodGroupStatus& status) {
  Placements placements;
  for (const auto& of : status.gangs) {
    if (!of.planned && !of.committed) continue;
    for (const auto& placement : of.placements)
      placements[{placement.role, placement.slot}] = &placement;
  }
  return placements;
}

Placements all_placements(const gang::PodGroupStatus& status) {
  Placements placements;
  for (const auto& of : status.gangs) {
    for (const auto& placement : of.placements) {
      placements.try_emplace({placement.role, placement.slot}, &placement);
    }
  }
  return placements;
}

Wanted wanted_pods(const job::Job& job, const WantedSlots& slots, const gang::PodGroup& group,
                   const Placements& placements) {
  Wanted wanted;
  const Numbers base = numbers_of_base(group);
  for (const auto& slot : slots.all()) {
    const std::string_view role = to_string(slot.role);
    const bool is_of_base = base.count({role, slot.slot.ordinal}) != 0;
    const auto placement = placements.find({role, slot_id(slot.slot)});
    if (placement == placements.end()) {
      if (is_of_base && !slot.is_over) wanted.base_is_placed = false;
      continue;
    }
    wanted.pods.push_back({job::pod_name(job, slot.role, slot.slot), slot.role, slot.slot,
                           slot.entry(), placement->second, slot.is_over, is_of_base});
  }
  return wanted;
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

bool is_of_gang(const AttemptPod& of, const gang::PodGroup& group, std::string_view gang) {
  return std::any_of(group.spec.members.begin(), group.spec.members.end(), [&](const auto& set) {
    return set.gang == gang && set.role == to_string(of.role) &&
           std::find(set.slots.begin(), set.slots.end(), slot_id(of.slot)) != set.slots.end();
  });
}

}  // namespace nervex::controller
