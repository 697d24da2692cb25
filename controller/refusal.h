// controller/refusal.h - how does a user learn that the API server refused what the job needs?
#pragma once

#include <string>
#include <string_view>

#include "controller/actions.h"
#include "controller/observed.h"

namespace nervex::controller {

// What to write about a write that keeps failing: the condition PodsCreated=False with `reason`,
// kFailedCreate or kFailedDelete, and the API's own words, and an event. None if the job says so
// already (but for numbers, which may change with each try), so that trying again costs no writes.
// reconcile.h ends the condition when nothing is left to write.
Actions report_refusal(const job::Job& job, std::string_view reason, const std::string& message,
                       SysTime now);

// The same request will be refused again: what it asks for is wrong, or not allowed.
bool is_definite(Code code);

// Is a failure worth telling of, after so many failed rounds in a row before this one? At once if
// the answer will be the same again. What may pass by itself, the second time; a cache that lags
// behind, which is part of every controller's day, only when it does not catch up.
bool is_worth_telling(Code code, int failures_before);

}  // namespace nervex::controller
