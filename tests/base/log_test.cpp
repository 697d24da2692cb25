#include "base/log.h"

#include <random>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/captured_stderr.h"

namespace nervex {
namespace {

const SysTime kTime = *parse_rfc3339("2026-11-21T13:56:04.123Z");

std::string format_value(std::string value) {
  const LogField field{"k", std::move(value)};
  return log_line(LogFormat::kText, kTime, LogLevel::kInfo, "m", {&field, 1})
      .substr(std::string("2026-11-21T13:56:04.123Z info m k=").size());
}

TEST_CASE("A text line holds time, level, message and the fields in order", "[base][log]") {
  const std::vector<LogField> fields{{"pod", "dqn-0"}, {"node", "gpu-1"}};
  CHECK(log_line(LogFormat::kText, kTime, LogLevel::kWarn, "pod created", fields) ==
        "2026-11-21T13:56:04.123Z warn pod created pod=dqn-0 node=gpu-1");
}

TEST_CASE("A JSON line holds time, level, message and the fields in order", "[base][log]") {
  const std::vector<LogField> fields{{"pod", "dqn-0"}, {"node", "gpu-1"}};
  CHECK(log_line(LogFormat::kJson, kTime, LogLevel::kError, "pod \"x\"", fields) ==
        R"({"ts":"2026-11-21T13:56:04.123Z","level":"error","msg":"pod \"x\"",)"
        R"("pod":"dqn-0","node":"gpu-1"})");
}

TEST_CASE("A text value is quoted and escaped where it must be", "[base][log]") {
  struct Row {
    std::string when;
    std::string value;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"it is one word", "a/b:c,d", "a/b:c,d"},
      {"it is empty", "", R"("")"},
      {"it has a space", "a b", R"("a b")"},
      {"it looks like a field", "a=b", R"("a=b")"},
      {"it has a quote and a backslash", R"(a"b\)", R"("a\"b\\")"},
      {"it has line ends", "a\r\nb\tc", R"("a\r\nb\tc")"},
      {"it would colour a terminal", "\x1b[31mred", R"("\x1b[31mred")"},
      {"it has a NUL", std::string("a\0b", 3), R"("a\x00b")"},
      {"it has a DEL", "a\x7f", R"("a\x7f")"},
      {"it is UTF-8", "\xe4\xbd\xa0\xf0\x9f\x9a\x80", "\"\xe4\xbd\xa0\xf0\x9f\x9a\x80\""},
      {"it has a control character of Unicode", "\xc2\x9b", R"("\xc2\x9b")"},
      {"it has a line separator", "\xe2\x80\xa8", R"("\xe2\x80\xa8")"},
      {"it turns the writing direction", "\xe2\x80\xae", R"("\xe2\x80\xae")"},
      {"it isolates a writing direction", "\xe2\x81\xa6", R"("\xe2\x81\xa6")"},
      {"it has an en dash", "\xe2\x80\x93", "\"\xe2\x80\x93\""},
      {"it is Latin-1", "\xe9t\xe9", R"("\xe9t\xe9")"},
      {"it is cut inside a character", "\xe4\xbd", R"("\xe4\xbd")"},
      {"it is an overlong slash", "\xc0\xaf", R"("\xc0\xaf")"},
      {"it is a surrogate", "\xed\xa0\x80", R"("\xed\xa0\x80")"},
  }));
  INFO("when " << row.when);
  CHECK(format_value(row.value) == row.want);
}

TEST_CASE("The message is escaped as well, so that no event fakes another", "[base][log]") {
  CHECK(log_line(LogFormat::kText, kTime, LogLevel::kInfo, "a\nb", {}) ==
        "2026-11-21T13:56:04.123Z info a\\nb");
}

TEST_CASE("Any bytes stay one line, and valid JSON", "[base][log][property]") {
  const auto seed = GENERATE(take(200, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  std::string value(rng() % 40, '\0');
  for (char& c : value) c = static_cast<char>(rng());
  const LogField field{"k", value};

  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  const auto text = log_line(LogFormat::kText, kTime, LogLevel::kInfo, value, {&field, 1});
  CHECK(std::none_of(text.begin(), text.end(), is_control));
  // nlohmann refuses text that is not UTF-8, so this also checks that.
  CHECK_NOTHROW(nlohmann::json(text).dump());
  const auto json = log_line(LogFormat::kJson, kTime, LogLevel::kInfo, value, {&field, 1});
  CHECK(std::none_of(json.begin(), json.end(), is_control));
  CHECK(nlohmann::json::parse(json).at("k").is_string());
}

TEST_CASE("Events go to stderr from the level on that was set", "[base][log]") {
  const testing::CapturedStderr captured;
  init_logging(LogLevel::kWarn, LogFormat::kJson);
  log_info("not seen");
  log_warn("seen", {{"n", "1"}});
  set_log_level(LogLevel::kDebug);
  log_debug("seen too", {{"bad", "\xff"}});
  init_logging(LogLevel::kError, LogFormat::kText);
  log_warn("not seen");
  log_error("last");
  init_logging(LogLevel::kInfo, LogFormat::kText);

  const auto lines = captured.lines();
  REQUIRE(lines.size() == 3);
  CHECK(nlohmann::json::parse(lines[0]).at("n") == "1");
  CHECK(nlohmann::json::parse(lines[1]).at("level") == "debug");
  CHECK(lines[2].ends_with("Z error last"));
}

TEST_CASE("A limit lets a few lines a second through and counts the others", "[base][log]") {
  using namespace std::chrono_literals;
  LogLimit limit(2);
  const MonoTime start{1h};
  CHECK(limit.admit(start) == 0);
  CHECK(limit.admit(start) == 0);
  for (int i = 0; i < 5; ++i) CHECK_FALSE(limit.admit(start + 999ms));
  CHECK(limit.admit(start + 1s) == 5);
  CHECK(limit.admit(start + 1s) == 0);
  CHECK_FALSE(limit.admit(start + 1s));
}

}  // namespace
}  // namespace nervex
