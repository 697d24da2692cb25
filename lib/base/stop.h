// base/stop.h - how does a program end in time?
//
//   StopSignal stop;                       // first in main
//   ...
//   const int exit_code = stop.wait();
//   const Ending ending(flags.shutdown_delay);
//   health.set_stopping();                 // not ready from now on
//   ending.linger();                       // callers learn of it meanwhile
//   api.end_calls_by(ending.calls_end());  // even if the API server hangs
//   server.stop(); ...                     // requests, then workers, probes, the lease
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "base/clock.h"

namespace nervex {

// From the signal to the end of the process. Kubernetes gives 30 s by default, but a scheduler's
// rollout should be faster.
inline constexpr std::chrono::milliseconds kStopLimit{5000};
// Longest time for accepting callers after the signal, so that the rest still fits.
inline constexpr std::chrono::milliseconds kLongestShutdownDelay{3000};

// Blocks SIGTERM and SIGINT for this and all later threads: construct it first in main.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();  // after wait(): logs how long the end took; all later objects of main are
                  // destroyed
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  // Waits for SIGTERM, SIGINT or one of the calls below; returns the exit code. Call only from
  // main.
  int wait();
  // Like a SIGTERM. Thread-safe.
  void trigger();
  // The same, with the exit code of a failure. Thread-safe. No effect after wait() has returned,
  // when the program is already ending.
  void fail();

 private:
  enum class State { kWaiting, kFailed, kStopping };
  std::atomic<State> state_ = State::kWaiting;
  std::optional<MonoTime> told_;  // when wait() returned
};

// The remaining time. From construction on, a second SIGTERM or SIGINT, or the limit, ends the
// process at once with exit code 1. One per process; construct it on the thread that waited.
class Ending {
 public:
  explicit Ending(std::chrono::milliseconds delay);

  // Sleeps for the delay.
  void linger() const;
  // When calls of the API server must end: half of the limit, or a second after the delay.
  MonoTime calls_end() const;
  // The same for the last call, which gives the lease back.
  MonoTime lease_calls_end() const { return calls_end() + std::chrono::milliseconds(500); }

 private:
  const MonoTime began_;
  const std::chrono::milliseconds delay_;
};

}  // namespace nervex
