#include "server/decide/shrink.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "server/decide/ordinals.h"

namespace nervex::server {
namespace {

// Removes from entries of the attempt, and drops entries that become empty.
void remove_requested(job::Requests& requests, job::Role role, int attempt,
                      const std::set<int>& ordinals) {
  for (auto& entry : requests.entries) {
    if (entry.role != role || entry.attempt != attempt) continue;
    std::erase_if(entry.slots, [&](job::Slot slot) { return ordinals.count(slot.ordinal) > 0; });
  }
  std::erase_if(requests.entries,
                [](const job::RequestEntry& entry) { return entry.slots.empty(); });
}

void remove_newest(const JobView& view, job::Role role, int count, Change& change) {
  if (count == 0) return;
  const std::vector<job::Replica> living = living_replicas(view, role);
  const auto kept = living.size() - std::min(living.size(), static_cast<std::size_t>(count));
  const int attempt = view.job.status.attempt;
  const auto& spec = role_spec(view.job.spec, role);
  const int base_replicas = spec ? spec->replicas : 0;
  std::set<int> requested;
  for (const auto& replica : std::span(living).subspan(kept)) {
    if (replica.entry != nullptr) {
      requested.insert(replica.slot.ordinal);
    } else {
      change_base(change.requests, {attempt, replica.role, replica.slot, true,
                                    change.requests.next_id++, base_replicas});
    }
    const job::ReplicaPod addressed = addressed_pod(replica);
    add_address(change.answer, view.job, addressed.role, addressed.slot, view.aggregator_port);
    change.changes = true;
  }
  remove_requested(change.requests, role, attempt, requested);
}

}  // namespace

Change shrink(const JobView& view, const RemoveRequest& request) {
  Change change{normalized_requests(view), {view.job.meta.ns, request.coordinator, {}, {}}, false};
  remove_newest(view, job::Role::kCollector, request.collectors, change);
  remove_newest(view, job::Role::kLearner, request.learners, change);
  return change;
}

}  // namespace nervex::server
