// extender/act/foreign_writes.h - how do decisions about other operators' gangs reach the API
// server? As nominations of their pods, status of their PodGroups, and Events.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "extender/observe/planner_cache.h"
#include "kube/api.h"
#include "kube/events.h"
#include "planner/foreign/foreign_plan.h"

namespace nervex::extender {

// Used by the planner's thread only; write() sends from a few threads at a time.
class ForeignWrites {
 public:
  ForeignWrites(kube::Api& api, PlannerCache& cache, const Clock& clock, std::size_t parallelism)
      : api_(api), cache_(cache), clock_(clock), parallelism_(parallelism) {}
  ForeignWrites(const ForeignWrites&) = delete;
  ForeignWrites& operator=(const ForeignWrites&) = delete;

  void tell_events_to(kube::EventRecorder& events) { events_ = &events; }
  // `seen`: the input of the decisions. `memory` gets what was written. Returns when to look again:
  // a write failed or is not due yet.
  std::optional<std::chrono::milliseconds> write(
      const std::vector<planner::ForeignGangSeen>& seen,
      const std::vector<planner::ForeignDecision>& decisions, planner::ForeignMemory& memory);

 private:
  // False: one is to be tried again.
  bool note_nominated(const std::vector<planner::NominationWrite>& writes,
                      std::span<const Result<std::string>> results,
                      planner::ForeignMemory::Gang& memory);
  // True: written, or no write was needed.
  bool write_status(const planner::ForeignGangSeen& seen, planner::ForeignMemory::Gang& memory,
                    std::optional<std::chrono::milliseconds>& again);
  void tell(const planner::ForeignDecision& decision);

  kube::Api& api_;
  PlannerCache& cache_;
  const Clock& clock_;
  const std::size_t parallelism_;
  kube::EventRecorder* events_ = nullptr;
};

}  // namespace nervex::extender
