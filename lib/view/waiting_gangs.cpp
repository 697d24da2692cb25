#include "view/waiting_gangs.h"

#include <algorithm>
#include <iterator>

namespace nervex::view {

std::vector<const gang::GangStatus*> find_waiting_gangs(const JobSnapshot& seen) {
  std::vector<const gang::GangStatus*> waiting;
  if (!seen.group) return waiting;
  for (const auto& gang : seen.group->status.gangs) {
    if (!gang.planned || gang.healing_since) waiting.push_back(&gang);
  }
  return waiting;
}

const gang::GangStatus* first_waiting_gang(const JobSnapshot& seen) {
  const auto waiting = find_waiting_gangs(seen);
  const auto base = std::find_if(waiting.begin(), waiting.end(), [](const gang::GangStatus* gang) {
    return gang->name == gang::kBaseGang;
  });
  return base != waiting.end() ? *base : waiting.empty() ? nullptr : waiting.front();
}

const job::Condition* find_condition(const JobSnapshot& seen, std::string_view type, bool status) {
  const job::Condition* found = job::find_condition(seen.job.status, type);
  return found != nullptr && found->status == status ? found : nullptr;
}

std::vector<gang::AvoidedNode> avoided_nodes(const JobSnapshot& seen) {
  std::vector<gang::AvoidedNode> avoided;
  if (!seen.group || find_waiting_gangs(seen).empty()) return avoided;
  const auto& all = seen.group->status.avoid;
  std::copy_if(all.begin(), all.end(), std::back_inserter(avoided),
               [&](const gang::AvoidedNode& one) { return one.until > seen.now; });
  return avoided;
}

}  // namespace nervex::view
