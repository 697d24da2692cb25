#include "controller/decide/objects/merged_gangs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "controller/decide/round/set_names.h"

namespace nervex::controller {

namespace {

// The sets of one request's gang, by role and part: "-collector", "-ddp-learner-1".
struct RequestGang {
  std::map<std::string_view, gang::MemberSet*> sets;
  std::optional<std::int64_t> entry;  // of all its slots; nullopt: none has one, or they differ
  bool is_mixed = false;
};

// By the id in their names: the oldest first.
using RequestGangs = std::map<std::int64_t, RequestGang>;

void see_entry(RequestGang& gang, const gang::MemberSet& set, job::Role role,
               const job::WantedSlots& wanted) {
  for (const auto& slot : set.slots) {
    const job::WantedSlot* want = wanted.find(role, slot.ordinal);
    if (want == nullptr || want->entry() == nullptr) {
      gang.is_mixed = true;
    } else if (!gang.entry) {
      gang.entry = want->entry()->id;
    } else {
      gang.is_mixed = gang.is_mixed || gang.entry != want->entry()->id;
    }
  }
}

RequestGangs group_by_request(std::vector<gang::MemberSet>& sets, const job::WantedSlots& wanted) {
  RequestGangs gangs;
  for (auto& set : sets) {
    const auto name = parse_set_name(set.name);
    if (!name || name->id == 0 || set.slots.empty()) continue;
    RequestGang& gang = gangs[name->id];
    gang.sets[std::string_view(set.name).substr(set.gang.size())] = &set;
    see_entry(gang, set, name->role, wanted);
  }
  return gangs;
}

using Pods = std::set<std::pair<job::Role, job::Slot>>;

bool is_settled(const RequestGang& gang, const Pods& pods, const gang::PodGroupStatus& status) {
  const auto* known = gang::find_gang(status, gang.sets.begin()->second->gang);
  if (known == nullptr || !known->committed || !known->planned) return false;
  std::set<gang::SlotKey> placed;
  for (const auto& placement : known->placements) placed.emplace(placement.role, placement.slot);
  return std::all_of(gang.sets.begin(), gang.sets.end(), [&](const auto& part) {
    const gang::MemberSet& set = *part.second;
    return std::all_of(set.slots.begin(), set.slots.end(), [&](const gang::SlotId slot) {
      const job::Slot key{slot.ordinal, slot.incarnation};
      return placed.count({set.role, slot}) != 0 &&
             pods.count({*job::parse_role(set.role), key}) != 0;
    });
  });
}

bool are_alike(const RequestGang& a, const RequestGang& b) {
  return std::equal(a.sets.begin(), a.sets.end(), b.sets.begin(), b.sets.end(),
                    [](const auto& one, const auto& other) {
                      return one.first == other.first && one.second->shape == other.second->shape;
                    });
}

void move_slots(RequestGang& from, RequestGang& to) {
  for (auto& [part, set] : from.sets) {
    auto& slots = to.sets.at(part)->slots;
    slots.insert(slots.end(), set->slots.begin(), set->slots.end());
    set->slots.clear();
  }
}

}  // namespace

void join_merged_gangs(std::vector<gang::MemberSet>& sets, const job::WantedSlots& wanted,
                       const Pods& pods, const gang::PodGroupStatus& status) {
  RequestGangs gangs = group_by_request(sets, wanted);
  std::map<std::int64_t, std::vector<RequestGang*>> by_entry;
  for (auto& [id, gang] : gangs) {
    if (gang.entry && !gang.is_mixed) by_entry[*gang.entry].push_back(&gang);
  }
  for (auto& [entry, same] : by_entry) {
    if (same.size() < 2) continue;     // as nearly always: nothing was merged
    std::vector<RequestGang*> oldest;  // one for each shape
    for (RequestGang* gang : same) {
      if (!is_settled(*gang, pods, status)) continue;
      const auto target =
          std::find_if(oldest.begin(), oldest.end(),
                       [gang](const RequestGang* other) { return are_alike(*gang, *other); });
      if (target == oldest.end()) {
        oldest.push_back(gang);
      } else {
        move_slots(*gang, **target);
      }
    }
  }
}

}  // namespace nervex::controller
