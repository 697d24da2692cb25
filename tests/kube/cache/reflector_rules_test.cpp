#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/cache/reflector_rules.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;

TEST_CASE("the next step after a watch, and its delay", "[kube][reflector]") {
  struct Row {
    std::string when;
    RequestEnd end;
    int failures;
    NextTry want;
  };
  const bool hears = true;
  const auto row = GENERATE_COPY(values<Row>({
      {"the server's time-out ended it", {{}, 5min, true, hears}, 3, {false, true, 0}},
      {"it ended at once, without an error", {{}, 10ms, true, hears}, 3, {false, false, 0}},
      {"it was cut early", {Code::kTransient, 10ms, true, hears}, 3, {false, false, 4}},
      {"it was cut late", {Code::kTransient, 5min, true, hears}, 3, {false, false, 0}},
      {"it was cut early too often", {Code::kTransient, 10ms, true, hears}, 19, {true, false, 20}},
      {"its position is too old", {Code::kExpired, 10ms, true, false}, 0, {true, true, 1}},
      {"the position of the list just made is too old",
       {Code::kExpired, 10ms, true, false, true},
       0,
       {true, false, 1}},
      {"it is forbidden", {Code::kForbidden, 10ms, true, false}, 0, {true, false, 1}},
      {"a line could not be read", {Code::kInvalid, 5s, true, hears}, 0, {true, false, 0}},
      {"not even a bookmark came", {Code::kTransient, 150s, true, false}, 0, {true, false, 0}},
      {"nothing came, for a short while",
       {Code::kTransient, 60s, true, false},
       0,
       {false, false, 0}},
      {"nothing came, to the time-out", {{}, 5min, true, false}, 0, {true, true, 0}},
      {"a streaming list ended half-way", {{}, 30s, false, hears}, 0, {false, false, 0}},
  }));
  INFO("when " << row.when);
  CHECK(after_watch(row.end, row.failures) == row.want);
}

TEST_CASE("streaming lists are turned off if they are refused, not if the server is down",
          "[kube][reflector]") {
  CHECK(refuses_streaming({Code::kInvalid, 1ms, false, false}));
  CHECK_FALSE(refuses_streaming({Code::kInvalid, 1ms, true, true}));  // a broken line, later
  CHECK_FALSE(refuses_streaming({Code::kTransient, 1ms, false, false}));
  CHECK_FALSE(refuses_streaming({Code::kForbidden, 1ms, false, false}));
  CHECK(broke_off({Code::kTransient, 1s, false, true}));
  CHECK(broke_off({{}, 1s, false, false}));
  CHECK_FALSE(broke_off({Code::kTransient, 1s, false, false}));
  CHECK_FALSE(broke_off({Code::kTransient, 1s, true, true}));
}

// ---- has a cache seen all that was stored when a caller asked?

TEST_CASE("without a question nothing is open", "[kube][freshness]") {
  Freshness freshness;
  CHECK_FALSE(freshness.is_open());
  freshness.reached("5");
  CHECK_FALSE(freshness.is_open());
}

TEST_CASE("only a list that was begun after the question answers it", "[kube][freshness]") {
  Freshness freshness;
  const auto before = freshness.asked();
  freshness.ask();
  freshness.listed(before);
  CHECK(freshness.is_open());
  freshness.listed(freshness.asked());
  CHECK_FALSE(freshness.is_open());
}

TEST_CASE("a watch answers once it has reached the version asked for", "[kube][freshness]") {
  Freshness freshness;
  freshness.ask();
  CHECK_FALSE(freshness.is_expecting());
  REQUIRE(freshness.expect(freshness.asked(), "1000", "990"));
  CHECK(freshness.is_expecting());
  freshness.reached("999");
  CHECK(freshness.is_open());
  SECTION("exactly") { freshness.reached("1000"); }
  SECTION("and beyond") { freshness.reached("20000"); }
  CHECK_FALSE(freshness.is_open());
}

TEST_CASE("a watch that is there already needs no wait", "[kube][freshness]") {
  Freshness freshness;
  freshness.ask();
  CHECK(freshness.expect(freshness.asked(), "7", "7"));
  CHECK_FALSE(freshness.is_open());
}

TEST_CASE("a watch that is beyond what is stored has met a restored etcd", "[kube][freshness]") {
  Freshness freshness;
  freshness.ask();
  CHECK_FALSE(freshness.expect(freshness.asked(), "7", "8"));
  CHECK(freshness.is_open());
}

TEST_CASE("versions that are no numbers only equal themselves", "[kube][freshness]") {
  Freshness freshness;
  freshness.ask();
  CHECK(freshness.expect(freshness.asked(), "b", "a"));
  freshness.reached("c");
  CHECK(freshness.is_open());
  freshness.reached("b");
  CHECK_FALSE(freshness.is_open());
}

TEST_CASE("a question asked during an answer stays open", "[kube][freshness]") {
  Freshness freshness;
  freshness.ask();
  const auto first = freshness.asked();
  freshness.ask();
  SECTION("a list") { freshness.listed(first); }
  SECTION("a version") {
    CHECK(freshness.expect(first, "7", "5"));
    CHECK_FALSE(freshness.is_expecting());
    freshness.reached("8");
  }
  CHECK(freshness.is_open());
}

}  // namespace
}  // namespace nervex::kube
