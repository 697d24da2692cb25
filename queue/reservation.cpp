#include "queue/reservation.h"

namespace nervex::queue {

bool is_reclaimable(const ReservedFor& reserved, const Tenant& tenant) {
  const Workload& workload = *tenant.workload;
  if (!workload.kind) return false;  // pods of other operators are not ours to end
  if (workload.is_preemptible && reserved.head < rank(workload)) return true;
  const bool was_counted_on =
      reserved.due && tenant.promised_end && *tenant.promised_end <= *reserved.due;
  return was_counted_on && (!tenant.latest_end || *tenant.latest_end > *reserved.due);
}

bool ends_for(const ReservedFor& reserved, const Tenant& tenant) {
  if (is_reclaimable(reserved, tenant)) return true;
  if (reserved.due) return tenant.latest_end && *tenant.latest_end <= *reserved.due;
  const auto& started_at = tenant.workload->started_at;
  return started_at && *started_at <= reserved.since;
}

bool may_start(const ReservedFor& reserved, const Tenant& tenant) {
  const bool is_preemptible = tenant.workload->kind && tenant.workload->is_preemptible &&
                              reserved.head < rank(*tenant.workload);
  return is_preemptible ||
         (reserved.due && tenant.latest_end && *tenant.latest_end + kStartTime <= *reserved.due);
}

}  // namespace nervex::queue
