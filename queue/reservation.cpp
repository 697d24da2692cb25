#include "queue/reservation.h"

namespace nervex::queue {

namespace {

bool can_be_taken_back(const ReservedFor& reserved, const Workload& workload) {
  return workload.is_preemptible && reserved.head < rank(workload);
}

// Pods of other operators are not ours to end.
bool may_end_for(const ReservedFor& reserved, const Workload& workload) {
  return workload.kind && !is_of_its_job(reserved, workload);
}

}  // namespace

bool is_of_its_job(const ReservedFor& reserved, const Workload& workload) {
  return reserved.head.ns == workload.ns && reserved.head.name == workload.name;
}

bool is_reclaimable(const ReservedFor& reserved, const Tenant& tenant) {
  if (!may_end_for(reserved, *tenant.workload)) return false;
  if (can_be_taken_back(reserved, *tenant.workload)) return true;
  const bool was_counted_on =
      reserved.due && tenant.promised_end && *tenant.promised_end <= *reserved.due;
  return was_counted_on && (!tenant.latest_end || *tenant.latest_end > *reserved.due);
}

bool ends_for(const ReservedFor& reserved, const Tenant& tenant) {
  if (!may_end_for(reserved, *tenant.workload)) return false;
  if (is_reclaimable(reserved, tenant)) return true;
  if (reserved.due) return tenant.latest_end && *tenant.latest_end <= *reserved.due;
  const auto& started_at = tenant.workload->started_at;
  return started_at && *started_at <= reserved.since;
}

bool may_start(const ReservedFor& reserved, const Tenant& tenant) {
  if (!may_end_for(reserved, *tenant.workload)) return false;
  if (can_be_taken_back(reserved, *tenant.workload)) return true;
  return reserved.due && tenant.latest_end && *tenant.latest_end + kStartTime <= *reserved.due;
}

}  // namespace nervex::queue
