// base/http/exchange.h - how are a request and its reply sent on a connection? The client's only
// use of the HTTP library, which just frames messages.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/http/call_limit.h"
#include "base/http/client.h"
#include "base/net/address.h"
#include "base/net/connection.h"

namespace nervex {

struct HttpExchange {
  std::string method;
  std::string target;  // path and query
  std::multimap<std::string, std::string> headers;
  std::string body;
  // The longest waits for the next piece of the reply, and for the server to take the request's.
  std::chrono::milliseconds read_timeout;
  std::chrono::milliseconds write_timeout;
  // For a streamed reply, both or none: gets its status and type, then its body's pieces until it
  // returns false.
  std::function<void(int status, std::string_view content_type)> on_head{};
  std::function<bool(std::string_view bytes)> on_bytes{};
};

struct HttpOutcome {
  bool complete = false;  // the reply came whole
  bool reusable = false;  // the reply stated its end, and another may follow
  HttpResponse reply;     // status 0: no reply
  std::string why;        // if not complete
};

// kInvalid for characters that could end the request's head and inject another request.
Result<Nothing> check_exchange(const HttpExchange& exchange);

// Runs one exchange. Waits as the connection's deadline and wake descriptor allow, and stops
// reading once `limit` is over. A stored reply is at most 1 GiB.
HttpOutcome run_exchange(HttpExchange exchange, const HostPort& server, Connection& connection,
                         const CallLimit& limit);

// ---- streamed replies: lines or frames, or an error's text. Pure.

using OnLine = std::function<bool(std::string_view line)>;

enum class FramerStatus {
  kMore,     // all bytes are used, continue
  kStopped,  // on_line returned false; the rest was dropped
  kTooLong,  // a line or a frame is longer than `max_bytes`
};

// Splits a stream of bytes into lines, for any split by the network.
class LineFramer {
 public:
  explicit LineFramer(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Calls on_line for each line that ends in `bytes`, without its "\n".
  FramerStatus feed(std::string_view bytes, const OnLine& on_line);
  // The text after the last newline.
  const std::string& rest() const { return rest_; }

 private:
  std::size_t max_bytes_;
  std::string rest_;
};

// The same for frames with a big-endian length of four bytes before each.
class LengthDelimitedFramer {
 public:
  explicit LengthDelimitedFramer(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Calls on_frame for each frame that ends in `bytes`.
  FramerStatus feed(std::string_view bytes, const OnLine& on_frame);

 private:
  std::size_t max_bytes_;
  std::string rest_;  // of a frame with its length
};

// Passes a reply on to a stream's caller, for any status.
class StreamReader {
 public:
  static constexpr std::size_t kMaxLineBytes = 8 << 20;
  static constexpr std::size_t kMaxErrorBytes = 1 << 20;  // of a reply that is not a stream

  // Both borrowed.
  StreamReader(const OnLine& on_line, const std::stop_token& stop)
      : on_line_(on_line), stop_(stop) {}

  void see_head(int status, std::string_view content_type) {
    status_ = status;
    has_frames_ = has_length_delimited_frames(content_type);
  }

  // False: the caller wants no more.
  bool take(std::string_view bytes) {
    if (stop_.stop_requested()) return false;
    if (status_ != 200) {
      error_body_ += bytes.substr(0, kMaxErrorBytes - error_body_.size());
      return error_body_.size() < kMaxErrorBytes;
    }
    last_ = has_frames_ ? frames_.feed(bytes, on_line_) : lines_.feed(bytes, on_line_);
    return last_ == FramerStatus::kMore;
  }

  // The reply is complete: text without a final newline is also a line.
  void finish() {
    if (status_ == 200 && last_ == FramerStatus::kMore && !lines_.rest().empty()) {
      on_line_(lines_.rest());
    }
  }

  bool line_too_long() const { return last_ == FramerStatus::kTooLong; }
  // The caller stopped the stream in either way.
  bool was_ended() const {
    return last_ == FramerStatus::kStopped || error_body_.size() == kMaxErrorBytes;
  }
  std::string take_error_body() { return std::move(error_body_); }

 private:
  const OnLine& on_line_;
  const std::stop_token& stop_;
  LineFramer lines_{kMaxLineBytes};
  LengthDelimitedFramer frames_{kMaxLineBytes};
  bool has_frames_ = false;
  FramerStatus last_ = FramerStatus::kMore;
  int status_ = 0;
  std::string error_body_;
};

}  // namespace nervex
