// base/http_stream.h - how does the HTTP library read and write on a Connection of ours?
//
// httplib frames HTTP/1.1 for us; sockets, TLS, deadlines and threads are ours, so that no peer can
// hold one for longer than we allow.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/call_limit.h"
#include "base/connection.h"

namespace nervex {

// `LibraryStream` is httplib::Stream. A parameter, because only http_exchange.cpp may include that
// library.
template <typename LibraryStream>
class ConnectionStream final : public LibraryStream {
 public:
  explicit ConnectionStream(Connection& connection) : connection_(connection) {}

  // The longest waits for a piece to read, and for the peer to take one. Else the connection's.
  void set_timeout(std::chrono::milliseconds reading, std::chrono::milliseconds writing) {
    read_timeout_ = reading;
    write_timeout_ = writing;
  }
  // A message's head may not be longer than `bytes`, whatever it consists of, until end_head().
  void limit_head(std::size_t bytes) { head_left_ = bytes; }
  void end_head() { head_left_.reset(); }
  // Borrowed. A peer that never makes us wait would not meet it otherwise.
  void set_limit(const CallLimit& limit) { limit_ = &limit; }

  using LibraryStream::write;
  bool is_readable() const override { return !connection_.buffered().empty(); }
  bool wait_readable() const override { return connection_.wait_readable(); }
  // Writing waits by itself. A false answer here would only take the error's name away.
  bool wait_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    if (limit_ != nullptr && limit_->is_over()) return -1;
    // The library asks for a reply even if the request could not be sent.
    if (connection_.failed_by() == Connection::Failure::kTimeout) return -1;
    if (head_left_ && *head_left_ < size) return -1;
    if (head_left_) *head_left_ -= size;
    if (read_timeout_) connection_.set_timeout(*read_timeout_);
    return connection_.read(to, size);
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    if (write_timeout_) connection_.set_timeout(*write_timeout_);
    return connection_.write(std::string_view(bytes, size)) ? static_cast<ssize_t>(size) : -1;
  }
  // Asked for only by the library's own sockets and by parts of it that we do not use.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  int socket() const override { return -1; }
  time_t duration() const override { return 0; }

 private:
  Connection& connection_;
  const CallLimit* limit_ = nullptr;
  std::optional<std::chrono::milliseconds> read_timeout_;
  std::optional<std::chrono::milliseconds> write_timeout_;
  std::optional<std::size_t> head_left_;
};

}  // namespace nervex
