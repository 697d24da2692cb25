// tests/support/fake_clock.h - how does a test control time? A clock that only the test moves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace nervex::testing {

// Starts at 2026-01-01T00:00:00Z; both clocks move together, except in set_back(). Thread-safe.
class FakeClock final : public Clock {
 public:
  static constexpr std::int64_t kStartMs = 1'767'225'600'000;

  SysTime now() const override {
    return SysTime(std::chrono::milliseconds(kStartMs + elapsed_ms_.load() - set_back_ms_.load()));
  }
  MonoTime mono() const override {
    return MonoTime(std::chrono::milliseconds(1'000'000 + elapsed_ms_.load()));
  }
  void advance(std::chrono::milliseconds by) { elapsed_ms_ += by.count(); }
  // Sets only the wall clock back.
  void set_back(std::chrono::milliseconds by) { set_back_ms_ += by.count(); }

 private:
  std::atomic<std::int64_t> elapsed_ms_{0};
  std::atomic<std::int64_t> set_back_ms_{0};
};

}  // namespace nervex::testing
