// extender/act/foreign_writes.h - how do the planner's decisions about gangs of other operators get
// to the API server? As nominations of their pods, status of their PodGroups, and Events.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "extender/decide/foreign_plan.h"
#include "extender/observe/plans.h"
#include "kube/api.h"
#include "kube/events.h"

namespace nervex::extender {

// By the planner's thread only; within write() a few threads send at a time.
class ForeignWrites {
 public:
  ForeignWrites(kube::Api& api, Plans& plans, const Clock& clock)
      : api_(api), plans_(plans), clock_(clock) {}
  ForeignWrites(const ForeignWrites&) = delete;
  ForeignWrites& operator=(const ForeignWrites&) = delete;

  void tell_events_to(kube::EventRecorder& events) { events_ = &events; }
  // What was written, for the next decision.
  const ForeignMemory& memory() const { return memory_; }
  // `seen`: what was decided on. Says when to look again: something was not written, or is not due.
  std::optional<std::chrono::milliseconds> write(const std::vector<ForeignGangSeen>& seen,
                                                 std::vector<ForeignDecision> decisions);

 private:
  bool nominate(const std::vector<NominationWrite>& writes, ForeignMemory::Gang& memory);
  // True: written, or it need not be.
  bool write_status(const ForeignGangSeen& seen, ForeignMemory::Gang& memory,
                    std::optional<std::chrono::milliseconds>& again);
  void tell(const ForeignDecision& decision);

  kube::Api& api_;
  Plans& plans_;
  const Clock& clock_;
  kube::EventRecorder* events_ = nullptr;
  ForeignMemory memory_;
};

}  // namespace nervex::extender
