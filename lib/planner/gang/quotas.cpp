#include "planner/gang/quotas.h"

#include <algorithm>
#include <utility>

namespace nervex::planner {
namespace {

bool has_no_pod(const GroupSeen& seen, const gang::MemberSet& set, gang::SlotId slot) {
  return std::binary_search(seen.without_pod.begin(), seen.without_pod.end(),
                            std::pair(std::string_view(set.role), slot.ordinal));
}

// It is not placed now: GangWork::growing.
bool waits_to_grow(const GangWork& work, const gang::MemberSet& set, gang::SlotId slot) {
  return std::any_of(work.growing.begin(), work.growing.end(), [&](const auto& growing) {
    return growing.name == set.name && gang::wants(growing, set.role, slot);
  });
}

}  // namespace

Quotas::Quotas(const Snapshot& snapshot) : ledger_(snapshot.facts.quotas) {
  if (ledger_.empty()) return;
  for (const GroupSeen& seen : snapshot.groups) {
    if (!ledger_.is_limited(seen.group->meta.ns.str())) continue;
    count_reserved(seen);
    if (seen.without_pod.empty()) continue;
    std::set<gang::SlotKey> placed;
    for (const gang::GangStatus& gang : seen.group->status.gangs) {
      for (const auto& placement : gang.placements) placed.emplace(placement.role, placement.slot);
    }
    for (const gang::MemberSet& set : gang::all_sets(seen.group->spec.gangs)) {
      for (const gang::SlotId slot : set.slots) {
        if (placed.count({set.role, slot}) == 0 || !has_no_pod(seen, set, slot)) continue;
        counted_.emplace(seen.group->meta.uid, set.role, slot);
        add(seen, set, 1);
      }
    }
  }
}

// Counts what the spec still reserves. Capacity that a set of the base gang no longer reserves goes
// to the requests that take it over (reserved_places.h).
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
  for (const gang::Gang& gang : group.spec.gangs) {
    const bool is_base = gang.kind == gang::GangKind::kBase;
    for (const gang::MemberSet& set : gang.members) {
      count(set, set.name, is_base ? set.reserved_pods : set.from_reserved.count);
    }
  }
  for (const gang::Gang& gang : group.spec.gangs) {
    if (gang.kind == gang::GangKind::kBase) continue;
    for (const gang::MemberSet& set : gang.members) {
      if (set.from_reserved.count == 0) continue;
      count(set, set.from_reserved.set, set.from_reserved.count);
    }
  }
}

std::int64_t Quotas::reserved_change(const GangWork& work, const gang::MemberSet& set) const {
  if (work.is_committed()) return 0;  // its reserved capacity stays
  const auto at = reserved_.find({work.seen->group->meta.uid, set.name});
  const std::int64_t counted = at == reserved_.end() ? 0 : at->second;
  return set.reserved_pods - counted;
}

std::optional<gang::NoFit> Quotas::exceeded_by(const GroupSeen& seen, const GangWork& work) const {
  const std::string& ns = seen.group->meta.ns.str();
  if (!ledger_.is_limited(ns)) return std::nullopt;
  std::vector<queue::Pods> pods;
  for (const gang::MemberSet* set : work.sets) {
    const auto new_pods = std::count_if(set->slots.begin(), set->slots.end(), [&](auto slot) {
      return has_no_pod(seen, *set, slot) && !is_counted(seen, *set, slot) &&
             !waits_to_grow(work, *set, slot);
    });
    pods.push_back({&set->shape.requests, new_pods + reserved_change(work, *set)});
  }
  return ledger_.find_exceeded(ns, pods);
}

void Quotas::count(const GroupSeen& seen, const GangWork& work, bool add_them) {
  if (!ledger_.is_limited(seen.group->meta.ns.str())) return;
  const bool is_base = work.kind == gang::GangKind::kBase;
  for (const gang::MemberSet* set : work.sets) {
    std::int64_t& reserved = reserved_[{seen.group->meta.uid, set->name}];
    // Capacity that a request would take over stays reserved while it waits.
    const std::int64_t change = add_them ? reserved_change(work, *set) : is_base ? -reserved : 0;
    reserved += change;
    add(seen, *set, change);
    for (const gang::SlotId slot : set->slots) {
      if (!has_no_pod(seen, *set, slot) || is_counted(seen, *set, slot) == add_them) continue;
      if (add_them && waits_to_grow(work, *set, slot)) continue;
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
  ledger_.plan(seen.group->meta.ns.str(), {&set.shape.requests, pods});
}

}  // namespace nervex::planner
