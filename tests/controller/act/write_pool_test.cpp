#include "controller/act/write_pool.h"

#include <atomic>
#include <latch>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/wait_until.h"

namespace nervex::controller {
namespace {

TEST_CASE("a pool makes each write of a batch once", "[controller][pool]") {
  const std::size_t count = GENERATE(0U, 1U, 2U, 3U, 17U, 100U);
  const std::size_t threads = GENERATE(0U, 1U, 4U, 16U);
  WritePool pool(threads);
  std::vector<std::atomic<int>> calls(count);
  const auto error = pool.run(count, [&](std::size_t i) {
    ++calls[i];
    return ok();
  });
  CHECK_FALSE(error.has_value());
  for (const auto& n : calls) CHECK(n == 1);
}

TEST_CASE("after a failure no write of the batch begins", "[controller][pool]") {
  struct Row {
    std::size_t bad;  // the first index that fails, as do all after it
    int most_calls;   // those before it, and as many as may be under way then
  };
  const auto row = GENERATE(values<Row>({{0, 1}, {1, 3}, {2, 5}, {3, 7}, {7, 15}, {50, 58}}));
  INFO("bad " << row.bad);
  WritePool pool(8);
  std::atomic<int> calls = 0;
  const auto error = pool.run(1'000, [&](std::size_t i) -> Result<Nothing> {
    ++calls;
    if (i >= row.bad) return Error{Code::kForbidden, std::to_string(i)};
    return ok();
  });
  CHECK(calls > static_cast<int>(row.bad));
  CHECK(calls <= row.most_calls);
  REQUIRE(error.has_value());
  CHECK(error->message == std::to_string(row.bad));
}

TEST_CASE("a pool turns a throw into an error", "[controller][pool]") {
  WritePool pool(GENERATE(0U, 4U));
  const auto error = pool.run(5, [](std::size_t i) -> Result<Nothing> {
    if (i == 2) throw std::runtime_error("broken");
    return ok();
  });
  CHECK(error == Error{Code::kInternal, "broken"});
}

TEST_CASE("the parallel writes of a batch grow with each success, up to the pool's size",
          "[controller][pool]") {
  constexpr int kThreads = 4;
  WritePool pool(kThreads);
  std::atomic<int> ended = 0;
  std::atomic<int> under_way = 0;
  std::atomic<int> most = 0;
  std::atomic<bool> is_slow = true;
  const auto error = pool.run(200, [&](std::size_t) {
    const int now = ++under_way;
    if (now > ended + 1) is_slow = false;  // `ended` is counted before the pool knows of it
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) continue;
    std::this_thread::yield();
    ++ended;
    --under_way;
    return ok();
  });
  CHECK_FALSE(error.has_value());
  CHECK(is_slow);
  CHECK(most <= kThreads);
}

TEST_CASE("one slow write does not block the others of its batch", "[controller][pool]") {
  WritePool pool(4);
  std::atomic<int> ended = 0;
  // The fifth ends when all others have: with a barrier anywhere they never would.
  const auto error = pool.run(50, [&](std::size_t i) -> Result<Nothing> {
    if (i == 4 && !testing::wait_until([&] { return ended == 49; })) {
      return Error{Code::kInternal, "the others waited"};
    }
    ++ended;
    return ok();
  });
  CHECK_FALSE(error.has_value());
}

TEST_CASE("a large batch does not block a small one", "[controller][pool]") {
  WritePool pool(GENERATE(1U, 2U));
  std::atomic<bool> small_is_over = false;
  std::latch begun(1);
  std::optional<Error> ended;
  std::jthread large([&] {
    ended = pool.run(100'000'000, [&](std::size_t i) -> Result<Nothing> {
      if (i == 10) begun.count_down();
      if (small_is_over) return Error{Code::kForbidden, "enough"};
      return ok();
    });
  });
  begun.wait();
  CHECK_FALSE(pool.run(5, [](std::size_t) { return ok(); }).has_value());
  small_is_over = true;
  large.join();
  REQUIRE(ended.has_value());
  CHECK(ended->message == "enough");
}

TEST_CASE("a stopped pool starts no write and answers all callers", "[controller][pool]") {
  WritePool pool(2);
  std::atomic<int> calls = 0;
  const auto error = pool.run(100, [&](std::size_t i) {
    ++calls;
    if (i == 5) pool.stop();
    return ok();
  });
  REQUIRE(error.has_value());
  CHECK(error->code == Code::kTransient);
  CHECK(calls < 10);
  CHECK(pool.run(1, [](std::size_t) { return ok(); })->code == Code::kTransient);
}

TEST_CASE("many callers share a pool", "[controller][pool]") {
  WritePool pool(4);
  std::atomic<int> under_way = 0;
  std::atomic<bool> is_bounded = true;
  std::atomic<int> calls = 0;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 20; ++caller) {
    callers.emplace_back([&, caller] {
      for (int batch = 0; batch < 20; ++batch) {
        const bool fails = (caller + batch) % 5 == 0;
        const auto error = pool.run(20, [&](std::size_t i) -> Result<Nothing> {
          if (++under_way > 4) is_bounded = false;
          ++calls;
          --under_way;
          if (fails && i == 7) return Error{Code::kForbidden, "no"};
          return ok();
        });
        if (error.has_value() != fails) is_bounded = false;
      }
    });
  }
  callers.clear();
  CHECK(is_bounded);
  CHECK(calls >= 16 * 400);
}

}  // namespace
}  // namespace nervex::controller
