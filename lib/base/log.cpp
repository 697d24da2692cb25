#include "base/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <nlohmann/json.hpp>

#include "base/control_characters.h"

namespace nervex {

namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 4> kLevelNames{
    {{"debug", LogLevel::kDebug},
     {"info", LogLevel::kInfo},
     {"warn", LogLevel::kWarn},
     {"error", LogLevel::kError}}};

}  // namespace

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

// -- the text of a line

namespace {

std::string timestamp(SysTime time) {
  std::string text = to_rfc3339_micro(time);
  text.erase(text.size() - 4, 3);  // the microseconds, always 000
  return text;
}

void append_escaped_bytes(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
  }
}

void append_ascii(std::string& out, char c, bool quoted) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '"':
    case '\\':
      if (quoted) out += '\\';
      out += c;
      return;
    default:
      if (c < ' ' || c == '\x7F') {
        append_escaped_bytes(out, std::string_view(&c, 1));
      } else {
        out += c;
      }
  }
}

void append_escaped(std::string& out, std::string_view text, bool quoted) {
  while (!text.empty()) {
    const auto [character, is_control] = first_character(text);
    const bool is_ascii = static_cast<unsigned char>(text[0]) < 0x80;
    if (is_ascii) {
      append_ascii(out, text[0], quoted);
    } else if (is_control) {
      append_escaped_bytes(out, character);
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
}

bool needs_quotes(std::string_view value) {
  const auto is_plain = [](char c) {
    return c > ' ' && c != '=' && c != '"' && c != '\\' && c != '\x7F';
  };
  // Text beyond ASCII is quoted too, because it may contain an escape.
  return value.empty() || !std::all_of(value.begin(), value.end(), is_plain);
}

void append_text_field(std::string& out, const LogField& field) {
  out += ' ';
  append_escaped(out, field.key, false);
  out += '=';
  if (!needs_quotes(field.value)) {
    out += field.value;
    return;
  }
  out += '"';
  append_escaped(out, field.value, true);
  out += '"';
}

// The result is pure ASCII, so it contains no control character of any kind.
std::string json_string(std::string_view text) {
  constexpr bool kEnsureAscii = true;
  return nlohmann::json(text).dump(-1, ' ', kEnsureAscii, nlohmann::json::error_handler_t::replace);
}

std::string text_line(SysTime time, LogLevel level, std::string_view message,
                      std::span<const LogField> fields) {
  std::string line = fmt::format("{} {} ", timestamp(time), to_string(level));
  append_escaped(line, message, false);
  for (const LogField& field : fields) append_text_field(line, field);
  return line;
}

// Built by hand, because readers see the order of the fields.
std::string json_line(SysTime time, LogLevel level, std::string_view message,
                      std::span<const LogField> fields) {
  std::string line = fmt::format(R"({{"ts":"{}","level":"{}","msg":{})", timestamp(time),
                                 to_string(level), json_string(message));
  for (const LogField& field : fields) {
    line += fmt::format(",{}:{}", json_string(field.key), json_string(field.value));
  }
  return line + '}';
}

}  // namespace

std::string log_line(LogFormat format, SysTime time, LogLevel level, std::string_view message,
                     std::span<const LogField> fields) {
  return format == LogFormat::kJson ? json_line(time, level, message, fields)
                                    : text_line(time, level, message, fields);
}

// -- writing it

namespace {

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

// The suite's only global: a log call must work everywhere, and stderr is global as well. spdlog
// writes whole lines from many threads; log_line builds the text.
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

std::optional<std::uint64_t> LogLimit::admit(MonoTime now) {
  const MutexLock lock(mutex_);
  if (now >= second_ + std::chrono::seconds(1)) {
    second_ = now;
    written_ = 0;
  }
  if (written_ == most_) {
    ++left_out_;
    return std::nullopt;
  }
  ++written_;
  return std::exchange(left_out_, 0);
}

}  // namespace nervex
