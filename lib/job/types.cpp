#include "job/types.h"

#include <algorithm>

namespace nervex::job {
namespace {

struct RoleName {
  Role role;
  std::string_view name;
};
constexpr std::array<RoleName, 5> kRoles{{{Role::kCoordinator, "coordinator"},
                                          {Role::kAggregator, "aggregator"},
                                          {Role::kCollector, "collector"},
                                          {Role::kLearner, "learner"},
                                          {Role::kDdpLearner, "ddp-learner"}}};

}  // namespace

std::string_view to_string(Role role) {
  for (const auto& row : kRoles) {
    if (row.role == role) return row.name;
  }
  return "";
}

std::optional<Role> parse_role(std::string_view text) {
  for (const auto& row : kRoles) {
    if (row.name == text) return row.role;
  }
  return std::nullopt;
}

std::string_view to_string(ServiceMode mode) {
  switch (mode) {
    case ServiceMode::kNone:
      return "";
    case ServiceMode::kShared:
      return "Shared";
    case ServiceMode::kPerPod:
      return "PerPod";
  }
  return "";
}

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kNone:
      return "";
    case Phase::kCreated:
      return "Created";
    case Phase::kRunning:
      return "Running";
    case Phase::kSucceeded:
      return "Succeeded";
    case Phase::kFailed:
      return "Failed";
  }
  return "";
}

int reservation_seconds(const Job& job) {
  return std::min(job.spec.reservation_seconds,
                  job.status.max_reservation_seconds.value_or(job.spec.reservation_seconds));
}

std::optional<SysTime> reserved_until(const Job& job) {
  // Not status.startTime, which retries keep: each attempt requests its replicas again.
  const Condition* running = find_condition(job.status, to_string(Phase::kRunning));
  if (job.status.phase != Phase::kRunning || running == nullptr || !running->status) {
    return std::nullopt;
  }
  return running->last_transition + std::chrono::seconds(reservation_seconds(job));
}

const Condition* find_condition(const Status& status, std::string_view type) {
  const auto at = std::find_if(status.conditions.begin(), status.conditions.end(),
                               [&](const Condition& c) { return c.type == type; });
  return at == status.conditions.end() ? nullptr : &*at;
}

void set_condition(Status& status, Condition condition) {
  for (auto& old : status.conditions) {
    if (old.type != condition.type) continue;
    if (old.status == condition.status) condition.last_transition = old.last_transition;
    old = std::move(condition);
    return;
  }
  status.conditions.push_back(std::move(condition));
}

}  // namespace nervex::job
