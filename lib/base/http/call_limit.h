// base/http/call_limit.h - when must calls to other programs end, once this program stops?
#pragma once

#include <atomic>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/net/socket.h"

namespace nervex {

// One time limit for many waits, initially none. Thread-safe; set() also ends waits in progress. It
// is a timer that every wait polls, not a stop token: a token would have to pass through each verb
// and each fake, and would also cut final writes, such as the release of the Lease. Uses the
// system's clock, since file descriptors cannot wait for another one.
class CallLimit {
 public:
  CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

  // Of several times the earliest applies. A past time takes effect at once.
  void set(MonoTime time);
  MonoTime time() const;  // MonoTime::max(): none
  bool is_over() const { return SystemClock().mono() >= time(); }
  // Readable once the time has come, for poll(). Never read from it.
  int fd() const { return timer_.get(); }
  // Returns at `until`, or at this limit if it is earlier.
  void sleep_until(MonoTime until) const;

 private:
  Mutex setting_;
  std::atomic<MonoTime::rep> time_;
  UniqueFd timer_;
};

}  // namespace nervex
