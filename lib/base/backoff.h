// base/backoff.h - how long is the pause after so many failures?
#pragma once

#include <algorithm>
#include <chrono>

namespace nervex {

// `first`, doubled so many times, and never more than `longest`. Without overflow; a negative
// number counts as 0.
constexpr std::chrono::milliseconds backoff_delay(std::chrono::milliseconds first, int doublings,
                                                  std::chrono::milliseconds longest) {
  std::chrono::milliseconds delay = std::min(first, longest);
  for (; doublings > 0 && delay > std::chrono::milliseconds::zero() && delay < longest;
       --doublings) {
    delay = delay > longest - delay ? longest : delay * 2;
  }
  return delay;
}

}  // namespace nervex
