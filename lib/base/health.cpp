#include "base/health.h"

#include <utility>

#include <fmt/format.h>

namespace nervex {
namespace {

Result<Nothing> fails_if_any(std::string failures) {
  if (failures.empty()) return ok();
  return Error{Code::kTransient, std::move(failures)};
}

}  // namespace

void Health::add_live(std::string name, Check check) {
  live_.push_back({std::move(name), std::move(check)});
}

void Health::add_ready(std::string name, Check check) {
  ready_.push_back({std::move(name), std::move(check)});
}

Result<Nothing> Health::check_live() const { return fails_if_any(collect_failures(live_)); }

Result<Nothing> Health::check_ready() const {
  const std::string stopping = stopping_ ? "shutting down\n" : "";
  return fails_if_any(stopping + collect_failures(ready_));
}

std::string Health::collect_failures(const std::vector<Named>& checks) {
  std::string failures;
  for (const auto& [name, check] : checks) {
    const auto passed = check();
    if (!passed) failures += fmt::format("{}: {}\n", name, passed.error().message);
  }
  return failures;
}

}  // namespace nervex
