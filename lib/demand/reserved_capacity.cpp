#include "demand/reserved_capacity.h"

#include <algorithm>
#include <string_view>

#include "demand/member_set.h"

namespace nervex::demand {
namespace {

using job::Role;

bool is_of_role(const gang::MemberSet& set, Role role) {
  return set.role == to_string(role) ||
         (role == Role::kLearner && set.role == to_string(Role::kDdpLearner));
}

gang::MemberSet* find_base_set(std::vector<gang::Gang>& gangs, Role role) {
  const auto base = std::find_if(gangs.begin(), gangs.end(), [](const gang::Gang& gang) {
    return gang.kind == gang::GangKind::kBase;
  });
  return base == gangs.end() ? nullptr : find_role_set(*base, role);
}

int taken_over(const std::vector<gang::Gang>& gangs, std::string_view from) {
  int count = 0;
  for (const gang::MemberSet& set : gang::all_sets(gangs)) {
    if (set.from_reserved.set == from) count += set.from_reserved.count;
  }
  return count;
}

// Slots that are no longer wanted need nothing.
void trim(gang::MemberSet& set, bool has_ended) {
  const int slots = has_ended ? 0 : static_cast<int>(set.slots.size());
  set.from_reserved.count = std::min(set.from_reserved.count, slots);
  if (set.from_reserved.count == 0) set.from_reserved = {};
}

// The role's added sets take over as much of `left` as they can. Returns the rest.
int take_over(Role role, const gang::MemberSet& base, int left,
              const std::vector<gang::MemberSet*>& added) {
  for (gang::MemberSet* set : added) {
    const bool may_take =
        is_of_role(*set, role) && set->shape.requests.fits_in(base.shape.requests);
    const int taken = may_take ? std::min(left, static_cast<int>(set->slots.size())) : 0;
    if (taken == 0) continue;
    set->from_reserved = {base.name, taken};
    left -= taken;
  }
  return left;
}

// Follows `total` before the commit; only shrinks after it.
void reserve_for(Role role, int total, std::vector<gang::Gang>& gangs,
                 const std::vector<gang::MemberSet*>& added, const Reservation& reservation) {
  gang::MemberSet* base = find_base_set(gangs, role);
  if (base == nullptr) return;
  int left = reservation.base_is_committed ? base->reserved_pods
                                           : std::max(0, total - taken_over(gangs, base->name));
  if (reservation.has_ended) left = 0;
  left = take_over(role, *base, left, added);
  base->reserved_pods = std::min(left, total);
}

// The number of learners that still have reserved capacity.
int reserved_aggregators(std::vector<gang::Gang>& gangs) {
  const gang::MemberSet* learners = find_base_set(gangs, Role::kLearner);
  return learners != nullptr && has_several_gpus(*learners) ? learners->reserved_pods : 0;
}

}  // namespace

int reserved_replicas(const Reservation& reservation, Role role) {
  const auto& spec = role_spec(reservation.spec, role);
  if (!spec || reservation.has_ended) return 0;
  return std::max(0, spec->reserved_replicas - spec->replicas);
}

void reserve_capacity(std::vector<gang::Gang>& gangs, const std::vector<gang::MemberSet*>& added,
                      const Reservation& reservation) {
  for (gang::MemberSet& set : gang::all_sets(gangs)) trim(set, reservation.has_ended);
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    reserve_for(role, reserved_replicas(reservation, role), gangs, added, reservation);
  }
  reserve_for(Role::kAggregator, reserved_aggregators(gangs), gangs, added, reservation);
}

bool has_several_gpus(const gang::MemberSet& learners) {
  return learners.shape.requests.get("nvidia.com/gpu") > 1;
}

}  // namespace nervex::demand
