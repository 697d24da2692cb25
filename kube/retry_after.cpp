#include "kube/retry_after.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace nervex::kube {
namespace {

using std::chrono::seconds;

constexpr seconds kLongest = std::chrono::hours(1);  // whoever says more is not believed
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

seconds clamp(seconds wait) { return std::clamp(wait, seconds(0), kLongest); }

std::optional<seconds> parse_seconds(std::string_view text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (!is_number) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? clamp(seconds(std::min(value, std::int64_t{kLongest.count()})))
                              : kLongest;
}

// "Sun, 06 Nov 1994 08:49:37 GMT": every part at its place. The weekday says nothing new.
std::optional<SysTime> parse_http_date(std::string_view text) {
  constexpr std::string_view kForm = "Sun, 06 Nov 1994 08:49:37 GMT";
  if (text.size() != kForm.size() || text.substr(3, 2) != ", " || !text.ends_with(" GMT")) {
    return std::nullopt;
  }
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  if (month == kMonths.end()) return std::nullopt;
  const auto parsed =
      parse_rfc3339(fmt::format("{}-{:02}-{}T{}Z", text.substr(12, 4), month - kMonths.begin() + 1,
                                text.substr(5, 2), text.substr(17, 8)));
  if (!parsed) return std::nullopt;
  return *parsed;
}

}  // namespace

std::optional<seconds> parse_retry_after(std::string_view text, SysTime now) {
  if (const auto wait = parse_seconds(text)) return wait;
  const auto date = parse_http_date(text);
  if (!date) return std::nullopt;
  return clamp(std::chrono::ceil<seconds>(*date - now));
}

std::optional<seconds> wait_before_repeat(std::string_view method, int status,
                                          std::optional<seconds> retry_after) {
  const bool is_safe = status == 429 || (status >= 500 && method == "GET");
  const bool is_short = retry_after && *retry_after <= kLongestObeyedWait;
  return is_safe && is_short ? retry_after : std::nullopt;
}

}  // namespace nervex::kube
