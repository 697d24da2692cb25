#include "controller/decide/attempt/activity.h"

#include <algorithm>
#include <set>

#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"

namespace nervex::controller {

namespace {

using std::chrono::seconds;

// As the pods tell; nullopt: none was bound.
std::optional<SysTime> bound_since(const Round& round) {
  std::optional<SysTime> first;
  for (const AttemptPod& member : round.attempt.pods) {
    if (member.pod->node.empty()) continue;
    const bool is_known = member.pod->bound_since != SysTime{};
    const SysTime since = is_known ? member.pod->bound_since : round.seen.now;
    if (!first || since < *first) first = since;
  }
  return first;
}

bool has_begun(const kube::Pod& pod) {
  return !pod.node.empty() && (pod.phase == kube::PodPhase::kRunning || pod.is_finished());
}

// Since when, if the attempt has its place at all, or had it until it ended?
std::optional<SysTime> since_if_placed(const Round& round) {
  const job::Status& status = round.seen.job.status;
  std::optional<SysTime> since = status.active_since;
  if (!since) since = bound_since(round);
  if (!since && status.phase == job::Phase::kRunning) {
    const auto* running = find_condition(status, kRunning);
    since = running != nullptr ? running->last_transition : round.seen.now;
  }
  if (!since) return std::nullopt;
  return whole_seconds(std::min(*since, round.seen.now));
}

// An attempt whose PodGroup was deleted before the coordinator ran waits again.
bool has_place(const Round& round) {
  return round.seen.job.status.phase == job::Phase::kRunning || is_base_committed(round.attempt) ||
         bound_since(round).has_value();
}

}  // namespace

std::optional<SysTime> active_since(const Round& round) {
  return has_place(round) ? since_if_placed(round) : std::nullopt;
}

seconds active_time(const Round& round) {
  const seconds before(round.seen.job.status.active_seconds);
  const auto since = since_if_placed(round);
  if (!since) return before;
  return before + std::chrono::duration_cast<seconds>(whole_seconds(round.seen.now) - *since);
}

bool has_gang_started(const Round& round) {
  const job::Status& status = round.seen.job.status;
  // A version that does not know the times has started it: a pod that ran first may be gone.
  const bool ran_before = status.phase == job::Phase::kRunning && !status.active_since;
  return status.gang_started_time || ran_before || not_started(round).slots == 0;
}

NotStarted not_started(const Round& round) {
  NotStarted found;
  if (round.attempt.group == nullptr) return found;
  std::set<gang::SlotKey> begun;
  for (const AttemptPod& member : round.attempt.pods) {
    if (has_begun(*member.pod)) begun.insert({to_string(member.role), slot_id(member.slot)});
  }
  const gang::Gang* base = gang::find_gang(round.attempt.group->spec, gang::kBaseGang);
  if (base == nullptr) return found;
  for (const auto& set : base->members) {
    const auto role = job::parse_role(set.role);
    for (const gang::SlotId slot : set.slots) {
      ++found.of_slots;
      const WantedSlot* wanted = role ? round.slots.find(*role, job_slot(slot)) : nullptr;
      const bool is_over = wanted != nullptr && wanted->is_over;
      if (!is_over && begun.count({set.role, slot}) == 0) ++found.slots;
    }
  }
  return found;
}

void report_activity(const Round& round, job::Status& status) {
  status.active_since = active_since(round);
  if (!status.active_since) {
    status.gang_started_time.reset();
  } else if (!status.gang_started_time && round.attempt.group != nullptr &&
             has_gang_started(round)) {
    status.gang_started_time = whole_seconds(round.seen.now);
  }
}

void end_activity(const Round& round, job::Status& status) {
  status.active_seconds = active_time(round).count();
  status.active_since.reset();
  status.gang_started_time.reset();
}

}  // namespace nervex::controller
