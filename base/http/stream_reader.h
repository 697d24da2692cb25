// base/http/stream_reader.h - what are the bytes of a stream's reply for? Lines, or an error's
// text. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

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

// What a stream's caller gets of a reply, whatever its status.
class StreamReader {
 public:
  static constexpr std::size_t kMaxLineBytes = 8 << 20;
  static constexpr std::size_t kMaxErrorBytes = 1 << 20;  // of a reply that is no stream

  // Both borrowed.
  StreamReader(const LineFramer::OnLine& on_line, const std::stop_token& stop)
      : on_line_(on_line), stop_(stop) {}

  void see_status(int status) { status_ = status; }

  // False: no more is wanted.
  bool take(std::string_view bytes) {
    if (stop_.stop_requested()) return false;
    if (status_ != 200) {
      error_body_ += bytes.substr(0, kMaxErrorBytes - error_body_.size());
      return error_body_.size() < kMaxErrorBytes;
    }
    last_ = framer_.feed(bytes, on_line_);
    return last_ == LineFramer::Status::kMore;
  }

  // The reply is complete: what has no newline behind it was a line, too.
  void finish() {
    if (status_ == 200 && last_ == LineFramer::Status::kMore && !framer_.rest().empty()) {
      on_line_(framer_.rest());
    }
  }

  bool line_too_long() const { return last_ == LineFramer::Status::kTooLong; }
  // The caller wanted no more, one way or the other.
  bool was_ended() const {
    return last_ == LineFramer::Status::kStopped || error_body_.size() == kMaxErrorBytes;
  }
  std::string take_error_body() { return std::move(error_body_); }

 private:
  const LineFramer::OnLine& on_line_;
  const std::stop_token& stop_;
  LineFramer framer_{kMaxLineBytes};
  LineFramer::Status last_ = LineFramer::Status::kMore;
  int status_ = 0;
  std::string error_body_;
};

}  // namespace nervex
