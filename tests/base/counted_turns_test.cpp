#include "base/counted_turns.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex {
namespace {

TEST_CASE("each key has as many turns at a time as it may", "[base][turns]") {
  CountedTurns turns(2);
  auto first = turns.begin("a");
  const auto second = turns.begin("a");
  CHECK(first);
  CHECK(second);
  CHECK_FALSE(turns.begin("a"));
  CHECK(turns.begin("b"));  // and ended at once
  first.reset();
  CHECK(turns.begin("a"));
}

}  // namespace
}  // namespace nervex
