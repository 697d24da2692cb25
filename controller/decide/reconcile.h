// controller/decide/reconcile.h - which actions does one NerveXJob need next? Pure.
#pragma once

#include <chrono>
#include <optional>

#include "controller/decide/actions.h"
#include "controller/decide/attempt/transition.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

struct Decision {
  Actions actions;  // in order; the first failure stops the rest
  // Look again even if nothing changes: follows from times in the status, or other jobs matter.
  std::optional<std::chrono::milliseconds> requeue_after;
  bool is_transition = false;  // the written status begins or ends something: the next step is due
};

// An empty status stands for attempt 1 that has not begun. Gives the job the status that it would
// have got before any of its objects was created, with the place in the queue that its PodGroup
// has. So a start needs no status write before its objects.
void begin_job(Observed& seen);

// Level-based: looks at the objects, not at the event that woke the worker. Repeated rounds with
// their actions done end after a few, with no actions left (reconcile_property_test.cpp). At most
// one UpdateStatus. One that ends the job or its attempt is the only action except for events;
// clean-up follows when it has been observed.
[[nodiscard]] Decision reconcile(const Round& round);
// With begin_job(), if need be.
[[nodiscard]] Decision reconcile(const Observed& seen);

// The one status write that ends an attempt or the job (transition.h), and its event.
Actions write_transition(const Round& round, AttemptTransition transition);

}  // namespace nervex::controller
