#include "queue/quota.h"

#include <algorithm>
#include <limits>

namespace nervex::queue {
namespace {

// What one pod uses of a quota.
std::int64_t count_use(const kube::Resources& requests, const kube::Quota& quota,
                       const kube::QuotaLimit& limit) {
  const bool is_best_effort = requests.get("cpu") == 0 && requests.get("memory") == 0;
  if (quota.not_best_effort && is_best_effort) return 0;
  return requests.get(limit.resource);
}

template <typename Wide>
std::int64_t narrow(Wide amount) {
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(amount, -kMost, kMost));
}

}  // namespace

QuotaLedger::QuotaLedger(std::span<const QuotaPtr> quotas) {
  for (const QuotaPtr& quota : quotas) {
    for (const kube::QuotaLimit& limit : quota->limits) {
      limits_[quota->meta.ns.str()].push_back({quota.get(), &limit, 0});
    }
  }
}

std::optional<gang::OverQuota> QuotaLedger::find_exceeded(std::string_view ns,
                                                          std::span<const Pods> pods) const {
  const auto limits = limits_.find(ns);
  if (limits == limits_.end()) return std::nullopt;
  for (const auto& [quota, limit, planned] : limits->second) {
    Wide need = 0;
    for (const Pods& some : pods) {
      need += Wide{some.count} * count_use(*some.requests, *quota, *limit);
    }
    const Wide over = limit->used + planned + need - limit->hard;
    if (need <= 0 || over <= 0) continue;
    return gang::OverQuota{quota->meta.name, limit->name,     narrow(over), limit->hard,
                           limit->used,      narrow(planned), narrow(need)};
  }
  return std::nullopt;
}

std::vector<QuotaUse> QuotaLedger::list(std::string_view ns) const {
  std::vector<QuotaUse> all;
  const auto limits = limits_.find(ns);
  if (limits == limits_.end()) return all;
  for (const auto& [quota, limit, planned] : limits->second) {
    all.push_back({quota, limit, narrow(limit->used + planned)});
  }
  return all;
}

void QuotaLedger::plan(std::string_view ns, const Pods& pods) {
  const auto limits = limits_.find(ns);
  if (limits == limits_.end()) return;
  for (Limit& limit : limits->second) {
    limit.planned += Wide{pods.count} * count_use(*pods.requests, *limit.quota, *limit.limit);
  }
}

}  // namespace nervex::queue
