// base/http/call_limit.h - until when may calls to other programs last, once this one has to stop?
#pragma once

#include <atomic>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/net/socket.h"

namespace nervex {

// A timer that every wait polls, not a stop token: that would have to go through each verb and each
// fake, and would also cut what a program still has to write, such as the release of its Lease.
//
// One time for many waits, not set at first. Thread-safe; waits that have begun before set() end at
// that time, too. The clock is the system's: descriptors cannot wait for another one.
class CallLimit {
 public:
  CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

  // Of several times the earliest counts. A time that has passed is over at once.
  void set(MonoTime time);
  MonoTime time() const;  // MonoTime::max(): none
  bool is_over() const { return SystemClock().mono() >= time(); }
  // Readable once the time has come; for poll(). Never read from it.
  int fd() const { return timer_.get(); }
  // Returns at `until`, or at this limit if that is sooner.
  void sleep_until(MonoTime until) const;

 private:
  Mutex setting_;
  std::atomic<MonoTime::rep> time_;
  UniqueFd timer_;
};

}  // namespace nervex
