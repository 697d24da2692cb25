#include "controller/requests_lost.h"

#include "controller/reasons.h"

namespace nervex::controller {

bool is_behind_status(const job::Job& job) {
  return job.spec.requests.next_collector < job.status.next_collector ||
         job.spec.requests.next_learner < job.status.next_learner;
}

// The condition remembers a loss: True in the attempt that it happened in, False in those that
// follow until the counters have caught up.
bool requests_lost(const job::Job& job) {
  const auto* known = find_condition(job.status, kRequestsLost);
  return known != nullptr ? known->status : is_behind_status(job);
}

}  // namespace nervex::controller
