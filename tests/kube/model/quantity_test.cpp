#include <limits>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/quantity.h"

namespace nervex::kube {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST_CASE("parse_quantity reads Kubernetes' grammar exactly", "[kube][quantity]") {
  struct Row {
    std::string when;
    std::string text;
    std::int64_t ones;
    std::int64_t millis;
  };
  const auto row = GENERATE(values<Row>({
      {"a plain number", "8", 8, 8000},
      {"zero", "0", 0, 0},
      {"zero with everything", "-0.00e3", 0, 0},
      {"a plus sign", "+3", 3, 3000},
      {"a fraction, rounded up", "1.5", 2, 1500},
      {"no digit before the point", ".5", 1, 500},
      {"no digit after the point", "5.", 5, 5000},
      {"leading zeros", "007", 7, 7000},
      {"milli", "1500m", 2, 1500},
      {"one milli is one whole, rounded up", "1m", 1, 1},
      {"micro rounds up to a milli", "1u", 1, 1},
      {"nano rounds up to a milli", "1n", 1, 1},
      {"nano, exact", "2000000n", 1, 2},
      {"kilo", "2k", 2000, 2'000'000},
      {"mega", "2M", 2'000'000, 2'000'000'000},
      {"giga with a fraction", "0.5G", 500'000'000, 500'000'000'000},
      {"kibi", "1Ki", 1024, 1'024'000},
      {"kibi with a fraction", "1.5Ki", 1536, 1'536'000},
      {"kibi with a fraction that is no whole byte", "0.1Ki", 103, 102'400},
      {"gibi", "64Gi", 68'719'476'736, 68'719'476'736'000},
      {"a lower-case exponent", "1e3", 1000, 1'000'000},
      {"an upper-case exponent", "12E2", 1200, 1'200'000},
      {"a negative exponent", "1500e-3", 2, 1500},
      {"a signed exponent", "1e+2", 100, 100'000},
      {"a vanishing amount is still something", "1e-99", 1, 1},
      {"negative amounts round away from zero", "-1500m", -2, -1500},
      {"many digits", "0.00000000000000000000000000000000001", 1, 1},
      {"spaces around it", "  1Gi ", 1'073'741'824, 1'073'741'824'000},
      {"spaces of other kinds around it",
       "\xC2\xA0\xE3\x80\x80"
       "2 \xE2\x80\x89",
       2, 2000},
      {"a long exponent", "1e0000003", 1000, 1'000'000},
      {"a vanishing exponent", "1e-2000000000", 1, 1},
      {"zero of any size", "0e2000000000", 0, 0},
      {"an exponent of which 32 bits count", "1e4294967299", 1000, 1'000'000},
      {"no digit at all", "Gi", 0, 0},
      {"a sign alone", "-", 0, 0},
      {"a point alone", ".", 0, 0},
  }));
  INFO("when " << row.when << ": " << row.text);
  const auto ones = parse_quantity(row.text, Scale::kOne);
  const auto millis = parse_quantity(row.text, Scale::kMilli);
  REQUIRE(ones);
  REQUIRE(millis);
  CHECK(*ones == row.ones);
  CHECK(*millis == row.millis);
}

TEST_CASE("parse_quantity is exact up to the last number that fits, which stands for all above",
          "[kube][quantity]") {
  struct Row {
    std::string text;
    Scale scale;
    std::int64_t want;
  };
  const auto row = GENERATE(values<Row>({
      {"9223372036854775807", Scale::kOne, kMax},
      {"9223372036854775.807", Scale::kMilli, kMax},
      {"9E", Scale::kOne, 9'000'000'000'000'000'000},
      {"7Ei", Scale::kOne, 8'070'450'532'247'928'832},
      {"1.0000000000000000001Ei", Scale::kOne, 1'152'921'504'606'846'977},
      {"-9223372036854775807", Scale::kOne, -kMax},
      {"8Ei", Scale::kOne, kMax},
      {"7.99999999999999999999999Ei", Scale::kOne, kMax},
      {"10E", Scale::kOne, kMax},
      {"-10Ei", Scale::kOne, -kMax},
      {"9223372036854775808", Scale::kOne, kMax},
      {"9223372036854775807", Scale::kMilli, kMax},
      {"9223372036854775806.5", Scale::kOne, kMax},
      {"9223372036854775807.5", Scale::kOne, kMax},
      {"1e1000", Scale::kOne, kMax},
      {"0.001e2000000000", Scale::kMilli, kMax},
      {"99999999999999999999999999999999999999999999Ei", Scale::kOne, kMax},
  }));
  INFO(row.text);
  const auto got = parse_quantity(row.text, row.scale);
  REQUIRE(got);
  CHECK(*got == row.want);
}

TEST_CASE("parse_quantity refuses anything but a quantity", "[kube][quantity]") {
  const auto* const text =
      GENERATE("", " ", "\t1", "1\n", "1 Gi", "--1", "1.1.1", "abc", "1K", "1ki", "1kI", "1mi",
               "1i", "1Kii", "1e", "1e+", "1e+-3", "1e1.5", "1e9999999999999999999", "1e3Ki",
               "0x10", "1_000", "1,5", "inf", "NaN", "१", "\xC2", "\xA0");
  INFO("\"" << text << "\"");
  const auto got = parse_quantity(text, Scale::kOne);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == Code::kInvalid);
}

TEST_CASE("is_whole says whether an amount is valid for an extended resource", "[kube][quantity]") {
  CHECK(is_whole("8"));
  CHECK(is_whole("8000m"));
  CHECK(is_whole("0.5Ki"));
  CHECK(is_whole("10E"));
  CHECK(is_whole("15e-1") == false);
  CHECK(is_whole("1m") == false);
  CHECK(is_whole("0.5") == false);
  CHECK(is_whole("eight") == false);
}

TEST_CASE("amounts are formatted readably", "[kube][quantity]") {
  CHECK(format_quantity(8, Scale::kOne) == "8");
  CHECK(format_quantity(500, Scale::kMilli) == "500m");
  CHECK(format_quantity(2000, Scale::kMilli) == "2");
  CHECK(format_quantity(-1500, Scale::kMilli) == "-1500m");
  CHECK(format_bytes(0) == "0");
  CHECK(format_bytes(17'179'869'184) == "16Gi");
  CHECK(format_bytes(1536) == "1536");
  CHECK(format_bytes(1'572'864) == "1536Ki");
  CHECK(format_bytes(1000) == "1000");
  CHECK(format_bytes(-1024) == "-1Ki");
}

}  // namespace
}  // namespace nervex::kube
