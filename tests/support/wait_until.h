// tests/support/wait_until.h - has another thread done its work yet?
#pragma once

#include <chrono>
#include <thread>

namespace nervex::testing {

// True as soon as `holds()`; false after `limit`.
template <typename F>
bool wait_until(F holds, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace nervex::testing
