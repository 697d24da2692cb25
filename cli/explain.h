// cli/explain.h - how is a job, why does it wait, and what can one do? Values in, text out. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/budgets.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "kube/model/pod.h"

namespace nervex::cli {

struct EventSeen {  // a v1 Event about the job
  SysTime time{};   // when it happened last
  bool warning = false;
  std::string reason;
  std::string message;
  int count = 1;
  bool operator==(const EventSeen&) const = default;
};

// What is known about one job at one moment.
struct JobView {
  job::Job job;
  std::optional<gang::PodGroup> group;  // of the attempt that the status names
  std::vector<kube::Pod> pods;          // all pods of the job, by name
  std::vector<EventSeen> events;        // oldest first
  std::vector<Budget> budgets;          // all PodDisruptionBudgets of the namespace
  SysTime now{};
};

// Several lines for people, newline at the end: phase and reason; what waits, and why; which
// capacity is reserved, and until when; what each
// role wants and has; the planned nodes; pod problems; the last events; what to do.
std::string explain(const JobView& view);

}  // namespace nervex::cli
