#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/client.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;
using Wait = std::optional<seconds>;

TEST_CASE("Retry-After is a number of seconds or a date", "[kube][retry]") {
  struct Row {
    std::string text;
    Wait want;
  };
  const auto row = GENERATE(values<Row>({
      {"0", 0s},
      {"120", 120s},
      {"3600", 3600s},
      {"3601", 3600s},  // capped: no server may delay us for a day
      {"99999999999999999999999", 3600s},
      {"Sun, 06 Nov 1994 08:49:37 GMT", 37s},
      {"Sun, 06 Nov 1994 08:49:00 GMT", 0s},
      {"Sat, 05 Nov 1994 08:49:00 GMT", 0s},  // over
      {"Mon, 07 Nov 1994 08:49:00 GMT", 3600s},
      {"", std::nullopt},
      {"-1", std::nullopt},
      {"1.5", std::nullopt},
      {" 1", std::nullopt},
      {"soon", std::nullopt},
      {"Sunday, 06-Nov-94 08:49:37 GMT", std::nullopt},
      {"Sun Nov  6 08:49:37 1994", std::nullopt},
      {"Sun, 06 Nov 1994 08:49:37 CET", std::nullopt},
      {"Sun, 31 Feb 1994 08:49:37 GMT", std::nullopt},
      {"Sun, 06 Foo 1994 08:49:37 GMT", std::nullopt},
  }));
  INFO(row.text);
  CHECK(parse_retry_after(row.text, *parse_rfc3339("1994-11-06T08:49:00Z")) == row.want);
}

TEST_CASE("only safe requests with a short Retry-After are retried", "[kube][retry]") {
  struct Row {
    std::string when;
    std::string method;
    int status;
    Wait asked;
    Wait want;
  };
  const auto row = GENERATE(values<Row>({
      {"a refused write is not executed", "POST", 429, 1s, 1s},
      {"a read that failed", "GET", 503, 2s, 2s},
      {"a write that failed may have taken effect", "PATCH", 503, 1s, std::nullopt},
      {"the wait is long", "GET", 429, 3s, std::nullopt},
      {"there is no Retry-After", "GET", 429, std::nullopt, std::nullopt},
      {"it is no failure of the server", "GET", 404, 1s, std::nullopt},
  }));
  INFO("when " << row.when);
  CHECK(wait_before_repeat(row.method, row.status, row.asked) == row.want);
}

}  // namespace
}  // namespace nervex::kube
