// base/http/request_bytes.h - which bytes of a connection belong to one request?
//
// cpp-httplib limits neither the head's size nor a request's time, does not answer if the request
// line does not end, and after its reply reads on to the end of a body. So its input ends here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/http/head_check.h"
#include "base/mutex.h"
#include "base/net/connection.h"

namespace nervex {

// Limits the memory of all large bodies of a server at once: connections times the largest body
// would exceed any container. Also limits the bodies of one address, so that slow senders do not
// block others. Thread-safe.
class BodyBudget {
 public:
  BodyBudget(std::size_t bytes, std::size_t most_of_one_peer)
      : bytes_(bytes), most_of_one_peer_(most_of_one_peer) {}

 private:
  friend class BodyShare;
  bool take(std::size_t bytes, const std::string& peer);
  void give_back(std::size_t bytes, const std::string& peer);

  const std::size_t bytes_;
  const std::size_t most_of_one_peer_;
  Mutex mutex_;
  std::size_t used_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, std::size_t> used_by_ GUARDED_BY(mutex_);  // no entry is 0
};

// One body's share of the budget, for the life of this object. Small bodies are free.
class BodyShare {
 public:
  // Both are borrowed.
  BodyShare(BodyBudget& budget, const std::string& peer) : budget_(budget), peer_(peer) {}
  ~BodyShare() {
    if (held_ > 0) budget_.give_back(held_, peer_);
  }
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;

  // Adds a piece. False if the budget is exhausted; the share is then unchanged.
  bool add(std::size_t bytes);

 private:
  BodyBudget& budget_;
  const std::string& peer_;
  std::size_t size_ = 0;
  std::size_t held_ = 0;
};

// The head, then the body, then the end.
class RequestBytes {
 public:
  // `connection` has a deadline. All are borrowed.
  RequestBytes(Connection& connection, BodyBudget& budget, const std::string& peer)
      : connection_(connection), share_(budget, peer) {}

  // The head as received, until begin_body().
  std::string_view head() const { return head_; }
  void begin_body();
  void begin_reply() {
    next_ = end_;
    part_ = Part::kReply;
  }
  // Why reading failed.
  const Refused& refused() const { return refused_; }

  // The number of bytes, 0 at the end, -1 on failure. The library takes heads byte by byte, so all
  // work here is done for each byte.
  std::ptrdiff_t read(char* to, std::size_t size) {
    if (next_ == end_) return read_more(to, size);
    *to = *next_++;
    return 1;
  }

 private:
  enum class Part { kHead, kBody, kReply };

  std::ptrdiff_t read_more(char* to, std::size_t size);
  bool read_more_head();
  std::ptrdiff_t end_request_line(char* to);
  std::ptrdiff_t read_body(char* to, std::size_t size);
  std::ptrdiff_t fail(int status, std::string reason);
  bool is_in_request_line() const { return head_.find("\r\n") == std::string_view::npos; }
  bool has_bare_line_feed();

  const char* next_ = nullptr;  // in the head, in the connection's buffer
  const char* end_ = nullptr;
  Connection& connection_;
  BodyShare share_;
  Part part_ = Part::kHead;
  Refused refused_;
  std::string_view head_;    // the received part of it
  std::size_t checked_ = 0;  // this many of its bytes have valid line ends
  bool is_whole_ = false;    // the last line was seen; a body or another request follows
  std::string_view line_end_ = "\r\n";
};

}  // namespace nervex
