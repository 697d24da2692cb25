// view/advice.h - what can a user do for a job, and what happens otherwise? Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "view/job_snapshot.h"

namespace nervex::view {

// In order of precedence: the first that applies is the advice.
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
  kPreempting,
  kHealing,
  kFixPods,
  kFixQueue,
  kExceedsLimit,
  kOverLimit,
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
  kFixContainer,
  kStarting,
  kNotReady,
  kReplicasFailed,
  kRunning,
};
std::string_view to_string(AdviceCode code);

struct Advice {
  AdviceCode code = AdviceCode::kRunning;
  bool opening_nodes_helps = false;  // cordoned or unready nodes would help, too
  bool operator==(const Advice&) const = default;
};

// Always returns an advice.
Advice find_advice(const JobSnapshot& seen);

// One or two sentences, with commands.
std::string describe(const Advice& advice, std::string_view ns, std::string_view job);

}  // namespace nervex::view
