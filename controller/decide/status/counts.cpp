#include "controller/decide/status/counts.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "controller/decide/attempt/replacement.h"
#include "controller/decide/round/attempt.h"
#include "job/counts.h"

namespace nervex::controller {

namespace {

using job::PodState;
using job::Role;

// Above this number, ends that no decision needs are only counted, not listed.
constexpr std::size_t kManyEnded = 1'000;

job::RoleCounts& worker_counts(job::Status& status, Role role) {
  if (role == Role::kAggregator) return status.aggregator;  // a multi-GPU learner's
  return role == Role::kCollector ? status.collector : status.learner;
}

// The ends that the status counts but no longer lists.
job::RoleCounts forgotten(const job::Status& before, Role role) {
  job::Status named;
  for (const auto& ended_slot : before.ended) {
    job::RoleCounts& counts = worker_counts(named, ended_slot.role);
    ++(ended_slot.succeeded ? counts.succeeded : counts.failed);
  }
  job::Status stored = before;
  const job::RoleCounts& counted = worker_counts(stored, role);
  const job::RoleCounts& listed = worker_counts(named, role);
  return {0, std::max(0, counted.succeeded - listed.succeeded),
          std::max(0, counted.failed - listed.failed)};
}

}  // namespace

// A client that replaces crashed replicas for weeks must not make the job too large for the API
// server. Drops an end if its slot is not and will not be wanted in that incarnation and its pod
// was deleted, so that it is not counted again. (Except with a new leader's stale cache: then it is
// counted twice.) The few aggregators stay, as other pods share their counts.
void forget_many_ended(const Round& round, job::Status& status) {
  if (status.ended.size() <= kManyEnded || round.requests_lost) return;
  std::set<std::pair<Role, job::Slot>> pods;
  for (const auto& member : round.attempt.pods) pods.emplace(member.role, member.slot);
  std::erase_if(status.ended, [&](const job::Status::Ended& ended_slot) {
    if (ended_slot.role == Role::kAggregator || pods.count({ended_slot.role, ended_slot.slot}) != 0)
      return false;
    const WantedSlot* now = round.slots.find(ended_slot.role, ended_slot.slot.ordinal);
    if (now != nullptr) return now->slot.incarnation > ended_slot.slot.incarnation;
    // The base replicas may be raised again: what they had is kept until something else says so.
    return ended_slot.slot.ordinal >= job::kFirstRequestedOrdinal ||
           job::current_slot(round.job, ended_slot.role, ended_slot.slot).incarnation >
               ended_slot.slot.incarnation;
  });
}

bool is_base_collector(const AttemptPod& member) {
  return member.role == Role::kCollector && member.slot.ordinal < job::kFirstRequestedOrdinal;
}

void set_counts(const job::Status& before, const Attempt& attempt, job::Status& status) {
  std::vector<const kube::Pod*> pods;
  for (const auto& member : attempt.pods) pods.push_back(member.pod);
  const job::Counts counts = job::count(pods);
  status.coordinator = counts.coordinator;
  status.aggregator = {counts.aggregator.active, 0, 0};
  if (const AttemptPod* own = find_own_aggregator(attempt)) {  // counted while its pod exists
    status.aggregator.succeeded += own->state == PodState::kSucceeded ? 1 : 0;
    status.aggregator.failed += own->state == PodState::kFailed ? 1 : 0;
  }
  status.collector = forgotten(before, Role::kCollector);
  status.collector.active = counts.collector.active;
  status.base_collectors = static_cast<int>(
      std::count_if(attempt.pods.begin(), attempt.pods.end(), [](const AttemptPod& member) {
        return is_base_collector(member) && member.state == PodState::kRunning;
      }));
  status.learner = forgotten(before, Role::kLearner);
  status.learner.active = counts.learner.active;
  for (const auto& ended : status.ended) {
    job::RoleCounts& of_role = worker_counts(status, ended.role);
    ++(ended.succeeded ? of_role.succeeded : of_role.failed);
  }
  status.ready = counts.ready;
}

int desired_pods(const Round& round) {
  const WantedSlots& slots = round.slots;
  const AttemptPod* own = find_own_aggregator(round.attempt);
  const bool aggregator_is_over = own != nullptr && own->state == PodState::kSucceeded;
  const auto goes_on = [&](const WantedSlot& slot) {
    const bool is_own = slot.role == Role::kAggregator && slot.entry() == nullptr;
    return !slot.is_over && !(is_own && aggregator_is_over);
  };
  std::ptrdiff_t wanted = std::count_if(slots.all().begin(), slots.all().end(), goes_on);
  for (const auto& replica : exhausted_replicas(round.job))
    wanted += std::ssize(replica_pods(replica));
  if (round.attempt.group == nullptr || !round.requests_lost) return static_cast<int>(wanted);
  for (const auto& set : gang::all_sets(round.attempt.group->spec.gangs)) {
    wanted += std::count_if(set.slots.begin(), set.slots.end(), [&](const gang::SlotId slot) {
      const auto role = job::parse_role(set.role);
      return role && slots.find(*role, slot.ordinal) == nullptr;
    });
  }
  return static_cast<int>(wanted);
}

void count_active_as_succeeded(job::Status& status) {
  for (auto* counts :
       {&status.coordinator, &status.aggregator, &status.collector, &status.learner}) {
    counts->succeeded += std::exchange(counts->active, 0);
  }
  status.base_collectors = 0;
}

void forget_active(const Observed& seen, job::Status& status) {
  if (seen.job.spec.clean_pod_policy == job::CleanPodPolicy::kNone) return;
  for (auto* counts :
       {&status.coordinator, &status.aggregator, &status.collector, &status.learner}) {
    counts->active = 0;
  }
  status.base_collectors = 0;
}

}  // namespace nervex::controller
