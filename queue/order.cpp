#include "queue/order.h"

namespace nervex::queue {

std::strong_ordering Rank::operator<=>(const Rank& other) const {
  if (priority != other.priority) return other.priority <=> priority;
  if (queued_since != other.queued_since) {
    return queued_since.time_since_epoch().count() <=>
           other.queued_since.time_since_epoch().count();
  }
  if (ns != other.ns) return ns <=> other.ns;
  return name <=> other.name;
}

Rank rank(const gang::PodGroup& group) {
  return {group.spec.priority, group.spec.queued_since, group.meta.ns.str(), group.meta.name};
}

Rank rank(const Workload& workload) {
  return {workload.priority, workload.queued_since, workload.ns, workload.name};
}

Rank rank(const kube::ForeignPodGroup& group, int priority) {
  return {priority, group.meta.created, group.meta.ns.str(), group.meta.name};
}

}  // namespace nervex::queue
