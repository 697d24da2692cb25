// extender/cycle/next_look.h - when is the next decision due, even if nothing changes?
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace nervex::extender {

// `next` is the earliest of several times; nullopt: none.
inline void look_by(std::optional<SysTime>& next, std::optional<SysTime> time) {
  if (time) next = next ? std::min(*next, *time) : *time;
}

}  // namespace nervex::extender
