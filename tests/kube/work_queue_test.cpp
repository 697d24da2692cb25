#include <atomic>
#include <thread>

#include <catch2/catch_test_macros.hpp>

#include "kube/work_queue.h"
#include "tests/support/fake_clock.h"
#include "tests/support/wait_until.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;

TEST_CASE("keys come out in the order they went in, repeats folded", "[kube][work_queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  for (const auto* key : {"a", "b", "a", "c", "b"}) queue.add(key);
  CHECK(queue.size() == 3);
  CHECK(queue.next() == "a");
  CHECK(queue.next() == "b");
  CHECK(queue.next() == "c");
  CHECK(queue.size() == 0);
}

TEST_CASE("a key added while it is worked on comes again afterwards, once", "[kube][work_queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add("a");
  CHECK(queue.next() == "a");
  queue.add("a");
  queue.add("a");
  CHECK(queue.size() == 0);  // no other thread may have it now
  queue.done("a");
  CHECK(queue.size() == 1);
  CHECK(queue.next() == "a");
  queue.done("a");
  CHECK(queue.size() == 0);
}

TEST_CASE("a delayed key waits for its time", "[kube][work_queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add_after("late", 20ms);
  queue.add_after("early", 10ms);
  queue.add_after("now", 0ms);
  CHECK(queue.next() == "now");
  CHECK(queue.size() == 0);
  clock.advance(10ms);
  CHECK(queue.size() == 1);
  CHECK(queue.next() == "early");
  clock.advance(10ms);
  CHECK(queue.next() == "late");
}

TEST_CASE("of several delays of a key the earliest end counts", "[kube][work_queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add_after("a", 50ms);
  queue.add_after("a", 10ms);
  queue.add_after("a", 30ms);
  clock.advance(10ms);
  CHECK(queue.next() == "a");
  queue.done("a");
  clock.advance(100ms);
  CHECK(queue.size() == 0);
}

TEST_CASE("a delay that ends while the key is worked on is kept for afterwards",
          "[kube][work_queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add("a");
  CHECK(queue.next() == "a");
  queue.add_after("a", 10ms);
  clock.advance(10ms);
  CHECK(queue.size() == 0);
  queue.done("a");
  CHECK(queue.size() == 1);
  CHECK(queue.next() == "a");
}

TEST_CASE("a failed key waits at least as long as the server asked", "[kube][queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  CHECK(queue.add_failed("a", 7s) == 7s);
  CHECK(queue.add_failed("b", 1ms) == 5ms);
  clock.advance(6s);
  CHECK(queue.next() == "b");
  clock.advance(1s);
  CHECK(queue.next() == "a");
}

TEST_CASE("back-off doubles from 5 ms to a minute until the key is forgotten",
          "[kube][work_queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  CHECK(queue.add_failed("a") == 5ms);
  CHECK(queue.add_failed("a") == 10ms);
  CHECK(queue.add_failed("b") == 5ms);  // per key
  CHECK(queue.failures("a") == 2);
  for (int i = 0; i < 100; ++i) queue.add_failed("a");
  CHECK(queue.add_failed("a") == 60s);
  queue.forget("a");
  CHECK(queue.failures("a") == 0);
  CHECK(queue.add_failed("a") == 5ms);
}

TEST_CASE("stats count adds without folded repeats, retries, and what waits",
          "[kube][work_queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add("a");
  queue.add("a");
  queue.add("b");
  queue.add_after("c", 10ms);
  queue.add_failed("d");
  const WorkQueueStats stats = queue.stats();
  CHECK(stats.depth == 2);
  CHECK(stats.adds == 2);
  CHECK(stats.retries == 2);
  CHECK(stats.in_queue == DurationHistogram{});
  CHECK(stats.unfinished_seconds == 0);
}

TEST_CASE("stats tell how long keys waited and were worked on", "[kube][work_queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add("a");
  queue.add_after("b", 500ms);
  clock.advance(2s);  // of b's wait the delay is not the queue's doing
  CHECK(queue.next() == "a");
  CHECK(queue.next() == "b");
  clock.advance(4s);
  CHECK(queue.stats().unfinished_seconds == 8);
  CHECK(queue.stats().longest_running_seconds == 4);
  queue.done("a");
  clock.advance(16s);
  CHECK(queue.stats().unfinished_seconds == 20);
  queue.done("b");
  const WorkQueueStats stats = queue.stats();
  CHECK(stats.in_queue.total() == 2);
  CHECK(stats.in_queue.sum_seconds == 3.5);
  CHECK(stats.in_queue.counts[9] == 2);  // over 1 s, up to 10 s
  CHECK(stats.at_work.sum_seconds == 24);
  CHECK(stats.at_work.counts[9] == 1);
  CHECK(stats.at_work.counts[10] == 1);
  CHECK(stats.unfinished_seconds == 0);
  CHECK(stats.adds == 2);
}

