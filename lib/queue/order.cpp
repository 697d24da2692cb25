#include "queue/order.h"

#include <algorithm>
#include <numeric>

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

std::vector<std::size_t> order(std::span<const Rank> ranks) {
  std::vector<std::size_t> indices(ranks.size());
  std::iota(indices.begin(), indices.end(), 0U);
  std::stable_sort(indices.begin(), indices.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  return indices;
}

}  // namespace nervex::queue
