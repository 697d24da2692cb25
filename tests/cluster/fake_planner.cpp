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
  for (const auto& set : gang::find_gang(group.spec, gang)->members) {
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
  for (const auto& gang : group.spec.gangs) {
    gangs.push_back(plan_gang_on(group, gang.name, node, group.status.next_placement));
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
