#include "base/duration.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace nervex {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongest = std::chrono::hours(24);
constexpr std::int64_t kMaxPeriodSeconds = 100LL * 365 * 24 * 3600;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::optional<milliseconds> unit_named(std::string_view name) {
  if (name == "h") return std::chrono::hours(1);
  if (name == "m") return std::chrono::minutes(1);
  if (name == "s") return std::chrono::seconds(1);
  if (name == "ms") return milliseconds(1);
  return std::nullopt;
}

// Takes one number with its unit from the left. Drops digits below a millisecond.
std::optional<milliseconds> take_part(std::string_view& text) {
  std::int64_t thousandths = 0;
  std::int64_t scale = 1000;  // of the next digit after the point
  bool has_digit = false;
  bool has_point = false;
  std::size_t i = 0;
  for (; i < text.size() && (is_digit(text[i]) || text[i] == '.'); ++i) {
    if (text[i] == '.') {
      if (std::exchange(has_point, true)) return std::nullopt;
      continue;
    }
    has_digit = true;
    if (has_point) {
      scale /= 10;
      thousandths += (text[i] - '0') * scale;
    } else {
      thousandths = thousandths * 10 + std::int64_t{1000} * (text[i] - '0');
    }
    if (thousandths > kLongest.count() * 1000) return std::nullopt;
  }
  std::size_t end = i;
  while (end < text.size() && !is_digit(text[end]) && text[end] != '.') ++end;
  const auto unit = unit_named(text.substr(i, end - i));
  if (!has_digit || !unit) return std::nullopt;
  text.remove_prefix(end);
  return milliseconds(thousandths * unit->count() / 1000);
}

}  // namespace

Result<milliseconds> parse_duration(std::string_view text) {
  if (text == "0") return milliseconds(0);
  milliseconds sum{0};
  std::string_view rest = text;
  do {
    const auto part = take_part(rest);
    if (!part || (sum += *part) > kLongest) {
      return Error{Code::kInvalid,
                   fmt::format("\"{}\" is not a duration such as 15s, 1.5s or 500ms", text)};
    }
  } while (!rest.empty());
  return sum;
}

std::string format_duration(milliseconds duration) {
  return fmt::format("{}s", static_cast<double>(duration.count()) / 1000);
}

Result<std::chrono::seconds> parse_period(std::string_view text) {
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const std::int64_t length = unit == "d"   ? 86400
                              : unit == "h" ? 3600
                              : unit == "m" ? 60
                              : unit == "s" ? 1
                                            : 0;
  if (error != std::errc() || length == 0 || count < 1 || count > kMaxPeriodSeconds / length) {
    return Error{
        Code::kInvalid,
        fmt::format("\"{}\" is not a period: write a number and d, h, m or s, as in 30d", text)};
  }
  return std::chrono::seconds(count * length);
}

namespace {

// "3h", or "3h5m" if the rest is not 0.
std::string two_units(std::int64_t count, char unit, std::int64_t rest, char rest_unit) {
  if (rest == 0) return fmt::format("{}{}", count, unit);
  return fmt::format("{}{}{}{}", count, unit, rest, rest_unit);
}

}  // namespace

// The steps of HumanDuration (k8s.io/apimachinery v0.36, pkg/util/duration): two units while both
// matter.
std::string short_duration(std::chrono::seconds duration) {
  const std::int64_t s = std::max<std::int64_t>(duration.count(), 0);
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  constexpr std::int64_t kYear = 365 * kDay;
  if (s < 2 * kMinute) return fmt::format("{}s", s);
  if (s < 10 * kMinute) return two_units(s / kMinute, 'm', s % kMinute, 's');
  if (s < 3 * kHour) return fmt::format("{}m", s / kMinute);
  if (s < 8 * kHour) return two_units(s / kHour, 'h', s % kHour / kMinute, 'm');
  if (s < 2 * kDay) return fmt::format("{}h", s / kHour);
  if (s < 8 * kDay) return two_units(s / kDay, 'd', s % kDay / kHour, 'h');
  if (s < 2 * kYear) return fmt::format("{}d", s / kDay);
  if (s < 8 * kYear) return two_units(s / kYear, 'y', s % kYear / kDay, 'd');
  return fmt::format("{}y", s / kYear);
}

}  // namespace nervex
