#include "base/log.h"

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/clock.h"
#include "base/log_line.h"

namespace nervex {

namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 4> kLevelNames{
    {{"debug", LogLevel::kDebug},
     {"info", LogLevel::kInfo},
     {"warn", LogLevel::kWarn},
     {"error", LogLevel::kError}}};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// The one global of the suite: a log call must work anywhere, and stderr is global as well. spdlog
// does the writing, whole lines from many threads; the text of a line is ours (log_line.h).
struct Log {
  Log() {
    logger.set_pattern("%v");
    logger.set_level(spdlog::level::info);
  }
  spdlog::logger logger{"nervex", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  std::atomic<LogFormat> format{LogFormat::kText};
  std::atomic<LogLevel> level{LogLevel::kInfo};
};

Log& the_log() {
  static Log log;
  return log;
}

void write(LogLevel level, std::string_view message, LogFields fields) {
  Log& log = the_log();
  const auto severity = to_spdlog(level);
  if (!log.logger.should_log(severity)) return;
  const std::string line =
      log_line(log.format, SystemClock().now(), level, message, {fields.begin(), fields.size()});
  log.logger.log(severity, spdlog::string_view_t(line));
}

}  // namespace

void init_logging(LogLevel level, LogFormat format) {
  the_log().format = format;
  set_log_level(level);
}

void set_log_level(LogLevel level) {
  the_log().level = level;
  the_log().logger.set_level(to_spdlog(level));
}

LogLevel log_level() { return the_log().level; }

std::string_view to_string(LogLevel level) {
  for (const auto& [name, named] : kLevelNames) {
    if (named == level) return name;
  }
  return "";
}

std::optional<LogLevel> parse_log_level(std::string_view word) {
  for (const auto& [name, named] : kLevelNames) {
    if (name == word) return named;
  }
  return std::nullopt;
}

void log_debug(std::string_view message, LogFields fields) {
  write(LogLevel::kDebug, message, fields);
}
void log_info(std::string_view message, LogFields fields) {
  write(LogLevel::kInfo, message, fields);
}
void log_warn(std::string_view message, LogFields fields) {
  write(LogLevel::kWarn, message, fields);
}
void log_error(std::string_view message, LogFields fields) {
  write(LogLevel::kError, message, fields);
}

}  // namespace nervex
