#include "cli/roles.h"

#include <array>

namespace nervex::cli {
namespace {

using job::Role;

std::size_t wanted_by_group(const gang::PodGroup& group, Role role) {
  std::size_t slots = 0;
  for (const auto& set : group.spec.members) {
    if (set.role == to_string(role)) slots += set.slots.size();
  }
  return slots;
}

std::size_t wanted_by_job(const job::Job& job, Role role) {
  if (role == Role::kCoordinator) return 1;
  if (role == Role::kAggregator) return 0;
  const auto& spec = role_spec(job.spec, role);
  if (!spec) return 0;
  std::size_t slots = static_cast<std::size_t>(spec->replicas);
  for (const auto& entry : job.spec.requests.entries) {
    if (entry.role == role && entry.attempt == job.status.attempt) slots += entry.slots.size();
  }
  return slots;
}

std::size_t placed(const JobView& view, Role role) {
  std::size_t count = 0;
  if (!view.group) return count;
  for (const auto& gang : view.group->status.gangs) {
    for (const auto& place : gang.placements) count += place.role == to_string(role) ? 1 : 0;
  }
  return count;
}

struct RoleRow {
  Role role;
  const job::RoleCounts job::Status::*counts;
};
constexpr std::array<RoleRow, 4> kRoles{{{Role::kCoordinator, &job::Status::coordinator},
                                         {Role::kAggregator, &job::Status::aggregator},
                                         {Role::kCollector, &job::Status::collector},
                                         {Role::kLearner, &job::Status::learner}}};

}  // namespace

Rows role_rows(const JobView& view) {
  Rows rows = {{"ROLE", "WANTED", "PLACED", "RUNNING", "SUCCEEDED", "FAILED"}};
  for (const auto& [role, counts_of] : kRoles) {
    const auto wanted =
        view.group ? wanted_by_group(*view.group, role) : wanted_by_job(view.job, role);
    const job::RoleCounts& counts = view.job.status.*counts_of;
    if (wanted == 0 && counts == job::RoleCounts{}) continue;
    rows.push_back({std::string(to_string(role)), std::to_string(wanted),
                    std::to_string(placed(view, role)), std::to_string(counts.active),
                    std::to_string(counts.succeeded), std::to_string(counts.failed)});
  }
  if (rows.size() == 1) rows.clear();  // no heading over nothing
  return rows;
}

}  // namespace nervex::cli
