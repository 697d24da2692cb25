// extender/cycle/next_look.h - when is the next decision due, even if nothing changes?
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "base/clock.h"

namespace nervex::extender {

// `next` is the earliest of several times; nullopt: none.
inline void look_by(std::optional<SysTime>& next, std::optional<SysTime> time) {
  if (time) next = next ? std::min(*next, *time) : *time;
}

// How often what is said of one waiting gang is made again if only its numbers change: once a
// minute, and less often where so many wait that all of them together would be written more than 50
// times a minute.
inline constexpr std::chrono::milliseconds kShortestRefresh{60'000};
inline std::chrono::milliseconds refresh_period(std::size_t waiting) {
  return std::max(kShortestRefresh, static_cast<int>(waiting) * (kShortestRefresh / 50));
}

}  // namespace nervex::extender
