// tests/support/job_snapshots.h - jobs as nervexctl finds them.
#pragma once

#include <map>
#include <string>

#include "tests/support/job_builders.h"
#include "view/job_snapshot.h"

namespace nervex::view {

inline SysTime at(std::string_view text) { return *parse_rfc3339(text); }

inline job::Condition a_condition(std::string type, bool status, std::string message,
                                  std::string_view since = "2026-11-21T14:00:00Z") {
  return {std::move(type), status, "Reason", std::move(message), at(since), 1};
}

inline void add_set(gang::Gang& gang, const std::string& role, int slots, int first) {
  gang::MemberSet& set = gang.members.emplace_back();
  set.name = gang.kind == gang::GangKind::kBase ? role : gang.name + "-" + role;
  set.role = role;
  for (int i = 0; i < slots; ++i) set.slots.push_back({first + i, 0});
}

inline gang::Gang a_request(std::int64_t id, const std::map<std::string, int>& pods_by_role) {
  gang::Gang gang{"request-" + std::to_string(id), gang::GangKind::kRequest, id, 0, {}};
  for (const auto& [role, pods] : pods_by_role) add_set(gang, role, pods, 4096);
  return gang;
}

inline gang::GangStatus a_waiting_gang(std::string name, std::string message) {
  gang::GangStatus gang;
  gang.name = std::move(name);
  gang.reason = gang::kReasonUnschedulable;
  gang.message = std::move(message);
  gang.since = at("2026-11-21T14:00:02Z");
  return gang;
}

inline gang::GangStatus a_planned_gang(std::string name, std::vector<gang::Placement> placements) {
  gang::GangStatus gang;
  gang.name = std::move(name);
  gang.planned = true;
  gang.reason = gang::kReasonPlanned;
  gang.placements = std::move(placements);
  return gang;
}

// rl/dqn with 2 base replicas learners, created at 14:00:00, seen five minutes later; attempt 1.
inline JobSnapshot a_snapshot(job::Phase phase) {
  JobSnapshot seen;
  seen.job = testing::a_job(0, 2);
  seen.job.meta.created = at("2026-11-21T14:00:00Z");
  seen.job.status.phase = phase;
  seen.job.status.attempt = 1;
  if (phase != job::Phase::kNone) {
    job::set_condition(seen.job.status, a_condition(std::string(to_string(phase)), true, ""));
  }
  seen.now = at("2026-11-21T14:05:00Z");
  return seen;
}

// Its PodGroup, observed by the planner, nothing decided yet.
inline gang::PodGroup a_group() {
  gang::PodGroup group;
  group.meta.name = "dqn-1";
  group.meta.generation = 1;
  gang::Gang& base = group.spec.gangs.emplace_back();
  base.name = gang::kBaseGang;
  add_set(base, "coordinator", 1, 0);
  add_set(base, "learner", 2, 0);
  group.status.observed_generation = 1;
  return group;
}

}  // namespace nervex::view
