// cli/logs/log_cursor.h - which lines of a log are new after a lost connection? Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nervex::cli {

// Lines begin with the kubelet's time stamp (timestamps=true). A new request can name only a time
// (sinceTime), in whole seconds, so it repeats lines.
class LogCursor {
 public:
  // The line without its time stamp; nullopt: an earlier connection delivered it.
  std::optional<std::string_view> take(std::string_view line);
  // The next line is from a new connection.
  void reconnect();
  // The last time stamp; "": no line yet.
  const std::string& since() const { return last_; }

 private:
  std::string last_;
  int at_last_ = 0;   // lines with that time stamp
  int repeated_ = 0;  // of these, since the reconnection
  bool is_catching_up_ = false;
};

}  // namespace nervex::cli
