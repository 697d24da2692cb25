#include "controller/decide/attempt/creation_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "base/backoff.h"
#include "controller/decide/attempt/queueing.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"
#include "demand/gangs.h"
#include "job/names.h"
#include "kube/model/disruption.h"

namespace nervex::controller {

namespace {

using job::Role;
using Requeued = job::Status::RequeuedGang;
using Number = std::pair<Role, int>;  // role and ordinal

// Which gang each slot of the PodGroup is in.
using GangBySlot = std::map<Number, const gang::Gang*>;

GangBySlot index_gangs(const gang::PodGroup& group) {
  GangBySlot gangs;
  for (const gang::Gang& gang : group.spec.gangs) {
    for (const gang::MemberSet& set : gang.members) {
      const auto role = job::parse_role(set.role);
      if (!role) continue;
      for (const auto slot : set.slots) gangs.emplace(Number(*role, slot.ordinal), &gang);
    }
  }
  return gangs;
}

bool is_of_a_learner(const WantedSlot& slot) {
  return slot.entry() != nullptr && job::is_multi_gpu(*slot.entry());
}

bool is_of_learner(const WantedSlot& slot, int ordinal) {
  return is_of_a_learner(slot) && slot.replica.slot.ordinal == ordinal;
}

// Includes slots that a gang's back-off keeps out of the PodGroup: those of a request by its id;
// base replicas by the first ordinal of their gang.
bool belongs_to(const WantedSlot& slot, const Requeued& requeued, const GangBySlot& gangs) {
  if (requeued.learner) return is_of_learner(slot, *requeued.learner);
  const auto at = gangs.find({slot.role, slot.slot.ordinal});
  if (at != gangs.end()) return at->second->name == requeued.name;
  if (slot.entry() != nullptr) {
    return demand::request_gang_name(slot.entry()->id) == requeued.name;
  }
  return requeued.added && slot.role == requeued.added->role &&
         slot.slot.ordinal >= requeued.added->first_ordinal;
}

const WantedSlot* find_by_name(const job::Job& job, const WantedSlots& slots,
                               std::string_view name) {
  for (const auto& slot : slots.all()) {
    if (job::pod_name(job, slot.role, slot.slot) == name) return &slot;
  }
  return nullptr;
}

bool has_pod(const Attempt& attempt, const WantedSlot& slot) {
  return std::any_of(attempt.pods.begin(), attempt.pods.end(), [&](const AttemptPod& member) {
    return member.role == slot.role && member.slot == slot.slot && !member.pod->meta.deleting;
  });
}

// It has a fresh ordinal after all incarnations of another one: its gang was whole.
bool goes_on(const job::Job& job, const WantedSlot& slot) {
  const auto& moved = job.spec.requests.moved;
  return std::any_of(moved.begin(), moved.end(), [&](const job::MovedReplica& replica) {
    return replica.attempt == job.status.attempt && replica.role == slot.replica.role &&
           replica.to == slot.replica.slot.ordinal;
  });
}

// The gang was never whole, or not since its requeue: the creation of the slot's first pod failed,
// or the gang has no bound pod.
bool is_starting(const job::Job& job, const Attempt& attempt, const WantedSlot& slot,
                 std::string_view gang) {
  const job::Status& status = job.status;
  const bool was_requeued =
      std::any_of(status.requeued_gangs.begin(), status.requeued_gangs.end(),
                  [&](const Requeued& entry) { return entry.name == gang && !entry.learner; });
  const auto* planned = gang::find_gang(attempt.group->status, gang);
  const bool is_committed = planned != nullptr && planned->committed;
  return was_requeued || !is_committed || (slot.slot.incarnation == 0 && !goes_on(job, slot));
}

// The learner to requeue alone, if any: it fails again, or its gang was whole.
std::optional<int> learner_to_requeue(const job::Job& job, const Attempt& attempt,
                                      const WantedSlot& slot, std::string_view gang) {
  if (!is_of_a_learner(slot)) return std::nullopt;
  const int learner = slot.replica.slot.ordinal;
  const auto& requeued = job.status.requeued_gangs;
  const bool is_again =
      std::any_of(requeued.begin(), requeued.end(),
                  [learner](const Requeued& entry) { return entry.learner == learner; });
  return is_again || !is_starting(job, attempt, slot, gang) ? std::optional(learner) : std::nullopt;
}

// Slots of bound pods continue with the next incarnation. A pod that never ran is deleted too, but
// costs no incarnation: a failure that lasts for days would use up all of them.
void raise_incarnations(const Attempt& attempt, const WantedSlots& slots, const Requeued& requeued,
                        const GangBySlot& gangs, job::Status& status) {
  std::map<Number, int> raised;
  for (const auto& replaced : status.replaced)
    raised[{replaced.role, replaced.slot.ordinal}] = replaced.slot.incarnation;
  for (const auto& member : attempt.pods) {
    const WantedSlot* slot = slots.find(member.role, member.slot);
    if (slot == nullptr || slot->is_over || member.pod->node.empty()) continue;
    if (!belongs_to(*slot, requeued, gangs)) continue;
    int& incarnation = raised[{slot->replica.role, slot->replica.slot.ordinal}];
    incarnation = std::max(incarnation, member.slot.incarnation + 1);
  }
  status.replaced.clear();
  for (const auto& [number, incarnation] : raised) {
    status.replaced.push_back({number.first, {number.second, incarnation}});
  }
}

Requeued& find_or_add_entry(job::Status& status, const gang::Gang& gang,
                            std::optional<int> learner) {
  auto& all = status.requeued_gangs;
  const auto at = std::find_if(all.begin(), all.end(), [&](const Requeued& entry) {
    return entry.learner == learner && (learner || entry.name == gang.name);
  });
  Requeued& entry = at != all.end() ? *at : all.emplace_back();
  entry.name = gang.name;  // the learner's gang may be another one by now
  entry.learner = learner;
  entry.added.reset();
  if (gang.kind == gang::GangKind::kAddedReplicas) {
    const auto role = job::parse_role(gang.members.front().role);
    if (role) entry.added = {*role, gang.first_ordinal, gang.queued_since};
  }
  return entry;
}

bool runs(const Attempt& attempt, const WantedSlot& slot) {
  return std::any_of(attempt.pods.begin(), attempt.pods.end(), [&](const AttemptPod& member) {
    return member.role == slot.role && member.slot == slot.slot && !member.pod->node.empty() &&
           !member.pod->meta.deleting && member.pod->node_lost.empty() &&
           !kube::was_taken_away(*member.pod);
  });
}

// The gang's multi-GPU learners to requeue; nullopt stands for a gang that has none. Those that are
// complete run on, unless another gang gets their capacity.
std::set<std::optional<int>> units_to_requeue(const Round& round, const gang::Gang& gang,
                                              const GangBySlot& gangs, bool is_preempted) {
  std::set<std::optional<int>> units;
  for (const auto& slot : round.slots.all()) {
    const auto at = gangs.find({slot.role, slot.slot.ordinal});
    if (at == gangs.end() || at->second != &gang || slot.is_over) continue;
    // A requeued gang stays in the PodGroup until its pods are deleted.
    if (round.backing_off.count({slot.role, slot.slot.ordinal}) != 0) continue;
    if (!is_preempted && runs(round.attempt, slot)) continue;
    units.insert(is_of_a_learner(slot) ? std::optional(slot.replica.slot.ordinal) : std::nullopt);
  }
  return units;
}

// Since when starts of the job have failed, as the last one has: the API server refuses pods, or
// kubelets reject those of a job that has never run. nullopt: the last one did not.
std::optional<SysTime> failing_since(const job::Status& status) {
  const auto& last = status.last_attempt;
  if (!last) return std::nullopt;
  if (last->reason == kFailedCreate && has_failed_creation(status)) {
    return find_condition(status, kPodsCreated)->last_transition;
  }
  const bool has_never_run = last->reason == gang::kReasonHealingTimeout && !status.start_time;
  return has_never_run ? status.queued_since : std::nullopt;
}

}  // namespace

std::optional<SysTime> find_preempt_after(const job::Status& status, const gang::Gang& gang) {
  using std::chrono::milliseconds;
  constexpr milliseconds kShortest = std::chrono::minutes(1);
  constexpr milliseconds kLongest = std::chrono::hours(1);
  if (gang.kind == gang::GangKind::kBase) {
    const auto since = failing_since(status);
    if (!since) return std::nullopt;
    const SysTime end = status.last_attempt->end_time;
    return end + std::clamp<milliseconds>(end - *since, kShortest, kLongest);
  }
  std::optional<SysTime> after;  // the latest of its multi-GPU learners
  for (const Requeued& entry : status.requeued_gangs) {
    if (entry.name != gang.name || entry.reason != kFailedCreate) continue;
    const SysTime until = entry.requeue_at + backoff_delay(kShortest, entry.count - 1, kLongest);
    after = after ? std::max(*after, until) : until;
  }
  return after;
}

std::string describe(const Requeued& requeued) {
  if (!requeued.learner) return requeued.name;
  return fmt::format("learner {} of {}", *requeued.learner, requeued.name);
}

std::optional<std::chrono::milliseconds> time_until_requeue(const Round& round) {
  const Observed& seen = round.seen;
  std::optional<std::chrono::milliseconds> first;
  for (const auto& entry : seen.job.status.requeued_gangs) {
    if (entry.requeue_at <= seen.now) continue;
    const std::chrono::milliseconds left = entry.requeue_at - seen.now;
    if (!first || left < *first) first = left;
  }
  return first;
}

Actions requeue_failed_gang(const Round& round, std::string_view name, const std::string& message) {
  if (round.attempt.group == nullptr) return {};
  const WantedSlot* failed = find_by_name(round.job, round.slots, name);
  if (failed == nullptr) return {};
  const auto gangs = index_gangs(*round.attempt.group);
  const auto at = gangs.find({failed->role, failed->slot.ordinal});
  if (at == gangs.end() || at->second->kind == gang::GangKind::kBase) return {};
  if (has_pod(round.attempt, *failed)) return {};  // the Service of one that runs
  const gang::Gang& gang = *at->second;
  const auto learner = learner_to_requeue(round.seen.job, round.attempt, *failed, gang.name);
  if (!learner && !is_starting(round.seen.job, round.attempt, *failed, gang.name)) return {};

  job::Status status = round.seen.job.status;
  Requeued& entry = find_or_add_entry(status, gang, learner);
  const auto delay = retry_delay(round.seen.retry_delay, ++entry.count);
  entry.requeue_at = std::chrono::ceil<std::chrono::seconds>(round.seen.now + delay);
  entry.reason = kFailedCreate;
  raise_incarnations(round.attempt, round.slots, entry, gangs, status);
  const std::string name_of_gang = describe(entry);
  set_condition(round.seen, status, kPodsCreated, false, kFailedCreate, message);
  status.reason = kFailedCreate;
  return {UpdateStatus{.status = std::move(status), .ends_unstarted = true},
          warning_event(
              kFailedCreate,
              fmt::format(
                  "{}; the other pods of {} are deleted, and all its pods are retried in {} s",
                  message, name_of_gang, std::chrono::ceil<std::chrono::seconds>(delay).count()))};
}

SlotNumbers slots_backing_off(const Observed& seen, const Attempt& attempt,
                              const WantedSlots& slots) {
  SlotNumbers found;
  const auto& requeued = seen.job.status.requeued_gangs;
  if (attempt.group == nullptr || requeued.empty()) return found;
  const auto gangs = index_gangs(*attempt.group);
  for (const auto& entry : requeued) {
    if (entry.requeue_at <= seen.now) continue;
    for (const auto& slot : slots.all()) {
      if (belongs_to(slot, entry, gangs)) found.emplace(slot.role, slot.slot.ordinal);
    }
  }
  return found;
}

Actions requeue_released_gang(const Round& round) {
  if (round.attempt.group == nullptr || round.requests_lost) return {};
  for (const gang::Gang& gang : round.attempt.group->spec.gangs) {
    if (gang.kind == gang::GangKind::kBase) continue;
    const gang::GangStatus* released = find_released_gang(round.attempt, gang.name);
    if (released == nullptr) continue;
    const auto gangs = index_gangs(*round.attempt.group);
    const bool is_preempted = released->reason == gang::kReasonPreempted;
    job::Status status = round.seen.job.status;
    std::string names;
    for (const auto& learner : units_to_requeue(round, gang, gangs, is_preempted)) {
      Requeued& entry = find_or_add_entry(status, gang, learner);
      const auto delay = retry_delay(round.seen.retry_delay, ++entry.count);
      entry.requeue_at = std::chrono::ceil<std::chrono::seconds>(round.seen.now + delay);
      entry.reason = released->reason;
      names += (names.empty() ? "" : ", ") + describe(entry);
      const Requeued copy = entry;  // `status` changes next
      raise_incarnations(round.attempt, round.slots, copy, gangs, status);
    }
    if (names.empty()) continue;  // it is whole by now: the planner will see it, too
    return {UpdateStatus{.status = std::move(status), .ends_unstarted = true},
            warning_event(kRequeued, fmt::format("{} is requeued: {}", names, released->message))};
  }
  return {};
}

std::vector<Requeued> still_requeued(const Round& round) {
  std::vector<Requeued> kept;
  if (round.seen.job.status.requeued_gangs.empty() || round.attempt.group == nullptr) return kept;
  std::set<std::pair<Role, job::Slot>> pods;
  for (const auto& member : round.attempt.pods) {
    if (!member.pod->meta.deleting) pods.emplace(member.role, member.slot);
  }
  const auto gangs = index_gangs(*round.attempt.group);
  for (const auto& entry : round.seen.job.status.requeued_gangs) {
    const bool is_waiting =
        entry.requeue_at > round.seen.now;  // its pods are deleted, or are about to
    const auto lacks_its_pod = [&](const WantedSlot& slot) {
      return !slot.is_over && belongs_to(slot, entry, gangs) &&
             (is_waiting || pods.count({slot.role, slot.slot}) == 0);
    };
    const auto& all = round.slots.all();
    if (std::any_of(all.begin(), all.end(), lacks_its_pod)) kept.push_back(entry);
  }
  return kept;
}

namespace {

// "used: pods=10" and "used: pods=11" are the same failure.
std::string without_numbers(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) kept += c;
  }
  return kept;
}

