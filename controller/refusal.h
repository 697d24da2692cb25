// controller/refusal.h - how does a user learn that the API server refused what the job needs?
#pragma once

#include <string>
#include <string_view>

#include "controller/actions.h"
#include "controller/observed.h"

namespace nervex::controller {

// What to write about a creation that will be refused again: the condition PodsCreated=False with
// the API's own words, and an event. None if the job says so already (but for numbers, which may
// change with each try), so that trying again costs no writes.
Actions report_refusal(const job::Job& job, const std::string& words, SysTime now);

}  // namespace nervex::controller
