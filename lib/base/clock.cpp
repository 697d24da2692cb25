#include "base/clock.h"

#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include <fmt/format.h>

namespace nervex {

namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Parses text from the left, piece by piece. A failed take consumes nothing.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Exactly `width` digits, as RFC 3339 requires: "4" is not a month.
  std::optional<int> take_number(std::size_t width, int max) {
    if (rest_.size() < width || count_digits() < width) return std::nullopt;
    int value = 0;
    std::from_chars(rest_.data(), rest_.data() + width, value);
    if (value > max) return std::nullopt;
    rest_.remove_prefix(width);
    return value;
  }

  // ".123456789": at least one digit; digits below a millisecond are dropped.
  std::optional<milliseconds> take_fraction() {
    const std::size_t digits = count_digits();
    if (digits == 0) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < 3; ++i) value = value * 10 + (i < digits ? rest_[i] - '0' : 0);
    rest_.remove_prefix(digits);
    return milliseconds(value);
  }

 private:
  std::size_t count_digits() const {
    const std::size_t end = rest_.find_first_not_of("0123456789");
    return end == std::string_view::npos ? rest_.size() : end;
  }

  std::string_view rest_;
};

std::optional<std::chrono::sys_days> scan_date(Scanner& in) {
  const auto year = in.take_number(4, 9999);
  if (!year || !in.take('-')) return std::nullopt;
  const auto month = in.take_number(2, 12);
  if (!month || !in.take('-')) return std::nullopt;
  const auto day = in.take_number(2, 31);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;  // 30 February
  return std::chrono::sys_days(date);
}

std::optional<minutes> scan_hour_and_minute(Scanner& in) {
  const auto hour = in.take_number(2, 23);
  if (!hour || !in.take(':')) return std::nullopt;
  const auto minute = in.take_number(2, 59);
  if (!minute) return std::nullopt;
  return hours(*hour) + minutes(*minute);
}

std::optional<milliseconds> scan_time_of_day(Scanner& in) {
  const auto minute = scan_hour_and_minute(in);
  if (!minute || !in.take(':')) return std::nullopt;
  const auto second = in.take_number(2, 59);  // Go's parser has no leap seconds either
  if (!second) return std::nullopt;
  milliseconds time = *minute + seconds(*second);
  if (in.take('.')) {
    const auto fraction = in.take_fraction();
    if (!fraction) return std::nullopt;
    time += *fraction;
  }
  return time;
}

// The offset to subtract to get UTC.
std::optional<minutes> scan_offset(Scanner& in) {
  if (in.take('Z')) return minutes(0);
  const bool west = in.take('-');
  if (!west && !in.take('+')) return std::nullopt;
  const auto offset = scan_hour_and_minute(in);
  if (!offset) return std::nullopt;
  return west ? -*offset : *offset;
}

std::optional<SysTime> scan_time(Scanner& in) {
  const auto date = scan_date(in);
  if (!date || !in.take('T')) return std::nullopt;
  const auto time = scan_time_of_day(in);
  if (!time) return std::nullopt;
  const auto offset = scan_offset(in);
  if (!offset || !in.at_end()) return std::nullopt;
  return SysTime(*date) + *time - *offset;
}

std::string to_seconds(SysTime time) {
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<seconds> clock(floor<seconds>(time) - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace

SysTime SystemClock::now() const { return floor<milliseconds>(std::chrono::system_clock::now()); }

MonoTime SystemClock::mono() const { return std::chrono::steady_clock::now(); }

bool sleep_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return stop.stop_requested();
}

std::string to_rfc3339(SysTime time) { return to_seconds(time) + "Z"; }

std::string to_rfc3339_micro(SysTime time) {
  const milliseconds fraction = time - floor<seconds>(time);
  return fmt::format("{}.{:03}000Z", to_seconds(time), fraction.count());
}

Result<SysTime> parse_rfc3339(std::string_view text) {
  Scanner in(text);
  const auto time = scan_time(in);
  if (!time) {
    return Error{Code::kInvalid,
                 fmt::format("time \"{}\" is not of the form 2026-11-21T13:56:04Z", text)};
  }
  return *time;
}

}  // namespace nervex
