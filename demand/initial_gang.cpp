#include "demand/initial_gang.h"

#include <algorithm>

#include "demand/member_set.h"

namespace nervex::demand {

namespace {

using job::Role;

void add_reserving_set(std::vector<gang::MemberSet>& sets, const job::Job& job, Role role,
                       const job::PodContext& context) {
  if (find_base_set(sets, role) != nullptr || job::role_template(job, role, context).is_null())
    return;
  sets.push_back(make_base_set(job, {role, {}, {role, {}, nullptr}, 0, false}, context));
}

}  // namespace

std::vector<gang::MemberSet> make_initial_gang(const job::Job& job, const job::WantedSlots& slots,
                                               const job::PodContext& context) {
  std::vector<gang::MemberSet> sets;
  for (const job::WantedSlot& slot : slots.all()) {
    if (slot.entry() != nullptr || slot.is_over || !has_templates(job, slot, context)) continue;
    gang::MemberSet* set = find_base_set(sets, slot.role);
    if (set == nullptr) set = &sets.emplace_back(make_base_set(job, slot, context));
    set->slots.push_back({slot.slot.ordinal, slot.slot.incarnation});
  }
  const Reservation reservation{job.spec};
  add_reserving_sets(sets, job, reservation, context);
  reserve_capacity(sets, 0, reservation);
  return sets;
}

void add_reserving_sets(std::vector<gang::MemberSet>& sets, const job::Job& job,
                        const Reservation& reservation, const job::PodContext& context) {
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    if (reserved_replicas(reservation, role) > 0) add_reserving_set(sets, job, role, context);
  }
  const gang::MemberSet* learners = find_base_set(sets, Role::kLearner);
  const bool needs_aggregators = learners != nullptr && has_several_gpus(*learners) &&
                                 reserved_replicas(reservation, Role::kLearner) > 0;
  if (needs_aggregators) add_reserving_set(sets, job, Role::kAggregator, context);
}

}  // namespace nervex::demand
