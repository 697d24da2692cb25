#include "queue/reservation.h"

#include <algorithm>
#include <functional>

namespace nervex::queue {

namespace {

bool is_of_reclaiming_queue(const ReservedFor& reserved, const Workload& workload) {
  const auto& queues = reserved.reclaiming_queues;
  return std::binary_search(queues.begin(), queues.end(), workload.queue, std::less<>());
}

// Without regard to deadlines.
bool may_always_reclaim(const ReservedFor& reserved, const Workload& workload) {
  return workload.is_preemptible && reserved.head < rank(workload) &&
         workload.grace.value_or(kLongestEnding) <= kLongestEnding &&
         !is_of_reclaiming_queue(reserved, workload);
}

bool is_named(const ReservedFor& reserved, const Tenant& tenant) {
  const auto& jobs = reserved.counts_on;
  return std::binary_search(jobs.begin(), jobs.end(), tenant.job, std::less<>());
}

// It was to end in time when the nodes were reserved, or when it was planned since. What an older
// job was planned with says nothing: its deadline may have been raised before that.
bool is_counted_on(const ReservedFor& reserved, const Tenant& tenant) {
  if (!reserved.due) return false;
  if (is_named(reserved, tenant)) return true;
  const auto& started_at = tenant.workload->job_started_at;
  return started_at && *started_at >= reserved.since && tenant.promised_end &&
         *tenant.promised_end <= *reserved.due;
}

// Pods of other operators are not ours to end.
bool may_end_for(const ReservedFor& reserved, const Workload& workload) {
  return workload.kind && !is_of_its_job(reserved, workload);
}

}  // namespace

std::vector<std::string_view> find_reclaiming_queues(const QueueTree& tree, PreemptionMode mode,
                                                     std::string_view queue) {
  std::vector<std::string_view> names;
  const QueueIndex from = tree.find(queue).value_or(kRoot);
  for (QueueIndex each = kRoot; each < tree.size(); ++each) {
    if (may_reclaim_any(tree, mode, each, from)) names.emplace_back(tree[each].name);
  }
  return names;
}

bool is_of_its_job(const ReservedFor& reserved, const Workload& workload) {
  return reserved.head.ns == workload.ns && reserved.head.name == workload.name;
}

bool is_reclaimable(const ReservedFor& reserved, const Tenant& tenant) {
  if (!may_end_for(reserved, *tenant.workload)) return false;
  if (may_always_reclaim(reserved, *tenant.workload)) return true;
  return is_counted_on(reserved, tenant) &&
         (!tenant.latest_end || *tenant.latest_end > *reserved.due);
}

bool ends_for(const ReservedFor& reserved, const Tenant& tenant) {
  if (!may_end_for(reserved, *tenant.workload)) return false;
  if (is_reclaimable(reserved, tenant)) return true;
  if (reserved.due) return tenant.latest_end && *tenant.latest_end <= *reserved.due;
  // The head waits for the end of the whole job, also of what the job has requested since.
  const auto& started_at = tenant.workload->started_at;
  return is_named(reserved, tenant) || (started_at && *started_at <= reserved.since);
}

bool may_start(const ReservedFor& reserved, const Tenant& tenant, std::chrono::seconds start_time) {
  if (!may_end_for(reserved, *tenant.workload)) return false;
  if (may_always_reclaim(reserved, *tenant.workload)) return true;
  return reserved.due && tenant.latest_end && *tenant.latest_end + start_time <= *reserved.due;
}

}  // namespace nervex::queue
