#include "tests/cluster/fake_planner.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace nervex::testing {

gang::GangStatus plan_gang_on(const gang::PodGroup& group, std::string_view gang,
                              std::string_view node, std::int64_t& number) {
  gang::GangStatus status;
  const auto* before = gang::find_gang(group.status, gang);
  status.name = gang;
  status.planned = true;
  status.committed = before != nullptr && before->committed;
  status.direct_through = before != nullptr ? before->direct_through : 0;
  status.reason = gang::kReasonPlanned;
  status.message = "all members have places";
  for (const auto& set : group.spec.members) {
    if (set.gang != gang) continue;
    for (const auto slot : set.slots) {
      const auto* placement = gang::find_placement(group.status, set.role, slot);
      status.placements.push_back(
          placement != nullptr ? *placement
                               : gang::Placement{set.role, slot, std::string(node), number++});
    }
  }
  return status;
}

void plan_all(gang::PodGroup& group, std::string_view node) {
  std::vector<gang::GangStatus> gangs;
  for (const auto& set : group.spec.members) {
    const bool is_known = std::any_of(gangs.begin(), gangs.end(),
                                      [&](const auto& gang) { return gang.name == set.gang; });
    if (is_known) continue;
    gangs.push_back(plan_gang_on(group, set.gang, node, group.status.next_placement));
  }
  group.status.gangs = std::move(gangs);
  group.status.observed_generation = group.meta.generation;
}

void commit_directly(gang::PodGroup& group) {
  for (auto& gang : group.status.gangs) {
    if (!group.spec.direct_placement || gang.name != gang::kBaseGang || gang.committed) continue;
    gang.committed = true;
    gang.direct_through = group.status.next_placement - 1;
  }
}

void commit_planned(gang::PodGroup& group) {
  for (auto& gang : group.status.gangs) gang.committed = gang.committed || gang.planned;
}

}  // namespace nervex::testing
