#include "base/http/stream_reader.h"

namespace nervex {

LineFramer::Status LineFramer::feed(std::string_view bytes, const OnLine& on_line) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (piece.size() > max_bytes_ - rest_.size()) return Status::kTooLong;
    if (end == std::string_view::npos) {
      rest_ += piece;
      return Status::kMore;
    }
    bytes.remove_prefix(end + 1);
    bool go_on = false;
    if (rest_.empty()) {  // the usual case needs no copy
      go_on = on_line(piece);
    } else {
      rest_ += piece;
      go_on = on_line(rest_);
      rest_.clear();
    }
    if (!go_on) return Status::kStopped;
  }
  return Status::kMore;
}

}  // namespace nervex
