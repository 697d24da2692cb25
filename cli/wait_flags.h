// cli/wait_flags.h - for how long does a verb wait? --timeout.
#pragma once

#include <chrono>
#include <optional>

#include <CLI/App.hpp>

#include "base/program.h"

namespace nervex::cli {

// 0: without a limit.
inline void add_timeout_flag(CLI::App& command, std::chrono::milliseconds& timeout) {
  add_duration(command, "--timeout", timeout,
               "maximum time to wait, such as 90s, 10m or 2h; 0s: no limit");
}

inline std::optional<std::chrono::milliseconds> to_limit(std::chrono::milliseconds flag) {
  return flag.count() == 0 ? std::nullopt : std::optional(flag);
}

}  // namespace nervex::cli
