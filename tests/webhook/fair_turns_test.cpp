#include "webhook/fair_turns.h"

#include <deque>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace nervex::webhook {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime kStart{1h};

TEST_CASE("turns are granted at their rate, after a burst", "[webhook][turns]") {
  FairTurns turns({.per_second = 10, .burst = 3});
  for (int i = 0; i < 3; ++i) CHECK(turns.take(turns.enter("a"), kStart));
  const auto next = turns.enter("a");
  CHECK_FALSE(turns.take(next, kStart));
  CHECK(turns.next_turn(kStart) == kStart + 100ms);
  CHECK_FALSE(turns.take(next, kStart + 99ms));
  CHECK(turns.take(next, kStart + 100ms));
}

TEST_CASE("a caller with many calls does not keep another one waiting", "[webhook][turns]") {
  FairTurns turns({.per_second = 1'000, .burst = 1});
  std::vector<FairTurns::Ticket> flood;
  for (int i = 0; i < 60; ++i) flood.push_back(turns.enter("10.0.0.1"));
  REQUIRE(turns.take(flood[0], kStart));
  REQUIRE(turns.take(flood[1], kStart + 10ms));
  const auto honest = turns.enter("10.0.0.2");
  const auto honest_too = turns.enter("10.0.0.2");
  // Its first is level with the one that came before it, its second with the next.
  CHECK(turns.take(flood[2], kStart + 20ms));
  CHECK(turns.take(honest, kStart + 30ms));
  CHECK(turns.take(flood[3], kStart + 40ms));
  CHECK(turns.take(honest_too, kStart + 50ms));
  CHECK(turns.take(flood[4], kStart + 60ms));
}

TEST_CASE("a call that waits no longer costs its caller no turn", "[webhook][turns]") {
  FairTurns turns({.per_second = 1'000, .burst = 1});
  const auto gone = turns.enter("a");
  turns.leave(gone);
  const auto a = turns.enter("a");
  const auto b = turns.enter("b");
  CHECK(turns.take(a, kStart));
  CHECK(turns.take(b, kStart + 10ms));
}

TEST_CASE("abandoned calls do not accumulate turns", "[webhook][turns]") {
  FairTurns turns({.per_second = 1'000, .burst = 1});
  std::deque<FairTurns::Ticket> flood;
  for (int i = 0; i < 50; ++i) flood.push_back(turns.enter("10.0.0.1"));
  for (int i = 0; i < 500; ++i) {  // the one that has waited for longest
    turns.leave(flood.front());
    flood.pop_front();
    flood.push_back(turns.enter("10.0.0.1"));
  }
  MonoTime now = kStart;
  for (int i = 0; i < 60; ++i) {
    const auto honest = turns.enter("10.0.0.2");
    int before = 0;
    while (!turns.take(honest, now += 10ms)) {
      ++before;
      REQUIRE(turns.take(flood.front(), now));
      flood.pop_front();
      flood.push_back(turns.enter("10.0.0.1"));
    }
    CHECK(before <= 1);
  }
}

TEST_CASE("an address has a limited number of turns under way, which keeps no other one waiting",
          "[webhook][turns]") {
  FairTurns turns({.per_second = 1'000, .burst = 100, .under_way = 2});
  CHECK(turns.take(turns.enter("10.0.0.1"), kStart));
  CHECK(turns.take(turns.enter("10.0.0.1"), kStart));
  const auto third = turns.enter("10.0.0.1");
  const auto fourth = turns.enter("10.0.0.1");
  CHECK_FALSE(turns.take(third, kStart));
  CHECK(turns.take(turns.enter("10.0.0.2"), kStart));
  turns.finish("10.0.0.1");
  CHECK_FALSE(turns.take(fourth, kStart));
  CHECK(turns.take(third, kStart));
  CHECK_FALSE(turns.take(fourth, kStart));
  turns.leave(fourth);
  turns.finish("10.0.0.1");
  turns.finish("10.0.0.1");
  turns.finish("10.0.0.2");
  CHECK(turns.take(turns.enter("10.0.0.1"), kStart));
}

TEST_CASE("an address at its limit accumulates no turns", "[webhook][turns]") {
  FairTurns turns({.per_second = 1'000, .burst = 1'000, .under_way = 1});
  REQUIRE(turns.take(turns.enter("a"), kStart));
  const auto waits = turns.enter("a");
  for (int i = 0; i < 100; ++i) {
    REQUIRE(turns.take(turns.enter("b"), kStart));
    turns.finish("b");
  }
  turns.finish("a");
  const auto other = turns.enter("b");
  REQUIRE(turns.take(waits, kStart));
  turns.finish("a");
  CHECK_FALSE(turns.take(turns.enter("a"), kStart));
  CHECK(turns.take(other, kStart));
}

TEST_CASE("a turn ends with its object, and the next call of the address takes one",
          "[webhook][turns]") {
  QuestionLimit limit({.per_second = 1'000, .burst = 100, .under_way = 1});
  const MonoTime now = SystemClock().mono();
  {
    const auto turn = limit.wait_for_turn("a", now);
    REQUIRE(turn);
    CHECK_FALSE(limit.wait_for_turn("a", now));
    CHECK(limit.wait_for_turn("b", now));
  }
  auto turn = limit.wait_for_turn("a", now);
  REQUIRE(turn);
  *turn = QuestionLimit::Turn();
  CHECK(limit.wait_for_turn("a", now));
}

TEST_CASE("a call without a turn in time gets an error", "[webhook][turns]") {
  QuestionLimit limit({.per_second = 0.001, .burst = 2});
  const MonoTime now = SystemClock().mono();
  CHECK(limit.wait_for_turn("a", now));
  CHECK(limit.wait_for_turn("a", now));
  const auto late = limit.wait_for_turn("a", now);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::kTransient);
}

TEST_CASE("a call that is answered while it waits takes no turn", "[webhook][turns]") {
  QuestionLimit limit({.per_second = 0.001, .burst = 1});
  const MonoTime now = SystemClock().mono();
  CHECK(limit.wait_for_turn("a", now + 1h, [] { return true; }));
  CHECK(limit.wait_for_turn("a", now));
  int looks = 0;
  CHECK(limit.wait_for_turn("a", now + 1h, [&] { return ++looks > 1; }));
}

}  // namespace
}  // namespace nervex::webhook
