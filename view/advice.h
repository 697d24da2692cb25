// view/advice.h - what can a user do for a job, or what happens without? Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "view/job_snapshot.h"

namespace nervex::view {

// In the order in which they are looked for: the first that applies is the advice.
enum class AdviceCode {
  kBeingDeleted,
  kSucceeded,
  kScheduleTimeout,
  kDeadlineExceeded,
  kStartTimeout,
  kFailed,
  kNotObserved,
  kSuspended,
  kInvalidName,
  kFixRefusal,
  kFixTemplate,
  kPreviousJobTerminating,
  kPreviousAttemptTerminating,
  kCreatePriorityClass,
  kCreateAggregatorConfig,
  kBackOff,
  kAboutToBeQueued,
  kNotPlanned,
  kPlanTooLarge,
  kHealing,
  kPlanExpired,
  kRefusedByScheduler,
  kExceedsQuota,
  kOverQuota,
  kLowerReplicas,
  kTakeRequestBack,
  kAskForLess,
  kAllowNodes,
  kRequestWaits,
  kWaitForCapacity,
  kRequestRetried,
  kStarting,
  kNotReady,
  kReplicasFailed,
  kRunning,
};
std::string_view to_string(AdviceCode code);

struct Advice {
  AdviceCode code = AdviceCode::kRunning;
  bool opening_nodes_helps = false;  // nodes that are cordoned or not Ready would help, too
  bool operator==(const Advice&) const = default;
};

// Always finds one.
Advice find_advice(const JobSnapshot& seen);

// One or two sentences, with the commands to type.
std::string describe(const Advice& advice, std::string_view ns, std::string_view job);

}  // namespace nervex::view
