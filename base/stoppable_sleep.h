// base/stoppable_sleep.h - how does a thread wait for some time, and still end when it is told to?
#pragma once

#include <chrono>
#include <stop_token>

namespace nervex {

// Sleeps for `time`, or until `stop` is requested; true if it was.
bool sleep_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop);

}  // namespace nervex
