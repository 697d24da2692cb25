// base/duration.h - how are durations written and read? "15s", "500ms", "2m30s", "30d". Times of
// day are in base/clock.h.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nervex {

// Go's form (time.ParseDuration), as in Kubernetes' own flags: numbers, optionally with a fraction,
// each with a unit h, m, s or ms; or "0". Not negative, at most a day. kInvalid.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// "15s", "1.5s", "0s": the inverse of parse_duration().
std::string format_duration(std::chrono::milliseconds duration);

// A number of days, hours, minutes or seconds, for long periods: "30d", "36h", "90m", "10s".
// kInvalid: anything else, or more than a hundred years.
Result<std::chrono::seconds> parse_period(std::string_view text);

// As in kubectl: "75s", "2m30s", "45m", "5h10m", "3d4h". Negative durations give "0s".
std::string short_duration(std::chrono::seconds duration);

}  // namespace nervex
