#include "base/backoff.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>

namespace nervex {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a pause doubles with each failure, up to the longest") {
  struct Case {
    milliseconds first;
    int doublings;
    milliseconds longest;
    milliseconds expected;
  };
  const milliseconds endless = milliseconds::max();
  for (const Case& one : {
           Case{milliseconds(100), 0, milliseconds(30'000), milliseconds(100)},
           Case{milliseconds(100), 1, milliseconds(30'000), milliseconds(200)},
           Case{milliseconds(100), 8, milliseconds(30'000), milliseconds(25'600)},
           Case{milliseconds(100), 9, milliseconds(30'000), milliseconds(30'000)},
           Case{milliseconds(100), -3, milliseconds(30'000), milliseconds(100)},
           Case{milliseconds(500), 0, milliseconds(300), milliseconds(300)},
           Case{milliseconds(0), 1'000, milliseconds(300), milliseconds(0)},
           Case{milliseconds(1), std::numeric_limits<int>::max(), endless, endless},
       }) {
    INFO(one.first.count() << " ms doubled " << one.doublings << " times, at most "
                           << one.longest.count() << " ms");
    CHECK(backoff_delay(one.first, one.doublings, one.longest) == one.expected);
  }
}

}  // namespace
}  // namespace nervex
