// controller/decide/reconcile.h - what to do next for one NerveXJob? Pure.
#pragma once

#include <chrono>
#include <optional>

#include "controller/decide/actions.h"
#include "controller/decide/attempt/transition.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

struct Decision {
  Actions actions;  // in order; the first failure stops the rest
  // Look again even if nothing changes. Follows from times in the status alone.
  std::optional<std::chrono::milliseconds> requeue_after;
  bool is_transition = false;  // the status written begins or ends something: what follows is due
};

// Level-based: looks at what is there, not at which event woke the worker. Doing its actions and
// asking again comes to rest within a few rounds, with none left (reconcile_property_test.cpp).
// At most one UpdateStatus. One that ends the job or its attempt is the only action but for events;
// what is left to clean up follows when it has been observed.
[[nodiscard]] Decision reconcile(const Round& round);
[[nodiscard]] Decision reconcile(const Observed& seen);

// The one status write that ends an attempt or the job (transition.h), and its event.
Actions write_transition(const Round& round, AttemptTransition transition);

}  // namespace nervex::controller
