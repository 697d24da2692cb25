// cli/interrupt.h - what ends a verb that waits? Ctrl-C, or its --timeout.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

namespace nervex::cli {

inline constexpr int kExitInterrupted = 130;  // 128 + SIGINT, as in shells

// From construction on SIGINT and SIGTERM request a stop; a second one ends the program at once
// with kExitInterrupted. Construct it before other threads, which inherit that these signals are
// blocked.
class Interrupt {
 public:
  explicit Interrupt(std::optional<std::chrono::milliseconds> timeout = std::nullopt);
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  bool is_interrupted() const { return is_interrupted_; }
  bool is_timed_out() const { return is_timed_out_; }

 private:
  void wait(const std::stop_token& end, std::optional<std::chrono::milliseconds> timeout);

  std::stop_source source_;
  std::atomic<bool> is_interrupted_ = false;
  std::atomic<bool> is_timed_out_ = false;
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace nervex::cli
