// view/job_snapshot.h - what was read of one job, at one time?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "kube/model/pod.h"
#include "view/budgets.h"

namespace nervex::view {

struct Event {     // a v1 Event about the job
  SysTime time{};  // of the last occurrence
  bool is_warning = false;
  std::string reason;
  std::string message;
  int count = 1;
  bool operator==(const Event&) const = default;
};

struct JobSnapshot {
  job::Job job;
  std::optional<gang::PodGroup> group;  // of the attempt that the status names
  std::vector<kube::Pod> pods;          // all pods of the job, by name
  std::vector<Event> events;            // oldest first
  // Of the namespace's other jobs, if nodes are reserved for a gang of this one.
  std::vector<gang::PodGroup> others;
  std::vector<Budget> budgets;  // all PodDisruptionBudgets of the namespace
  SysTime now{};
};

}  // namespace nervex::view
