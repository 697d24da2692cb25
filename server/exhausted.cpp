#include "server/exhausted.h"

#include <fmt/format.h>

#include "job/names.h"
#include "server/base_changes.h"
#include "server/ordinals.h"

namespace nervex::server {

Result<job::Slot> move_to_fresh_ordinal(job::Requests& requests, int attempt,
                                        const job::Unit& unit) {
  const int ordinals = unit.entry != nullptr ? job::ordinals_of(*unit.entry) : 1;
  int& next = next_ordinal(requests, unit.role);
  if (next + ordinals - 1 > job::kMaxOrdinal) {
    return Error{Code::kConflict,
                 fmt::format("{}s: all ordinals are used up", to_string(unit.role))};
  }
  const job::Slot fresh{next, 0};
  next += ordinals;
  requests.moved.push_back({attempt, unit.role, unit.slot.ordinal, fresh.ordinal});
  if (unit.entry == nullptr) {
    change_base(requests, {attempt, unit.role, unit.slot, true});
    job::RequestEntry entry;
    entry.id = requests.next_id++;
    entry.attempt = attempt;
    entry.role = unit.role;
    entry.slots = {fresh};
    requests.entries.push_back(std::move(entry));
  } else if (auto* stored = find_slot(requests, unit.role, attempt, unit.slot.ordinal)) {
    *stored = fresh;
  }
  return fresh;
}

std::optional<job::Job> continue_exhausted(const JobView& view) {
  std::optional<job::Job> continued;
  bool has_moved = false;
  for (const job::Role role : {job::Role::kCollector, job::Role::kLearner}) {
    for (const auto& unit : job::exhausted_units(view.job, role)) {
      if (!continued) {
        continued = view.job;
        continued->spec.requests = sound_requests(view);
      }
      const auto moved =
          move_to_fresh_ordinal(continued->spec.requests, view.job.status.attempt, unit);
      if (!moved) break;  // no ordinal of this role is left
      has_moved = true;
    }
  }
  return has_moved ? std::move(continued) : std::nullopt;
}

}  // namespace nervex::server
