#include "base/http/call_limit.h"

#include <cerrno>

#include <poll.h>
#include <sys/timerfd.h>

namespace nervex {

namespace {

using std::chrono::milliseconds;

// steady_clock is CLOCK_MONOTONIC with both standard libraries on Linux.
itimerspec to_itimerspec(MonoTime time) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  const auto since_boot = std::chrono::nanoseconds(time.time_since_epoch()).count();
  const auto nanos = std::max<std::int64_t>(since_boot, 1);  // 0 would disarm the timer
  itimerspec spec{};
  spec.it_value.tv_sec = nanos / kNanos;
  spec.it_value.tv_nsec = nanos % kNanos;
  return spec;
}

}  // namespace

CallLimit::CallLimit()
    : time_(MonoTime::max().time_since_epoch().count()),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  NERVEX_CHECK(timer_);
}

MonoTime CallLimit::time() const { return MonoTime(MonoTime::duration(time_.load())); }

void CallLimit::set(MonoTime time) {
  const MutexLock lock(setting_);
  if (time >= this->time()) return;
  time_.store(time.time_since_epoch().count());
  const itimerspec spec = to_itimerspec(time);
  NERVEX_CHECK(timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
}

void CallLimit::sleep_until(MonoTime until) const {
  pollfd polled{timer_.get(), POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - SystemClock().mono());
    if (left <= milliseconds(0)) return;
    const auto piece = std::min<milliseconds>(left, std::chrono::hours(1));
    if (poll(&polled, 1, static_cast<int>(piece.count())) > 0) return;
  }
}

}  // namespace nervex
