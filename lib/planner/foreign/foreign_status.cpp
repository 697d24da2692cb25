#include "planner/foreign/foreign_status.h"

#include <algorithm>
#include <string_view>

namespace nervex::planner {
namespace {

std::string_view compute_phase(const kube::ForeignPodGroup& group, const ForeignCounts& counts) {
  const std::int64_t there = counts.pending + counts.bound + counts.succeeded + counts.failed;
  const std::int64_t least = std::max<std::int64_t>(1, group.min_member);
  if (there == 0) {  // what it came to stays when its pods are deleted
    const std::string& before = group.status.phase;
    if (before == kube::kPhaseFinished) return kube::kPhaseFinished;
    return before == kube::kPhaseFailed ? kube::kPhaseFailed : kube::kPhasePending;
  }
  if (counts.succeeded >= least) return kube::kPhaseFinished;
  if (counts.failed > 0 && counts.failed + counts.running + counts.succeeded >= least) {
    return kube::kPhaseFailed;
  }
  if (there < least) return kube::kPhasePending;
  return counts.running + counts.succeeded >= least ? kube::kPhaseRunning : kube::kPhaseScheduling;
}

}  // namespace

kube::ForeignPodGroupStatus make_foreign_status(const ForeignGangSeen& seen, SysTime now) {
  kube::ForeignPodGroupStatus status = seen.group->status;
  status.phase = compute_phase(*seen.group, seen.counts);
  status.running = seen.counts.running;
  status.succeeded = seen.counts.succeeded;
  status.failed = seen.counts.failed;
  if (status.phase == kube::kPhasePending) return status;
  if (status.occupied_by.empty()) status.occupied_by = seen.owner;
  if (!status.schedule_start_time) {
    status.schedule_start_time = std::chrono::floor<std::chrono::seconds>(now);
  }
  return status;
}

}  // namespace nervex::planner
