#include "base/http/call_limit.h"

#include <thread>

#include <poll.h>
#include <catch2/catch_test_macros.hpp>

namespace nervex {
namespace {

using namespace std::chrono_literals;

MonoTime now() { return SystemClock().mono(); }

bool is_readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return poll(&polled, 1, 0) == 1;
}

TEST_CASE("A call limit is not over before it is set", "[base][limit]") {
  const CallLimit limit;
  CHECK_FALSE(limit.is_over());
  CHECK(limit.time() == MonoTime::max());
  CHECK_FALSE(is_readable(limit.fd()));
}

TEST_CASE("A call limit in the past is over at once, also for pollers", "[base][limit]") {
  for (const MonoTime time : {now() - 1h, MonoTime(), MonoTime::min()}) {
    CallLimit limit;
    limit.set(time);
    CHECK(limit.is_over());
    CHECK(is_readable(limit.fd()));
  }
}

TEST_CASE("The earliest of several call limits applies", "[base][limit]") {
  CallLimit limit;
  const MonoTime early = now() + 1h;
  limit.set(early + 1h);
  limit.set(early);
  limit.set(early + 2h);
  CHECK(limit.time() == early);
  CHECK_FALSE(limit.is_over());
}

TEST_CASE("A sleeper wakes up at the limit, also if it is set during the sleep", "[base][limit]") {
  CallLimit limit;
  const MonoTime start = now();
  {
    const std::jthread sleeper([&] { limit.sleep_until(start + 24h); });
    limit.set(now() + 10ms);
  }
  CHECK(now() < start + 1h);
  CHECK(limit.is_over());
}

TEST_CASE("A sleeper wakes up after its own time", "[base][limit]") {
  const CallLimit limit;
  const MonoTime until = now() + 5ms;
  limit.sleep_until(until);
  CHECK(now() >= until);
  limit.sleep_until(until - 1h);
}

TEST_CASE("One of two descriptors is enough to wake", "[base][limit]") {
  const WakeFd one;
  const WakeFd other;
  const EitherFd either(one.get(), other.get());
  CHECK_FALSE(is_readable(either.get()));
  other.set();
  CHECK(is_readable(either.get()));
  const EitherFd turned(other.get(), one.get());
  CHECK(is_readable(turned.get()));
}

}  // namespace
}  // namespace nervex
