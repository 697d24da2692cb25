#include "queue/admission.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace nervex::queue {
namespace {

__extension__ using Wide = __int128;  // sums of a few amounts never overflow

std::int64_t use_in_class(const ClassedResources& use, std::string_view node_class,
                          std::string_view resource) {
  const auto found = use.by_class.find(node_class);
  return found == use.by_class.end() ? 0 : found->second.get(resource);
}

std::int64_t remaining(std::int64_t amount, Wide use) {
  return use >= amount ? 0 : static_cast<std::int64_t>(amount - std::max<Wide>(use, 0));
}

void lower_cap(ClassCaps& caps, std::string_view resource, std::string_view node_class,
               std::int64_t most) {
  const auto at = std::lower_bound(
      caps.caps.begin(), caps.caps.end(), std::tie(resource, node_class),
      [](const ClassCaps::Cap& cap, const auto& key) {
        return std::tuple<std::string_view, std::string_view>(cap.resource, cap.node_class) < key;
      });
  if (at != caps.caps.end() && at->resource == resource && at->node_class == node_class) {
    at->most = std::min(at->most, most);
  } else {
    caps.caps.insert(at, {std::string(resource), std::string(node_class), most});
  }
}

// A limit on a class guarantees nothing there: only the classes that the quota names stay open.
void close_other_classes(ClassCaps& caps, const ResourceBound& quota) {
  for (ClassCaps::Cap& cap : caps.caps) {
    const bool is_named =
        std::any_of(quota.classes.begin(), quota.classes.end(),
                    [&](const auto& each) { return each.node_class == cap.node_class; });
    if (cap.resource == quota.resource && !is_named) cap.most = 0;
  }
  caps.only_capped.push_back(quota.resource);
}

// Quota left of the resource, on all nodes on which it may be used.
std::int64_t quota_left(const ResourceBound& quota, const ClassedResources& use) {
  if (quota.total) return remaining(*quota.total, use.total.get(quota.resource));
  Wide sum = 0;
  for (const auto& [node_class, amount] : quota.classes) {
    sum += remaining(amount, use_in_class(use, node_class, quota.resource));
  }
  return static_cast<std::int64_t>(std::min<Wide>(sum, std::numeric_limits<std::int64_t>::max()));
}

template <typename Visit>
void visit_path(const QueueTree& tree, QueueIndex queue, const Visit& visit) {
  for (; queue != kRoot; queue = tree.parent(queue)) visit(queue);
}

}  // namespace

std::optional<std::int64_t> ClassCaps::find(std::string_view resource,
                                            std::string_view node_class) const {
  for (const Cap& cap : caps) {
    if (cap.resource == resource && cap.node_class == node_class) return cap.most;
  }
  if (std::binary_search(only_capped.begin(), only_capped.end(), resource)) return 0;
  return std::nullopt;
}

std::optional<Inadmissible> find_inadmissible(const QueueTree& tree, const Usage& usage,
                                              QueueIndex queue, const Workload& workload) {
  if (const Inadmissible* problem = tree.problem(queue)) return *problem;
  return find_exceeded_limit(tree, usage, queue, workload);
}

std::optional<LimitExceeded> find_exceeded_limit(const QueueTree& tree, const Usage& usage,
                                                 QueueIndex queue, const Workload& workload) {
  for (; queue != kRoot; queue = tree.parent(queue)) {
    for (const ResourceBound& limit : tree[queue].limit) {
      const std::int64_t need = workload.requests.get(limit.resource);
      if (!limit.total || need <= 0) continue;
      const Wide used = Wide{usage.rigid(queue).total.get(limit.resource)} +
                        usage.elastic(queue).total.get(limit.resource);
      if (used + need <= *limit.total) continue;
      constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
      return LimitExceeded{tree[queue].name, limit.resource, *limit.total,
                           static_cast<std::int64_t>(std::min(used, kMost)), need};
    }
  }
  return std::nullopt;
}

bool is_within(const ClassCaps& caps, const ClassRequests& requests) {
  return std::all_of(requests.begin(), requests.end(), [&](const auto& one) {
    const auto& amounts = one.second.amounts();
    return std::all_of(amounts.begin(), amounts.end(), [&](const kube::ResourceAmount& amount) {
      const auto most = caps.find(amount.name, one.first);
      return !most || amount.amount <= *most;
    });
  });
}

bool exceeds_limit(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                   const Workload& workload) {
  return find_exceeded_limit(tree, usage, queue, workload) ||
         !is_within(find_caps(tree, usage, queue, workload, std::nullopt), workload.class_requests);
}

bool fits_quota(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                const Workload& workload) {
  if (workload.is_elastic) return false;
  bool is_covered = false;
  for (const ResourceBound& quota : tree.quota(queue)) {
    const std::int64_t need = workload.requests.get(quota.resource);
    if (need <= 0) continue;
    if (need > quota_left(quota, usage.rigid(queue))) return false;
    is_covered = true;
  }
  return is_covered;
}

bool has_quota_left(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                    const Workload& workload) {
  const Bounds& quotas = tree.quota(queue);
  return std::any_of(quotas.begin(), quotas.end(), [&](const ResourceBound& quota) {
    return workload.requests.get(quota.resource) > 0 && quota_left(quota, usage.rigid(queue)) > 0;
  });
}

ClassCaps find_caps(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                    const Workload& workload, std::optional<QueueIndex> guarantor) {
  ClassCaps caps;
  const auto requests = [&](const ResourceBound& bound) {
    return workload.requests.get(bound.resource) > 0;
  };
  visit_path(tree, queue, [&](QueueIndex each) {
    for (const ResourceBound& limit : tree[each].limit) {
      if (!requests(limit)) continue;
      for (const auto& [node_class, amount] : limit.classes) {
        const Wide used = Wide{use_in_class(usage.rigid(each), node_class, limit.resource)} +
                          use_in_class(usage.elastic(each), node_class, limit.resource);
        lower_cap(caps, limit.resource, node_class, remaining(amount, used));
      }
    }
  });
  if (!guarantor) return caps;
  for (const ResourceBound& quota : tree.quota(*guarantor)) {
    if (!requests(quota) || quota.classes.empty()) continue;
    for (const auto& [node_class, amount] : quota.classes) {
      const std::int64_t used = use_in_class(usage.rigid(*guarantor), node_class, quota.resource);
      lower_cap(caps, quota.resource, node_class, remaining(amount, used));
    }
    if (!quota.total) close_other_classes(caps, quota);
  }
  return caps;
}

}  // namespace nervex::queue