TEST_CASE("a key that is added while it is worked on waits from then on", "[kube][work_queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add("a");
  CHECK(queue.next() == "a");
  queue.add("a");
  clock.advance(3s);
  queue.done("a");
  CHECK(queue.next() == "a");
  CHECK(queue.stats().adds == 2);
  CHECK(queue.stats().in_queue.sum_seconds == 3);
}

TEST_CASE("a duration belongs to the first bucket whose bound it does not exceed",
          "[kube][work_queue]") {
  DurationHistogram histogram;
  for (const double took : {0.0, 1.0, 1.5, 1000.0, 1001.0}) histogram.observe(took);
  CHECK(histogram.counts[0] == 1);
  CHECK(histogram.counts[8] == 1);
  CHECK(histogram.counts[9] == 1);
  CHECK(histogram.counts[11] == 1);
  CHECK(histogram.counts[12] == 1);
  CHECK(histogram.total() == 5);
}

TEST_CASE("shut_down wakes all waiting threads and refuses everything after",
          "[kube][work_queue]") {
  FakeClock clock;
  WorkQueue queue(clock);
  std::atomic<int> ended = 0;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 3; ++i) {
      workers.emplace_back([&] {
        while (queue.next()) {
        }
        ++ended;
      });
    }
    queue.shut_down();
  }
  CHECK(ended == 3);
  queue.add("a");
  queue.add_after("b", 1ms);
  CHECK_FALSE(queue.next());
}

TEST_CASE("a waiting worker gets a key as soon as it is added or due", "[kube][work_queue]") {
  SystemClock clock;
  WorkQueue queue(clock);
  std::atomic<int> worked = 0;
  std::jthread worker([&] {
    while (const auto key = queue.next()) {
      ++worked;
      queue.done(*key);
    }
  });
  queue.add("a");
  CHECK(testing::wait_until([&] { return worked == 1; }));
  queue.add_after("a", 30ms);
  CHECK(testing::wait_until([&] { return worked == 2; }));
  queue.shut_down();
}

// Of two that wait, one watches the clock; it may be the one that an added key takes away.
TEST_CASE("a key that falls due is given out though another worker is busy", "[kube][work_queue]") {
  for (int round = 0; round < 20; ++round) {
    SystemClock clock;
    WorkQueue queue(clock);
    std::atomic<bool> is_busy = false;
    std::atomic<bool> was_late_given = false;
    std::atomic<bool> may_end = false;
    const auto work = [&] {
      while (const auto key = queue.next()) {
        if (*key == "late") was_late_given = true;
        if (*key == "busy") {
          is_busy = true;
          may_end.wait(false);
        }
        queue.done(*key);
      }
    };
    std::jthread one(work);
    std::jthread two(work);
    queue.add_after("late", 20ms);
    queue.add("busy");
    CHECK(testing::wait_until([&] { return is_busy.load(); }));
    CHECK(testing::wait_until([&] { return was_late_given.load(); }));
    may_end = true;
    may_end.notify_all();
    queue.shut_down();
  }
}

TEST_CASE("no key is processed by two workers at once, and no key is lost",
          "[kube][work_queue][property]") {
  SystemClock clock;
  WorkQueue queue(clock);
  constexpr int kKeys = 5;
  std::array<std::atomic<int>, kKeys> busy{};
  std::array<std::atomic<int>, kKeys> asked{};
  std::array<std::atomic<int>, kKeys> seen{};
  std::atomic<bool> overlapped = false;
  std::vector<std::jthread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      while (const auto key = queue.next()) {
        const auto k = static_cast<std::size_t>((*key)[0] - '0');
        if (busy[k]++ != 0) overlapped = true;
        seen[k] = asked[k].load();
        --busy[k];
        queue.done(*key);
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    const auto k = static_cast<std::size_t>(i % kKeys);
    ++asked[k];
    queue.add(std::to_string(k));
  }
  for (std::size_t k = 0; k < kKeys; ++k) {
    CHECK(testing::wait_until([&] { return seen[k] == asked[k]; }));
  }
  queue.shut_down();
  CHECK_FALSE(overlapped);
}

}  // namespace
}  // namespace nervex::kube
