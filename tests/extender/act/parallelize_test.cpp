#include "extender/act/parallelize.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

namespace nervex::extender {
namespace {

TEST_CASE("two calls do not wait for each other", "[extender][parallelize]") {
  std::latch both_have_begun(2);
  parallelize(8, 2, [&](std::size_t) { both_have_begun.arrive_and_wait(); });
}

TEST_CASE("at most so many calls run at a time as the parallelism says",
          "[extender][parallelize]") {
  const std::size_t parallelism = GENERATE(as<std::size_t>{}, 1, 3);
  std::atomic<std::size_t> running{0};
  std::atomic<std::size_t> most{0};
  std::atomic<std::size_t> calls{0};
  parallelize(parallelism, 20, [&](std::size_t) {
    const std::size_t now = ++running;
    for (std::size_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --running;
    ++calls;
  });
  CHECK(calls == 20);
  CHECK(most <= parallelism);
}

TEST_CASE("with a parallelism of one the calls are in order", "[extender][parallelize]") {
  std::vector<std::size_t> order;
  parallelize(1, 20, [&](std::size_t i) { order.push_back(i); });
  REQUIRE(order.size() == 20);
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
}

TEST_CASE("an exception of one call is the caller's", "[extender][parallelize]") {
  const std::size_t parallelism = GENERATE(as<std::size_t>{}, 1, 4);
  std::atomic<int> calls{0};
  CHECK_THROWS_AS(parallelize(parallelism, 1'000,
                              [&](std::size_t) {
                                ++calls;
                                throw std::runtime_error("a bug");
                              }),
                  std::runtime_error);
  CHECK(calls <= static_cast<int>(parallelism));
}

TEST_CASE("without calls nothing happens", "[extender][parallelize]") {
  parallelize(8, 0, [](std::size_t) { FAIL("called"); });
}

}  // namespace
}  // namespace nervex::extender
