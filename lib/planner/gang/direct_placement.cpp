#include "planner/gang/direct_placement.h"

#include <algorithm>

namespace nervex::planner {

bool may_commit_when_planned(const GangWork& work) {
  const bool is_asked = work.seen->group->spec.direct_placement &&
                        work.kind == gang::GangKind::kBase && !work.is_committed();
  if (!is_asked || !work.is_whole()) return false;
  if (work.before != nullptr && work.before->refusals.count > 0) return false;
  const auto& sets = work.sets;
  // Which volume a claim gets, how many a node can have, and which devices its pods get, is
  // kube-scheduler's to know.
  const bool has_claims = std::any_of(sets.begin(), sets.end(), [](const gang::MemberSet* set) {
    return !set->shape.claims.empty();
  });
  return !has_claims && work.delegated.empty() &&
         std::any_of(sets.begin(), sets.end(), [](const gang::MemberSet* set) {
           return !set->bind_last && !set->slots.empty();
         });
}

void commit_directly(gang::GangStatus& gang) {
  gang.committed = true;
  gang.refusals = {};
  for (const gang::Placement& placement : gang.placements) {
    gang.direct_through = std::max(gang.direct_through, placement.number);
  }
}

bool is_committed_directly(const gang::PodGroupStatus& before, const gang::GangStatus& after) {
  const gang::GangStatus* known = gang::find_gang(before, after.name);
  return after.committed && after.direct_through > 0 && (known == nullptr || !known->committed);
}

}  // namespace nervex::planner
