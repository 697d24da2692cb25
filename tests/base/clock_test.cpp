#include "base/clock.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

namespace nervex {
namespace {

using std::chrono::milliseconds;

SysTime at(std::int64_t unix_milliseconds) { return SysTime(milliseconds(unix_milliseconds)); }

TEST_CASE("parse_rfc3339 reads what Kubernetes and its clients write", "[base][clock]") {
  struct Row {
    std::string when;
    std::string text;
    std::int64_t unix_milliseconds;
  };
  const auto row = GENERATE(values<Row>({
      {"it is the epoch", "1970-01-01T00:00:00Z", 0},
      {"it is a metav1.Time", "2026-11-21T13:56:04Z", 1795269364000},
      {"it is a metav1.MicroTime", "2026-11-21T13:56:04.123000Z", 1795269364123},
      {"digits beyond milliseconds are cut off", "2026-11-21T13:56:04.123999999Z", 1795269364123},
      {"the fraction is short", "2026-11-21T13:56:04.5Z", 1795269364500},
      {"the zone lies east", "2026-11-21T21:56:04+08:00", 1795269364000},
      {"the zone lies west, and it is another day", "2026-11-20T23:26:04-14:30", 1795269364000},
      {"the offset is zero", "2026-11-21T13:56:04+00:00", 1795269364000},
      {"it is a leap day", "2024-02-29T12:00:00Z", 1709208000000},
      {"it lies before the epoch", "1969-12-31T23:59:59.999Z", -1},
  }));
  INFO("when " << row.when);
  const auto time = parse_rfc3339(row.text);
  REQUIRE(time.has_value());
  CHECK(*time == at(row.unix_milliseconds));
}

TEST_CASE("parse_rfc3339 refuses everything else as invalid", "[base][clock]") {
  const auto text = GENERATE(values<std::string>({
      "",
      "now",
      "1795269364",
      "2026-11-21",
      "2026-11-21T13:56:04",        // no zone
      "2026-11-21 13:56:04Z",       // no T
      "2026-11-21t13:56:04z",       // Go refuses lower case too
      "2026-11-21T13:56Z",          // no seconds
      "2026-11-21T13:56:04.Z",      // a point and nothing after it
      "2026-11-21T13:56:04Zjunk",   // more behind it
      "2026-11-21T13:56:04+0800",   // no colon
      "2026-11-21T13:56:04+24:00",  // no such zone
      "2026-02-30T13:56:04Z",       // no such day
      "2025-02-29T13:56:04Z",       // no leap year
      "2026-13-21T13:56:04Z",       // no such month
      "2026-00-21T13:56:04Z",       // no such month
      "2026-11-00T13:56:04Z",       // no such day
      "2026-11-21T24:00:00Z",       // no such hour
      "2026-11-21T13:60:04Z",       // no such minute
      "2026-11-21T13:56:60Z",       // leap second
      "2026-1-21T13:56:04Z",        // too few digits
      "02026-11-21T13:56:04Z",      // too many digits
      "-026-11-21T13:56:04Z",       // a sign
      " 2026-11-21T13:56:04Z",      // a space before it
      "2026-11-21T13:56:04Z ",      // and after it
      std::string("2026-11-21T13:56:04Z\0", 21),
  }));
  INFO("text \"" << text << '"');
  const auto time = parse_rfc3339(text);
  REQUIRE_FALSE(time.has_value());
  CHECK(time.error().code == Code::kInvalid);
}

TEST_CASE("Times are written as metav1.Time and metav1.MicroTime", "[base][clock]") {
  struct Row {
    std::string when;
    std::int64_t unix_milliseconds;
    std::string seconds;
    std::string micro;
  };
  const auto row = GENERATE(values<Row>({
      {"it is the epoch", 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
      {"there are milliseconds", 1795269364123, "2026-11-21T13:56:04Z",
       "2026-11-21T13:56:04.123000Z"},
      {"it lies before the epoch", -1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999000Z"},
  }));
  INFO("when " << row.when);
  CHECK(to_rfc3339(at(row.unix_milliseconds)) == row.seconds);
  CHECK(to_rfc3339_micro(at(row.unix_milliseconds)) == row.micro);
}

TEST_CASE("A formatted time parses to the same value", "[base][clock][property]") {
  // From the year 1700 to 2240.
  const auto unix_milliseconds = GENERATE(
      take(500, random(std::int64_t{-8'520'000'000'000}, std::int64_t{8'520'000'000'000})));
  const SysTime time = at(unix_milliseconds);
  CHECK(*parse_rfc3339(to_rfc3339_micro(time)) == time);
  CHECK(*parse_rfc3339(to_rfc3339(time)) == std::chrono::floor<std::chrono::seconds>(time));
}

TEST_CASE("The system clock's monotonic time does not go back", "[base][clock]") {
  const SystemClock clock;
  const MonoTime before = clock.mono();
  CHECK(clock.mono() >= before);
  CHECK(to_rfc3339(clock.now()) > "2024-01-01T00:00:00Z");
}

}  // namespace
}  // namespace nervex