bool says_so(const job::Status& status, const std::string& message) {
  const auto* condition = find_condition(status, kPodsCreated);
  return condition != nullptr && !condition->status &&
         without_numbers(condition->message) == without_numbers(message);
}

}  // namespace

Actions report_failed_write(const job::Job& job, std::string_view reason,
                            const std::string& message, SysTime now) {
  if (job.meta.deleting || is_final(job.status.phase) || says_so(job.status, message)) return {};
  job::Status status = job.status;
  job::set_condition(status, {std::string(kPodsCreated), false, std::string(reason), message,
                              whole_seconds(now), job.meta.generation});
  if (!is_true(status, kSuspended)) status.reason = reason;
  return {UpdateStatus{std::move(status)}, warning_event(reason, message)};
}

bool is_definite(Code code) { return code == Code::kInvalid || code == Code::kForbidden; }

bool is_worth_reporting(Code code, int failures_before) {
  switch (code) {
    case Code::kInvalid:
    case Code::kForbidden:
      return true;
    case Code::kConflict:
    case Code::kExpired:
      return failures_before >= 6;
    case Code::kNotFound:
    case Code::kTransient:
    case Code::kUnauthorized:
    case Code::kInternal:
      return failures_before >= 1;
  }
  return false;
}

}  // namespace nervex::controller
