// controller/decide/failed_write.h - what follows from a failed write? Pure.
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
  // The pod or service of the action whose creation failed permanently (is_definite).
  std::string failed_name{};
  bool is_taken = false;  // the name belongs to another object
  bool is_of_shared_service = false;
  bool had_node_name = false;  // the pod was to be created with its node
  bool goes_on = false;        // passed over: other pods were created, and more may follow
};

// What to write about it, and what to release: a gang whose pods cannot all be created must not
// hold capacity. `is_first`: this failure was not reported before.
Actions handle_failed_write(const Observed& seen, const Failure& failure, bool is_first);

}  // namespace nervex::controller
