#include "cli/view.h"

namespace nervex::cli {

std::vector<const gang::GangStatus*> waiting_gangs(const JobView& view) {
  std::vector<const gang::GangStatus*> waiting;
  if (!view.group) return waiting;
  for (const auto& gang : view.group->status.gangs) {
    if (!gang.planned) waiting.push_back(&gang);
  }
  return waiting;
}

const job::Condition* condition(const JobView& view, std::string_view type, bool status) {
  const job::Condition* found = job::find_condition(view.job.status, type);
  return found != nullptr && found->status == status ? found : nullptr;
}

}  // namespace nervex::cli
