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
    if (limits_.count(seen.group->meta.ns.str()) == 0) continue;
    count_reserved(seen);
    if (seen.without_pod.empty()) continue;
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

// As much as the spec still asks for. What a set of the base gang has reserved and does not ask for
// any more goes to the requests that take it over (reserved_places.h).
void Quotas::count_reserved(const GroupSeen& seen) {
  const gang::PodGroup& group = *seen.group;
  std::map<std::string_view, std::int64_t> left;
  for (const gang::GangStatus& gang : group.status.gangs) {
    for (const gang::ReservedCapacity& entry : gang.reserved) left[entry.set] += entry.count;
  }
  if (left.empty()) return;
  const auto count = [&](const gang::MemberSet& set, std::string_view from, std::int64_t asked) {
    std::int64_t& has = left[from];
    std::int64_t& counted = reserved_[{group.meta.uid, set.name}];
    const std::int64_t pods = std::clamp<std::int64_t>(asked - counted, 0, has);
    has -= pods;
    counted += pods;
    add(seen, set, pods);
  };
  for (const gang::MemberSet& set : group.spec.members) {
    count(set, set.name, set.gang == gang::kBaseGang ? set.reserved_pods : set.from_reserved.count);
  }
  for (const gang::MemberSet& set : group.spec.members) {
    if (set.gang == gang::kBaseGang || set.from_reserved.count == 0) continue;
    count(set, set.from_reserved.set, set.from_reserved.count);
  }
}

std::int64_t Quotas::reserved_change(const GangWork& work, const gang::MemberSet& set) const {
  if (work.committed) return 0;  // what it has reserved stays as it is
  const auto at = reserved_.find({work.seen->group->meta.uid, set.name});
  const std::int64_t counted = at == reserved_.end() ? 0 : at->second;
  return set.gang == gang::kBaseGang ? set.reserved_pods - counted : -counted;
}

std::optional<placement::NoFit> Quotas::exceeded_by(const GroupSeen& seen,
                                                    const GangWork& work) const {
  const auto limits = limits_.find(seen.group->meta.ns.str());
  if (limits == limits_.end()) return std::nullopt;
  std::vector<std::pair<const gang::MemberSet*, std::int64_t>> pods;
  for (const gang::MemberSet* set : work.sets) {
    const auto new_pods = std::count_if(set->slots.begin(), set->slots.end(), [&](auto slot) {
      return has_no_pod(seen, *set, slot) && !is_counted(seen, *set, slot);
    });
    pods.emplace_back(set, new_pods + reserved_change(work, *set));
  }
  for (const Limit& of : limits->second) {
    Wide need = 0;
    for (const auto& [set, count] : pods) need += Wide{count} * use_of(*set, *of.quota, *of.limit);
    const Wide over = of.limit->used + of.planned + need - of.limit->hard;
    if (need <= 0 || over <= 0) continue;
    return gang::OverQuota{of.quota->meta.name, of.limit->name,     narrow(over), of.limit->hard,
                           of.limit->used,      narrow(of.planned), narrow(need)};
  }
  return std::nullopt;
}

void Quotas::count(const GroupSeen& seen, const GangWork& work, bool add_them) {
  if (limits_.count(seen.group->meta.ns.str()) == 0) return;
  for (const gang::MemberSet* set : work.sets) {
    const bool is_base = set->gang == gang::kBaseGang;
    std::int64_t& reserved = reserved_[{seen.group->meta.uid, set->name}];
    // What a request would take over stays reserved for it while it waits.
    const std::int64_t change = add_them ? reserved_change(work, *set) : is_base ? -reserved : 0;
    reserved += change;
    add(seen, *set, change);
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
