// base/http_stream.h - how does the HTTP library read and write on a Connection of ours?
//
// httplib frames HTTP/1.1 for us; sockets, TLS, deadlines and threads are ours, so that no peer can
// hold one for longer than we allow.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/connection.h"

namespace nervex {

// `LibraryStream` is httplib::Stream. A parameter, because only http_server.cpp and http_client.cpp
// may include that library.
template <typename LibraryStream>
class ConnectionStream final : public LibraryStream {
 public:
  explicit ConnectionStream(Connection& connection) : connection_(connection) {}

  // The library would wait for the rest of a body even after having refused the request.
  void stop_reading() { reading_ = false; }

  using LibraryStream::write;
  bool is_readable() const override { return !connection_.buffered().empty(); }
  bool wait_readable() const override { return connection_.wait_readable(); }
  // Writing waits by itself. A false answer here would only take the error's name away.
  bool wait_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    return reading_ ? connection_.read(to, size) : -1;
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    return connection_.write(std::string_view(bytes, size)) ? static_cast<ssize_t>(size) : -1;
  }
  // Asked for only by the library's own sockets and by parts of it that we do not use.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  int socket() const override { return -1; }
  time_t duration() const override { return 0; }

 private:
  Connection& connection_;
  bool reading_ = true;
};

}  // namespace nervex
