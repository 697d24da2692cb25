#include "extender/decide/quotas.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace nervex::extender {
namespace {

bool has_no_pod(const GroupSeen& seen, const gang::MemberSet& set, gang::SlotId slot) {
  return std::binary_search(seen.without_pod.begin(), seen.without_pod.end(),
                            std::pair(std::string_view(set.role), slot.ordinal));
}

// What one pod of the set uses of a quota.
std::int64_t use_of(const gang::MemberSet& set, const kube::Quota& quota,
                    const kube::QuotaLimit& limit) {
  const kube::Resources& requests = set.shape.requests;
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

Quotas::Quotas(const Snapshot& snapshot) {
  for (const QuotaPtr& quota : snapshot.quotas) {
    for (const kube::QuotaLimit& limit : quota->limits) {
      limits_[quota->meta.ns.str()].push_back({quota.get(), &limit, 0});
    }
  }
  if (limits_.empty()) return;
  for (const GroupSeen& seen : snapshot.groups) {
    if (seen.without_pod.empty() || limits_.count(seen.group->meta.ns.str()) == 0) continue;
    std::set<gang::SlotKey> placed;
    for (const gang::GangStatus& gang : seen.group->status.gangs) {
      for (const auto& placement : gang.placements) placed.emplace(placement.role, placement.slot);
    }
    for (const gang::MemberSet& set : seen.group->spec.members) {
      for (const gang::SlotId slot : set.slots) {
        if (placed.count({set.role, slot}) == 0 || !has_no_pod(seen, set, slot)) continue;
        counted_.emplace(seen.group->meta.uid, set.role, slot);
        add(seen, set, 1);
      }
    }
  }
}

std::optional<gang::NoFit> Quotas::exceeded_by(const GroupSeen& seen, const GangWork& work) const {
  const auto limits = limits_.find(seen.group->meta.ns.str());
  if (limits == limits_.end()) return std::nullopt;
  std::vector<std::pair<const gang::MemberSet*, std::int64_t>> pods;
  for (const gang::MemberSet* set : work.sets) {
    const auto new_pods = std::count_if(set->slots.begin(), set->slots.end(), [&](auto slot) {
      return has_no_pod(seen, *set, slot) && !is_counted(seen, *set, slot);
    });
    pods.emplace_back(set, new_pods);
  }
  for (const Limit& of : limits->second) {
    Wide need = 0;
    for (const auto& [set, count] : pods) need += Wide{count} * use_of(*set, *of.quota, *of.limit);
    const Wide over = of.limit->used + of.planned + need - of.limit->hard;
    if (need <= 0 || over <= 0) continue;
    gang::NoFit no_fit;
    no_fit.resource = of.limit->name;
    no_fit.each = narrow(over);
    no_fit.quota = of.quota->meta.name;
    no_fit.quota_hard = of.limit->hard;
    no_fit.quota_used = of.limit->used;
    no_fit.quota_planned = narrow(of.planned);
    no_fit.quota_need = narrow(need);
    return no_fit;
  }
  return std::nullopt;
}

void Quotas::count(const GroupSeen& seen, const GangWork& work, bool add_them) {
  if (limits_.count(seen.group->meta.ns.str()) == 0) return;
  for (const gang::MemberSet* set : work.sets) {
    for (const gang::SlotId slot : set->slots) {
      if (!has_no_pod(seen, *set, slot) || is_counted(seen, *set, slot) == add_them) continue;
      const auto key =
          std::tuple(std::string_view(seen.group->meta.uid), std::string_view(set->role), slot);
      if (add_them) {
        counted_.insert(key);
      } else {
        counted_.erase(key);
      }
      add(seen, *set, add_them ? 1 : -1);
    }
  }
}

void Quotas::add(const GroupSeen& seen, const gang::MemberSet& set, std::int64_t pods) {
  for (Limit& of : limits_[seen.group->meta.ns.str()]) {
    of.planned += Wide{pods} * use_of(set, *of.quota, *of.limit);
  }
}

}  // namespace nervex::extender
