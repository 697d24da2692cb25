// base/clock.h - what time is it, and how does a program wait? The only access to both.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nervex {

using SysTime = std::chrono::sys_time<std::chrono::milliseconds>;  // wall clock, for timestamps
using MonoTime = std::chrono::steady_clock::time_point;            // for durations and deadlines

// An interface, so that tests can set the time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual SysTime now() const = 0;
  virtual MonoTime mono() const = 0;
};

class SystemClock final : public Clock {
 public:
  SysTime now() const override;
  MonoTime mono() const override;
};

// Sleeps for `time` or until `stop` is requested; true if it was requested.
bool sleep_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop);

// metav1.Time: RFC 3339 in UTC with whole seconds, "2026-11-21T13:56:04Z".
std::string to_rfc3339(SysTime time);
// metav1.MicroTime, as Lease and the queue order use it: "2026-11-21T13:56:04.123000Z".
std::string to_rfc3339_micro(SysTime time);
// Reads both forms, also with a numeric zone offset. kInvalid on failure.
Result<SysTime> parse_rfc3339(std::string_view text);

}  // namespace nervex
