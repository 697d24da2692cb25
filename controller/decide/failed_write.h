// controller/decide/failed_write.h - what to do about a write that failed? Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "controller/decide/actions.h"
#include "controller/decide/round/observed.h"

namespace nervex::controller {

struct Failure {
  Error error;
  std::string_view event_reason;  // kFailedCreate, kFailedDelete, or "" for other writes
  // Of a pod or service whose creation failed for good (is_definite), one of those of the action.
  std::string failed_name{};
  bool is_taken = false;  // the name belongs to another object
  bool is_of_shared_service = false;
  bool had_node_name = false;  // it is of a pod that was to be created with its node
  bool goes_on = false;  // it was passed over, pods were created, and there may be more to create
};

// What to write about it, and what to take back for it: nothing of a gang whose pods cannot all be
// created goes on holding capacity. `is_first`: this failure was not reported before.
Actions handle_failed_write(const Observed& seen, const Failure& failure, bool is_first);

}  // namespace nervex::controller
