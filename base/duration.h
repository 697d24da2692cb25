// base/duration.h - a length of time as people write it: "15s", "1.5s", "500ms", "2m30s".
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

}  // namespace nervex
