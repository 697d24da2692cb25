#include "demand/reserved_capacity.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "demand/member_set.h"

namespace nervex::demand {
namespace {

using job::Role;

bool is_of_role(const gang::MemberSet& set, Role role) {
  return set.role == to_string(role) ||
         (role == Role::kLearner && set.role == to_string(Role::kDdpLearner));
}

int taken_over(const std::vector<gang::MemberSet>& sets, std::size_t end, std::string_view from) {
  int count = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (sets[i].from_reserved.set == from) count += sets[i].from_reserved.count;
  }
  return count;
}

// Slots that are no longer wanted need nothing.
void trim(gang::MemberSet& set, bool has_ended) {
  const int slots = has_ended ? 0 : static_cast<int>(set.slots.size());
  set.from_reserved.count = std::min(set.from_reserved.count, slots);
  if (set.from_reserved.count == 0) set.from_reserved = {};
}

// The role's new sets take over as much of `left` as they can. Returns the rest.
int take_over(Role role, const gang::MemberSet& base, int left, std::vector<gang::MemberSet>& sets,
              std::size_t first_new) {
  for (std::size_t i = first_new; i < sets.size(); ++i) {
    gang::MemberSet& set = sets[i];
    const bool may_take = set.gang != gang::kBaseGang && is_of_role(set, role) &&
                          set.shape.requests.fits_in(base.shape.requests);
    const int taken = may_take ? std::min(left, static_cast<int>(set.slots.size())) : 0;
    if (taken == 0) continue;
    set.from_reserved = {base.name, taken};
    left -= taken;
  }
  return left;
}

// Follows `total` before the commit; only shrinks after it.
void reserve_for(Role role, int total, std::vector<gang::MemberSet>& sets, std::size_t first_new,
                 const Reservation& reservation) {
  gang::MemberSet* base = find_base_set(sets, role);
  if (base == nullptr) return;
  int left = reservation.base_is_committed
                 ? base->reserved_pods
                 : std::max(0, total - taken_over(sets, first_new, base->name));
  if (reservation.has_ended) left = 0;
  left = take_over(role, *base, left, sets, first_new);
  base->reserved_pods = std::min(left, total);
}

// The number of learners that still have reserved capacity.
int reserved_aggregators(std::vector<gang::MemberSet>& sets) {
  const gang::MemberSet* learners = find_base_set(sets, Role::kLearner);
  return learners != nullptr && has_several_gpus(*learners) ? learners->reserved_pods : 0;
}

}  // namespace

int reserved_replicas(const Reservation& reservation, Role role) {
  const auto& spec = role_spec(reservation.spec, role);
  if (!spec || reservation.has_ended) return 0;
  return std::max(0, spec->reserved_replicas - spec->replicas);
}

void reserve_capacity(std::vector<gang::MemberSet>& sets, std::size_t first_new,
                      const Reservation& reservation) {
  for (auto& set : sets) trim(set, reservation.has_ended);
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    reserve_for(role, reserved_replicas(reservation, role), sets, first_new, reservation);
  }
  reserve_for(Role::kAggregator, reserved_aggregators(sets), sets, first_new, reservation);
}

bool has_several_gpus(const gang::MemberSet& learners) {
  return learners.shape.requests.get("nvidia.com/gpu") > 1;
}

}  // namespace nervex::demand
