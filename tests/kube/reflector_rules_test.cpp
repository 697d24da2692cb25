#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/reflector_rules.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;

TEST_CASE("what comes after a watch, and when", "[kube][reflector]") {
  struct Row {
    std::string when;
    RequestEnd end;
    int failures;
    NextTry want;
  };
  const bool told = true;
  const auto row = GENERATE_COPY(values<Row>({
      {"the server's time-out ended it", {{}, 5min, true, told}, 3, {false, true, 0}},
      {"it ended at once, without an error", {{}, 10ms, true, told}, 3, {false, false, 0}},
      {"it was cut early", {Code::kTransient, 10ms, true, told}, 3, {false, false, 4}},
      {"it was cut late", {Code::kTransient, 5min, true, told}, 3, {false, false, 0}},
      {"it was cut early too often", {Code::kTransient, 10ms, true, told}, 19, {true, false, 20}},
      {"its position is too old", {Code::kExpired, 10ms, true, told}, 0, {true, false, 1}},
      {"it is forbidden", {Code::kForbidden, 10ms, true, false}, 0, {true, false, 1}},
      {"a line could not be read", {Code::kInvalid, 5s, true, told}, 0, {true, false, 0}},
      {"not even a bookmark came", {Code::kTransient, 150s, true, false}, 0, {true, false, 0}},
      {"nothing came, for a short while",
       {Code::kTransient, 60s, true, false},
       0,
       {false, false, 0}},
      {"nothing came, to the time-out", {{}, 5min, true, false}, 0, {true, true, 0}},
      {"a streaming list ended half-way", {{}, 30s, false, told}, 0, {false, false, 0}},
  }));
  INFO("when " << row.when);
  CHECK(after_watch(row.end, row.failures) == row.want);
}

TEST_CASE("streaming lists are given up if they are refused, not if the server is away",
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

}  // namespace
}  // namespace nervex::kube
