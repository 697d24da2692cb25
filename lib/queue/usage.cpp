#include "queue/usage.h"

#include <algorithm>

namespace nervex::queue {
namespace {

// Entries without amounts are erased, so that equal use compares as equal.
void change(std::map<std::string, kube::Resources, std::less<>>& amounts, const std::string& key,
            const kube::Resources& difference, bool adds) {
  kube::Resources& sum = amounts[key];
  adds ? sum += difference : sum -= difference;
  if (sum.empty()) amounts.erase(key);
}

kube::Resources beyond(const kube::Resources& requests, const kube::Resources& others) {
  kube::Resources more;
  for (const auto& [name, amount] : requests.amounts()) {
    more.set(name, std::max<std::int64_t>(0, amount - others.get(name)));
  }
  return more;
}

void change(ClassedResources& use, const kube::Resources& requests, const ClassRequests& classes,
            bool adds) {
  adds ? use.total += requests : use.total -= requests;
  for (const auto& [node_class, amounts] : classes) {
    change(use.by_class, node_class, amounts, adds);
  }
}

}  // namespace

void Usage::add_beyond(const QueueTree& tree, QueueIndex queue, const Workload& workload,
                       const Usage& others) {
  queues_[queue].own += beyond(workload.requests, others.queues_[queue].own);
  if (tree[queue].fair_users) {
    change(queues_[queue].users, workload.user, workload.requests, true);
  }
  while (true) {
    const ClassedResources& ends = others.queues_[queue].rigid;
    Use& use = queues_[queue];
    ++use.workloads;
    use.rigid.total += beyond(workload.requests, ends.total);
    for (const auto& [node_class, amounts] : workload.class_requests) {
      const auto same = ends.by_class.find(node_class);
      const kube::Resources none;
      change(use.rigid.by_class, node_class,
             beyond(amounts, same == ends.by_class.end() ? none : same->second), true);
    }
    if (queue == kRoot) return;
    queue = tree.parent(queue);
  }
}

void Usage::change_use(const QueueTree& tree, QueueIndex queue, const Workload& workload,
                       const ClassRequests& classes, bool adds) {
  if (!workload.is_elastic) {
    Use& use = queues_[queue];
    adds ? use.own += workload.requests : use.own -= workload.requests;
    if (tree[queue].fair_users) change(use.users, workload.user, workload.requests, adds);
  }
  while (true) {
    Use& use = queues_[queue];
    use.workloads += adds ? 1 : -1;
    change(workload.is_elastic ? use.elastic : use.rigid, workload.requests, classes, adds);
    if (queue == kRoot) return;
    queue = tree.parent(queue);
  }
}

void Usage::move(const QueueTree& tree, QueueIndex queue, const ClassRequests& from,
                 const ClassRequests& to) {
  if (from == to) return;
  while (true) {
    auto& by_class = queues_[queue].rigid.by_class;
    for (const auto& [node_class, amounts] : to) change(by_class, node_class, amounts, true);
    for (const auto& [node_class, amounts] : from) change(by_class, node_class, amounts, false);
    if (queue == kRoot) return;
    queue = tree.parent(queue);
  }
}

}  // namespace nervex::queue
