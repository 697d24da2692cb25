// base/duration.h - a length of time as people write and read it: "15s", "500ms", "2m30s", "30d".
// Times of day are in base/clock.h.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nervex {

// Go's form (time.ParseDuration), which Kubernetes' own flags take: numbers, maybe with a fraction,
// each with a unit h, m, s or ms; "0" alone is none. Not negative, at most a day. kInvalid.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// "15s", "1.5s", "0s": what parse_duration() reads back.
std::string format_duration(std::chrono::milliseconds duration);

// A number of days, hours, minutes or seconds, for what lasts: "30d", "36h", "90m", "10s".
// kInvalid: anything else, or more than a hundred years.
Result<std::chrono::seconds> parse_period(std::string_view text);

// As kubectl shows durations: "75s", "2m30s", "45m", "5h10m", "3d4h". Negative ones as "0s".
std::string short_duration(std::chrono::seconds duration);

}  // namespace nervex
