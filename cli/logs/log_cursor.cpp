#include "cli/logs/log_cursor.h"

#include <cctype>

namespace nervex::cli {
namespace {

// "2026-11-21T14:03:12.123456789Z"; "": the line has none.
std::string_view time_stamp(std::string_view line) {
  const auto end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  constexpr std::size_t kDateTime = 19;
  const bool is_stamp = word.size() > kDateTime && word[4] == '-' && word[10] == 'T' &&
                        std::isdigit(static_cast<unsigned char>(word[0])) != 0;
  return is_stamp ? word : std::string_view();
}

}  // namespace

std::optional<std::string_view> LogCursor::take(std::string_view line) {
  const std::string_view stamp = time_stamp(line);
  if (stamp.empty()) return line;
  line.remove_prefix(std::min(stamp.size() + 1, line.size()));
  if (is_catching_up_) {
    if (stamp < last_) return std::nullopt;
    if (stamp == last_ && repeated_ < at_last_) {
      ++repeated_;
      return std::nullopt;
    }
    is_catching_up_ = false;
  }
  at_last_ = stamp == last_ ? at_last_ + 1 : 1;
  last_ = stamp;
  return line;
}

void LogCursor::reconnect() {
  is_catching_up_ = !last_.empty();
  repeated_ = 0;
}

}  // namespace nervex::cli
