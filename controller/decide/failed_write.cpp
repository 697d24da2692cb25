#include "controller/decide/failed_write.h"

#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/attempt/replacement.h"
#include "controller/decide/attempt/transition.h"
#include "controller/decide/make_round.h"
#include "controller/decide/objects/direct_placement.h"
#include "controller/decide/objects/services.h"
#include "controller/decide/reasons.h"
#include "controller/decide/reconcile.h"

namespace nervex::controller {

namespace {

// The API server gave an answer that will not change by itself.
bool is_definite_creation_failure(const Failure& failure) {
  return failure.event_reason == kFailedCreate && is_definite(failure.error.code);
}

}  // namespace

Actions handle_failed_write(const Observed& seen, const Failure& failure, bool is_first) {
  const std::string& message = failure.error.message;
  // An event alone: its status is not written any more, or cannot be written.
  if (is_final(seen.job.status.phase) || failure.event_reason == kFailedStatusUpdate) {
    return is_first ? Actions{warning_event(failure.event_reason, message)} : Actions{};
  }
  if (failure.is_taken && !failure.is_of_shared_service) {
    if (Actions actions = pass_by_taken_name(seen.job, failure.failed_name); !actions.empty()) {
      return actions;
    }
  }
  if (failure.is_of_shared_service && (failure.is_taken || failure.error.code == Code::kInvalid)) {
    return fall_back_to_per_pod(seen, failure.is_taken ? kServiceNameTaken : kInvalidServiceName,
                                message);
  }
  if (is_definite_creation_failure(failure) && failure.had_node_name && !failure.is_taken) {
    if (Actions actions = fall_back_to_scheduler(seen, message); !actions.empty()) return actions;
  }
  const Round round = make_round(seen);
  if (is_definite_creation_failure(failure) && round.attempt.group != nullptr &&
      !seen.job.meta.deleting) {
    Actions actions = requeue_failed_gang(round, failure.failed_name, message);
    if (!actions.empty()) return actions;
    if (seen.job.status.phase == job::Phase::kCreated) {
      return write_transition(round, requeue_after_failed_creation(round, message));
    }
  }
  return report_failed_write(seen.job, failure.event_reason, message, seen.now);
}

}  // namespace nervex::controller
