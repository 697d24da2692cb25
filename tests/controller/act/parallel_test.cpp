#include "controller/act/perform.h"

#include <atomic>
#include <set>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::controller {
namespace {

TEST_CASE("slow_start calls every index once", "[controller][parallel]") {
  const std::size_t count = GENERATE(0U, 1U, 2U, 3U, 17U, 100U);
  const std::size_t limit = GENERATE(1U, 4U, 16U);
  std::vector<std::atomic<int>> calls(count);
  const auto error = slow_start(count, limit, [&](std::size_t i) {
    ++calls[i];
    return ok();
  });
  CHECK_FALSE(error.has_value());
  for (const auto& n : calls) CHECK(n == 1);
}

TEST_CASE("slow_start doubles until a call fails, then begins no more", "[controller][parallel]") {
  struct Row {
    std::size_t bad;  // the first index that fails
    int want_calls;   // rounds of 1, 2, 4, 8, 8 ...
  };
  const auto row = GENERATE(values<Row>({{0, 1}, {1, 3}, {2, 3}, {3, 7}, {7, 15}, {15, 23}}));
  INFO("bad " << row.bad);
  std::atomic<int> calls = 0;
  const auto error = slow_start(100, 8, [&](std::size_t i) -> Result<Nothing> {
    ++calls;
    if (i >= row.bad) return Error{Code::kForbidden, std::to_string(i)};
    return ok();
  });
  CHECK(calls == row.want_calls);
  REQUIRE(error.has_value());
  CHECK(error->message == std::to_string(row.bad));
}

TEST_CASE("slow_start turns a throw into an error", "[controller][parallel]") {
  const auto error = slow_start(5, 4, [](std::size_t i) -> Result<Nothing> {
    if (i == 2) throw std::runtime_error("broken");
    return ok();
  });
  CHECK(error == Error{Code::kInternal, "broken"});
}

}  // namespace
}  // namespace nervex::controller
