#include "controller/urgency.h"

#include "job/counts.h"
#include "job/disruption.h"

namespace nervex::controller {

bool can_be_coalesced(const kube::Pod& after) {
  const bool is_lost = after.meta.deleting || after.disruption_target || job::was_taken_away(after);
  return !is_lost && job::role_of(after) != job::Role::kCoordinator;
}

}  // namespace nervex::controller
