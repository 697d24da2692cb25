#include "base/expiring_cache.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime kStart{1h};

TEST_CASE("a cache keeps a value until it expires", "[base][cache]") {
  ExpiringCache<int> cache(10'000);
  cache.put("a", 1, 4, kStart + 5s, kStart);
  cache.put("b", 2, 4, kStart + 9s, kStart);
  REQUIRE(cache.find("a", kStart + 4s) != nullptr);
  CHECK(*cache.find("a", kStart + 4s) == 1);
  CHECK(cache.find("a", kStart + 5s) == nullptr);
  CHECK(cache.size() == 1);  // expired entries are removed without a look-up
  CHECK(cache.find("c", kStart + 9s) == nullptr);
  CHECK(cache.size() == 0);
  CHECK(cache.bytes() == 0);
}

TEST_CASE("a cache stays within its byte limit and drops the entries that expire first",
          "[base][cache]") {
  ExpiringCache<std::string> cache(10'000);
  for (int i = 0; i < 100; ++i) {
    cache.put(std::to_string(i), std::string(1'000, 'x'), 1'000, kStart + 1h + i * 1s, kStart);
    CHECK(cache.bytes() <= 10'000);
  }
  CHECK(cache.size() == 8);
  CHECK(cache.find("91", kStart) == nullptr);
  CHECK(cache.find("99", kStart) != nullptr);
}

TEST_CASE("a value that would evict most others is not kept", "[base][cache]") {
  ExpiringCache<int> cache(10'000);
  cache.put("small", 1, 4, kStart + 5s, kStart);
  cache.put("large", 2, 9'000, kStart + 5s, kStart);
  CHECK(cache.find("large", kStart) == nullptr);
  CHECK(cache.find("small", kStart) != nullptr);
}

TEST_CASE("a value takes the place of an older one", "[base][cache]") {
  ExpiringCache<int> cache(10'000);
  cache.put("a", 1, 1'000, kStart + 5s, kStart);
  cache.put("a", 2, 4, kStart + 9s, kStart);
  CHECK(*cache.find("a", kStart + 8s) == 2);
  CHECK(cache.size() == 1);
  CHECK(cache.bytes() < 1'000);
}

}  // namespace
}  // namespace nervex
