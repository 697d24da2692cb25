#include "server/decide/ordinals.h"

#include <fmt/format.h>

#include <algorithm>

#include "gang/slot.h"
#include "job/names.h"

namespace nervex::server {
namespace {

using job::Role;

// The role whose ordinals pods of this role use. A multi-GPU learner's pods use the learner's.
std::optional<Role> counted_as(std::optional<Role> role) {
  if (role == Role::kAggregator || role == Role::kDdpLearner) return Role::kLearner;
  return role == Role::kCollector || role == Role::kLearner ? role : std::nullopt;
}

class Counters {
 public:
  explicit Counters(job::Requests& requests) : requests_(requests) {}

  void see(std::optional<Role> role, int ordinal, int ordinals = 1) {
    const auto counter_role = counted_as(role);
    // Base replicas, and slot 0 of the job's own aggregator, use other ordinals.
    if (!counter_role || ordinal < job::kFirstRequestedOrdinal) return;
    int& next = next_ordinal(requests_, *counter_role);
    next = std::max(next, ordinal + ordinals);
  }

  void see_id(std::int64_t id) { requests_.next_id = std::max(requests_.next_id, id + 1); }

 private:
  job::Requests& requests_;
};

void see_job(const job::Job& job, Counters& counters) {
  for (const auto& entry : job.spec.requests.entries) {
    counters.see_id(entry.id);
    for (const auto& slot : entry.slots) {
      counters.see(entry.role, slot.ordinal, job::count_ordinals(entry));
    }
  }
  for (const auto& moved : job.spec.requests.moved) {
    counters.see(moved.role, moved.from);
    counters.see(moved.role, moved.to);
  }
  for (const auto& ended : job.status.ended) counters.see(ended.role, ended.slot.ordinal);
  for (const auto& replaced : job.status.replaced) {
    counters.see(replaced.role, replaced.slot.ordinal);
  }
}

// A gang of a request shows that its entry existed.
void see_group(const gang::PodGroup& group, Counters& counters) {
  for (const gang::Gang& gang : group.spec.gangs) {
    if (gang.kind == gang::GangKind::kRequest) counters.see_id(gang.request_id);
    for (const gang::MemberSet& set : gang.members) {
      for (const auto& slot : set.slots) counters.see(job::parse_role(set.role), slot.ordinal);
    }
  }
}

void drop_earlier_attempts(job::Requests& requests, int attempt) {
  const auto is_over = [attempt](const auto& one) { return one.attempt < attempt; };
  std::erase_if(requests.entries, is_over);
  std::erase_if(requests.base, is_over);
  std::erase_if(requests.moved, is_over);
  std::erase_if(requests.calls, is_over);
}

}  // namespace

job::Requests normalized_requests(const JobView& view) {
  const job::Status& status = view.job.status;
  job::Requests requests = view.job.spec.requests;
  requests.next_collector =
      std::max({requests.next_collector, status.next_collector, job::kFirstRequestedOrdinal});
  requests.next_learner =
      std::max({requests.next_learner, status.next_learner, job::kFirstRequestedOrdinal});
  Counters counters(requests);
  see_job(view.job, counters);
  if (view.group != nullptr) see_group(*view.group, counters);
  for (const auto& pod : view.pods) {
    const auto slot = gang::pod_slot(*pod);
    if (slot) counters.see(job::parse_role(slot->role), slot->slot.ordinal);
  }
  drop_earlier_attempts(requests, status.attempt);
  return requests;
}

void change_base(job::Requests& requests, const job::BaseChange& change) {
  const auto at = std::find_if(requests.base.begin(), requests.base.end(), [&](const auto& one) {
    return one.attempt == change.attempt && one.role == change.role &&
           one.slot.ordinal == change.slot.ordinal;
  });
  if (at == requests.base.end()) {
    requests.base.push_back(change);
  } else {
    *at = change;
  }
}

job::Slot* find_slot(job::Requests& requests, job::Role role, int attempt, int ordinal) {
  for (auto& entry : requests.entries) {
    if (entry.role != role || entry.attempt != attempt) continue;
    for (auto& slot : entry.slots) {
      if (slot.ordinal == ordinal) return &slot;
    }
  }
  return nullptr;
}

Result<job::Slot> move_to_fresh_ordinal(job::Requests& requests, int attempt,
                                        const job::Replica& replica) {
  const int ordinals = replica.entry != nullptr ? job::count_ordinals(*replica.entry) : 1;
  int& next = next_ordinal(requests, replica.role);
  if (next + ordinals > job::kFirstContinuedOrdinal) {
    return Error{Code::kConflict,
                 fmt::format("{}s: all ordinals are exhausted", to_string(replica.role))};
  }
  const job::Slot fresh{next, 0};
  next += ordinals;
  requests.moved.push_back({attempt, replica.role, replica.slot.ordinal, fresh.ordinal});
  if (replica.entry == nullptr) {
    job::Slot used_up = replica.slot;
    used_up.incarnation = std::min(used_up.incarnation, job::kMaxIncarnation);  // all can read it
    change_base(requests, {attempt, replica.role, used_up, true});
    job::RequestEntry entry;
    entry.id = requests.next_id++;
    entry.attempt = attempt;
    entry.role = replica.role;
    entry.slots = {fresh};
    requests.entries.push_back(std::move(entry));
  } else if (auto* stored = find_slot(requests, replica.role, attempt, replica.slot.ordinal)) {
    *stored = fresh;
  }
  return fresh;
}

std::optional<job::Job> renumber_exhausted(const JobView& view) {
  std::optional<job::Job> renumbered;
  bool has_moved = false;
  for (const job::Role role : {job::Role::kCollector, job::Role::kLearner}) {
    for (const auto& replica : job::exhausted_replicas(view.job, role)) {
      if (!renumbered) {
        renumbered = view.job;
        renumbered->spec.requests = normalized_requests(view);
      }
      const auto moved =
          move_to_fresh_ordinal(renumbered->spec.requests, view.job.status.attempt, replica);
      if (!moved) break;  // no ordinal of this role is left
      has_moved = true;
    }
  }
  return has_moved ? std::move(renumbered) : std::nullopt;
}

}  // namespace nervex::server
