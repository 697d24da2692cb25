// base/stop.h - how does a program come to its end, in time?
//
//   StopSignal stop;                       // first in main
//   ...
//   const int exit_code = stop.wait();
//   const Ending ending(flags.shutdown_delay);
//   health.set_stopping();                 // not ready from now on
//   ending.linger();                       // callers learn of it meanwhile
//   api.end_calls_by(ending.calls_end());  // whatever the API server does
//   server.stop(); ...                     // requests, then workers, probes, the lease
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "base/clock.h"

namespace nervex {

// From the signal to the end of the process. Kubernetes gives 30 s by default, but a rollout of a
// scheduler should not take that long.
inline constexpr std::chrono::milliseconds kStopLimit{5000};
// As long as callers may be let in after the signal, so that the rest fits.
inline constexpr std::chrono::milliseconds kLongestShutdownDelay{3000};

// Blocks SIGTERM and SIGINT for this and all later threads, so construct it first in main.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();  // after wait(): logs how long the end took; all later objects of main are
                  // destroyed
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  // Waits for SIGTERM, SIGINT or one of the calls below; returns the exit code. Call from main
  // only.
  int wait();
  // As if SIGTERM had come. Thread-safe.
  void trigger();
  // The same, and the exit code is that of a failure. Thread-safe. Without effect once wait() has
  // returned: the end is under way.
  void fail();

 private:
  enum class State { kWaiting, kFailed, kStopping };
  std::atomic<State> state_ = State::kWaiting;
  std::optional<MonoTime> told_;  // when wait() returned
};

// The time that is left. From its making on, a second SIGTERM or SIGINT ends the process at once,
// and so does the limit: both with exit code 1. One in a process; call from the thread that waited.
class Ending {
 public:
  explicit Ending(std::chrono::milliseconds delay);

  // Sleeps for the delay.
  void linger() const;
  // Calls of the API server must end by then: half of the limit, or a second after the delay.
  MonoTime calls_end() const;
  // But for the last one, which gives the lease back.
  MonoTime lease_calls_end() const { return calls_end() + std::chrono::milliseconds(500); }

 private:
  const MonoTime began_;
  const std::chrono::milliseconds delay_;
};

}  // namespace nervex
