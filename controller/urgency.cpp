#include "controller/urgency.h"

#include "job/counts.h"

namespace nervex::controller {

bool can_wait(const kube::Pod& after) {
  const job::PodState state = job::state_of(after);
  const bool goes_on = state == job::PodState::kPending || state == job::PodState::kRunning;
  return goes_on && !after.disruption_target && job::role_of(after) != job::Role::kCoordinator;
}

}  // namespace nervex::controller
