// base/log.h - how does a program report its actions to administrators?
//
// One line per event, to stderr: a constant message and key=value fields, as text or as JSON.
//   log_info("pod created", {{"namespace", ns}, {"pod", name}});
// Values come from the network too: control characters are escaped. Never log a whole object, a
// token or a key. Thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"

namespace nervex {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

struct LogField {
  std::string_view key;
  std::string value;
};
using LogFields = std::initializer_list<LogField>;

// Call once at start; before that: text, info.
void init_logging(LogLevel level, LogFormat format);
// May be called at any time.
void set_log_level(LogLevel level);
LogLevel log_level();

// "debug", "info", "warn", "error".
std::string_view to_string(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view word);

void log_debug(std::string_view message, LogFields fields = {});
void log_info(std::string_view message, LogFields fields = {});
void log_warn(std::string_view message, LogFields fields = {});
void log_error(std::string_view message, LogFields fields = {});

// For lines that a caller can cause at any rate: a few per second are written, the others are
// counted. Thread-safe.
class LogLimit {
 public:
  explicit LogLimit(int lines_per_second) : most_(lines_per_second) {}

  // nullopt: skip this line. Else the number of lines skipped since the last written one.
  std::optional<std::uint64_t> admit(MonoTime now);

 private:
  const int most_;
  Mutex mutex_;
  MonoTime second_ GUARDED_BY(mutex_){};  // start of the current one
  int written_ GUARDED_BY(mutex_) = 0;    // in it
  std::uint64_t left_out_ GUARDED_BY(mutex_) = 0;
};

// The line to write, without the newline, for any bytes in the values. Pure.
//   text  2026-11-21T13:56:04.123Z info pod created namespace=rl pod="my job-0"
//   JSON  {"ts":"2026-11-21T13:56:04.123Z","level":"info","msg":"pod created","namespace":"rl",...}
// Text values are quoted where their end would be unclear. Control characters (Unicode's too, since
// terminals obey them) and invalid UTF-8 are escaped; in JSON invalid bytes become U+FFFD.
std::string log_line(LogFormat format, SysTime time, LogLevel level, std::string_view message,
                     std::span<const LogField> fields);

}  // namespace nervex
