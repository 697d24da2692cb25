// kube/retry_after.h - may a refused request be sent again, and how soon? Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace nervex::kube {

// Longer waits are the business of a caller's own back-off: a worker must not sleep in here.
inline constexpr std::chrono::seconds kLongestObeyedWait{2};

// RFC 9110, 10.2.3: "120", or a date like "Sun, 06 Nov 1994 08:49:37 GMT" (the one form that may be
// sent; none of the obsolete ones). From 0 to an hour; nullopt if it is neither.
std::optional<std::chrono::seconds> parse_retry_after(std::string_view text, SysTime now);

// How long to wait before sending the request once more, if that is safe: a 429 was not executed;
// a 5xx may have been, so only a GET is repeated. nullopt: the caller decides.
std::optional<std::chrono::seconds> wait_before_repeat(
    std::string_view method, int status, std::optional<std::chrono::seconds> retry_after);

}  // namespace nervex::kube
