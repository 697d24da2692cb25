// planner/facts/next_look.h - when is the next decision due, even if nothing changes?
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace nervex::planner {

// `next` is the earliest of several times; nullopt: none.
inline void look_by(std::optional<SysTime>& next, std::optional<SysTime> time) {
  if (time) next = next ? std::min(*next, *time) : *time;
}

// When the next cycle is due, even if nothing changes: the earliest of what its steps ask for.
class NextLook {
 public:
  void at(std::optional<SysTime> time) { look_by(time_, time); }
  std::optional<SysTime> time() const { return time_; }

 private:
  std::optional<SysTime> time_;
};

// How often what is said of one waiting gang is made again if only its numbers change: once a
// minute. Where more wait than kMostRefreshes, they take turns, so that not more of them are
// planned and written in a minute. The turn follows from the UID of the PodGroup.
inline constexpr std::chrono::milliseconds kShortestRefresh{60'000};
inline constexpr std::size_t kMostRefreshes = 50;
inline std::chrono::milliseconds refresh_period(std::size_t waiting, std::string_view uid) {
  if (waiting <= kMostRefreshes) return kShortestRefresh;
  constexpr std::size_t kTurns = 1'024;
  const auto turn = static_cast<int>(std::hash<std::string_view>()(uid) % kTurns);
  const auto period =
      kShortestRefresh * static_cast<int>(waiting) / static_cast<int>(kMostRefreshes);
  return period + period * turn / static_cast<int>(kTurns);
}

}  // namespace nervex::planner
