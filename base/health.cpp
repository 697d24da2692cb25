#include "base/health.h"

#include <utility>

#include <fmt/format.h>

namespace nervex {

void Health::add_live(std::string name, Check check) {
  live_.push_back({std::move(name), std::move(check)});
}

void Health::add_ready(std::string name, Check check) {
  ready_.push_back({std::move(name), std::move(check)});
}

std::string Health::not_live() const { return failed(live_); }

std::string Health::not_ready() const {
  std::string reasons = stopping_ ? "stopping: the program was told to end\n" : "";
  return reasons + failed(ready_);
}

std::string Health::failed(const std::vector<Named>& checks) {
  std::string reasons;
  for (const auto& [name, check] : checks) {
    const std::string reason = check();
    if (!reason.empty()) reasons += fmt::format("{}: {}\n", name, reason);
  }
  return reasons;
}

}  // namespace nervex
