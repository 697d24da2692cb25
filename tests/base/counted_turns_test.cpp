#include "base/counted_turns.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex {
namespace {

TEST_CASE("a key runs at most its limit of turns at a time", "[base][turns]") {
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
