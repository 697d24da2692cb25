#include "controller/decide/objects/merged_gangs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

namespace nervex::controller {

namespace {

// The sets with slots of one request's gang, by role and part.
struct RequestGang {
  std::string_view name;
  std::vector<gang::MemberSet*> sets;
  std::optional<std::int64_t> entry;  // of all its slots; nullopt: none has one, or they differ
  bool is_mixed = false;
};

// By request id: the oldest first.
using RequestGangs = std::map<std::int64_t, RequestGang>;

void see_entry(RequestGang& gang, const gang::MemberSet& set, const job::WantedSlots& wanted) {
  const auto role = job::parse_role(set.role);
  for (const auto& slot : set.slots) {
    const job::WantedSlot* want = role ? wanted.find(*role, slot.ordinal) : nullptr;
    if (want == nullptr || want->entry() == nullptr) {
      gang.is_mixed = true;
    } else if (!gang.entry) {
      gang.entry = want->entry()->id;
    } else {
      gang.is_mixed = gang.is_mixed || gang.entry != want->entry()->id;
    }
  }
}

RequestGangs find_request_gangs(std::vector<gang::Gang>& all, const job::WantedSlots& wanted) {
  RequestGangs gangs;
  for (gang::Gang& gang : all) {
    if (gang.kind != gang::GangKind::kRequest) continue;
    RequestGang request{gang.name, {}, std::nullopt, false};
    for (gang::MemberSet& set : gang.members) {
      if (set.slots.empty()) continue;
      request.sets.push_back(&set);
      see_entry(request, set, wanted);
    }
    std::sort(request.sets.begin(), request.sets.end(), [](const auto* a, const auto* b) {
      return std::tie(a->role, a->part) < std::tie(b->role, b->part);
    });
    if (!request.sets.empty()) gangs.emplace(gang.request_id, std::move(request));
  }
  return gangs;
}

using Pods = std::set<std::pair<job::Role, job::Slot>>;

bool is_settled(const RequestGang& gang, const Pods& pods, const gang::PodGroupStatus& status) {
  const auto* known = gang::find_gang(status, gang.name);
  if (known == nullptr || !known->committed || !known->planned) return false;
  std::set<gang::SlotKey> placed;
  for (const auto& placement : known->placements) placed.emplace(placement.role, placement.slot);
  return std::all_of(gang.sets.begin(), gang.sets.end(), [&](const gang::MemberSet* set) {
    const job::Role role = *job::parse_role(set->role);
    return std::all_of(set->slots.begin(), set->slots.end(), [&](const gang::SlotId slot) {
      const job::Slot key{slot.ordinal, slot.incarnation};
      return placed.count({set->role, slot}) != 0 && pods.count({role, key}) != 0;
    });
  });
}

bool are_alike(const RequestGang& a, const RequestGang& b) {
  return std::equal(a.sets.begin(), a.sets.end(), b.sets.begin(), b.sets.end(),
                    [](const gang::MemberSet* one, const gang::MemberSet* other) {
                      return one->role == other->role && one->part == other->part &&
                             one->shape == other->shape;
                    });
}

void move_slots(RequestGang& from, RequestGang& to) {
  for (std::size_t i = 0; i < from.sets.size(); ++i) {
    auto& moved = from.sets[i]->slots;
    auto& slots = to.sets[i]->slots;
    slots.insert(slots.end(), moved.begin(), moved.end());
    moved.clear();
  }
}

}  // namespace

void join_merged_gangs(std::vector<gang::Gang>& gangs, const job::WantedSlots& wanted,
                       const Pods& pods, const gang::PodGroupStatus& status) {
  RequestGangs requests = find_request_gangs(gangs, wanted);
  std::map<std::int64_t, std::vector<RequestGang*>> by_entry;
  for (auto& [id, gang] : requests) {
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
