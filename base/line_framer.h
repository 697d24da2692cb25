// base/line_framer.h - where does one line of a stream end and the next begin? Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace nervex {

// Cuts a stream of bytes into lines, however the network cut it into pieces.
class LineFramer {
 public:
  using OnLine = std::function<bool(std::string_view line)>;

  enum class Status {
    kMore,     // all bytes are used, go on
    kStopped,  // on_line returned false; what follows was dropped
    kTooLong,  // a line is longer than `max_bytes`
  };

  explicit LineFramer(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Calls on_line for each line that ends in `bytes`, without its "\n".
  Status feed(std::string_view bytes, const OnLine& on_line);
  // What came after the last newline.
  const std::string& rest() const { return rest_; }

 private:
  std::size_t max_bytes_;
  std::string rest_;
};

}  // namespace nervex
