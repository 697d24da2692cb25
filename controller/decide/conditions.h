// controller/decide/conditions.h - what is said about a job in metav1.Conditions, and in its Reason
// column?
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "controller/decide/attempt_transition.h"
#include "controller/decide/round.h"

namespace nervex::controller {

// Sets the conditions and the reason of a job that goes on, from its phase and counts in `status`.
// No two contradict each other; `nothing_to_create` ends a PodsCreated=False.
void set_conditions(const Round& round, bool nothing_to_create, job::Status& status);

// How long until the first pod that is not bound is worth a word; nullopt: no such pod, or it is
// already.
std::optional<std::chrono::seconds> time_until_late(const Round& round);

// Those of a job that ends here, in the phase that `status` has.
void set_final_conditions(const Observed& seen, const AttemptResult& verdict, job::Status& status);

bool is_true(const job::Status& status, std::string_view type);
// PodsCreated=False says that the API server refuses to create something.
bool is_creation_refused(const job::Status& status);

// A condition with the observed generation and, if it is new or turns, the time of now.
void set_condition(const Observed& seen, job::Status& status, std::string_view type, bool is_true,
                   std::string_view reason, std::string message);

// metav1.Time has whole seconds: so that what is written equals what is read.
SysTime whole_seconds(SysTime time);

}  // namespace nervex::controller
