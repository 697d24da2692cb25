#include "demand/initial_gang.h"

#include <utility>
#include <vector>

#include "demand/gangs.h"
#include "demand/member_set.h"

namespace nervex::demand {
namespace {

using job::Role;

void add_reserving_set(gang::Gang& base, const job::Job& job, Role role,
                       const job::PodContext& context) {
  if (find_role_set(base, role) != nullptr || job::role_template(job, role, context).is_null())
    return;
  base.members.push_back(
      make_member_set(job, base, {role, {}, {role, {}, nullptr}, 0, false}, context));
}

}  // namespace

gang::Gang make_initial_gang(const job::Job& job, const job::WantedSlots& slots,
                             const job::PodContext& context) {
  gang::Gang base = base_gang();
  for (const job::WantedSlot& slot : slots.all()) {
    if (slot.entry() != nullptr || slot.is_over || !has_templates(job, slot, context)) continue;
    gang::MemberSet* set = find_role_set(base, slot.role);
    if (set == nullptr) {
      set = &base.members.emplace_back(make_member_set(job, base, slot, context));
    }
    set->slots.push_back({slot.slot.ordinal, slot.slot.incarnation});
  }
  const Reservation reservation{job.spec};
  add_reserving_sets(base, job, reservation, context);
  std::vector<gang::Gang> gangs{std::move(base)};
  reserve_capacity(gangs, {}, reservation);
  return std::move(gangs.front());
}

void add_reserving_sets(gang::Gang& base, const job::Job& job, const Reservation& reservation,
                        const job::PodContext& context) {
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    if (reserved_replicas(reservation, role) > 0) add_reserving_set(base, job, role, context);
  }
  const gang::MemberSet* learners = find_role_set(base, Role::kLearner);
  const bool needs_aggregators = learners != nullptr && has_several_gpus(*learners) &&
                                 reserved_replicas(reservation, Role::kLearner) > 0;
  if (needs_aggregators) add_reserving_set(base, job, Role::kAggregator, context);
}

}  // namespace nervex::demand
