#include "base/duration.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a duration is read as Go reads it", "[base][duration]") {
  struct Row {
    std::string text;
    std::chrono::milliseconds want;
  };
  const auto row = GENERATE(values<Row>({{"0", 0s},
                                         {"0s", 0s},
                                         {"15s", 15s},
                                         {"1.5s", 1500ms},
                                         {"500ms", 500ms},
                                         {"2m30s", 150s},
                                         {"1h", 1h},
                                         {"0.25s", 250ms},
                                         {".5s", 500ms},
                                         {"1.s", 1s},
                                         {"0.0001s", 0ms},
                                         {"24h", 24h}}));
  INFO(row.text);
  const auto parsed = parse_duration(row.text);
  REQUIRE(parsed);
  CHECK(*parsed == row.want);
}

TEST_CASE("a text that is not a duration is refused and quoted in the error", "[base][duration]") {
  const std::string text = GENERATE("", "15", "s", "-1s", "+1s", "1 s", "1s ", "1d", "1..5s", ".s",
                                    "1e3s", "25h", "99999999999999999999h", "1s1", "\xff");
  INFO(text);
  const auto parsed = parse_duration(text);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Code::kInvalid);
  CHECK(parsed.error().message.find(text) != std::string::npos);
}

TEST_CASE("a formatted duration parses to the same value", "[base][duration]") {
  const std::chrono::milliseconds duration = GENERATE(0ms, 500ms, 1500ms, 15'000ms, 86'400'000ms);
  const auto back = parse_duration(format_duration(duration));
  REQUIRE(back);
  CHECK(*back == duration);
}

TEST_CASE("a period is a number and a unit", "[base][duration]") {
  CHECK(*parse_period("30d") == std::chrono::days(30));
  CHECK(*parse_period("36h") == std::chrono::hours(36));
  CHECK(*parse_period("90m") == std::chrono::minutes(90));
  CHECK(*parse_period("10s") == std::chrono::seconds(10));
  const auto wrong =
      GENERATE("", "d", "30", "30 d", "-1d", "0d", "1.5h", "30days", "99999999999999d", "36501d");
  INFO(wrong);
  CHECK_FALSE(parse_period(wrong));
}

TEST_CASE("a duration is formatted as kubectl does", "[base][duration]") {
  using std::chrono::seconds;
  CHECK(short_duration(seconds(-3)) == "0s");
  CHECK(short_duration(seconds(119)) == "119s");
  CHECK(short_duration(seconds(120)) == "2m");
  CHECK(short_duration(seconds(150)) == "2m30s");
  CHECK(short_duration(seconds(300)) == "5m");
  CHECK(short_duration(seconds(3599)) == "59m");
  CHECK(short_duration(seconds(3 * 3600)) == "3h");
  CHECK(short_duration(seconds(5 * 3600 + 600)) == "5h10m");
  CHECK(short_duration(seconds(8 * 3600 + 600)) == "8h");
  CHECK(short_duration(seconds(48 * 3600)) == "2d");
  CHECK(short_duration(seconds(3 * 86400 + 4 * 3600)) == "3d4h");
  CHECK(short_duration(seconds(30 * 86400)) == "30d");
  CHECK(short_duration(seconds(729 * 86400)) == "729d");
  CHECK(short_duration(seconds(730 * 86400)) == "2y");
  CHECK(short_duration(seconds(731 * 86400)) == "2y1d");
  CHECK(short_duration(seconds(9 * 365 * 86400L)) == "9y");
}

}  // namespace
}  // namespace nervex
