// tests/base/raw_socket.h - how do tests send bytes that HTTP libraries would not?
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/net/socket.h"

namespace nervex::test {

// A TCP connection over loopback. Waits at most 20 s, so that a test fails instead of hanging.
class RawSocket {
 public:
  explicit RawSocket(UniqueFd fd) : fd_(std::move(fd)) {}
  // Check is_open() if the peer may refuse. `from`: local address on loopback; "": any.
  static RawSocket connect_to(int port, const std::string& from = "");

  bool is_open() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  // Sends as much as the peer accepts.
  void send(std::string_view bytes) const;
  // Half-closes the connection.
  void finish_sending() const;
  void close() { fd_ = UniqueFd(); }
  // Everything up to the peer's end, or to a reset.
  std::string receive_all();
  // Up to and including `mark`, or to the end.
  std::string receive_until(std::string_view mark);
  // One HTTP message with Content-Length (or without a body).
  std::string receive_message();
  // The connection has ended without further bytes.
  bool is_at_end();

 private:
  bool receive_more();

  UniqueFd fd_;
  std::string received_;  // but not returned yet
  bool gave_up_ = false;  // waiting timed out
};

// Status of "HTTP/1.1 404 Not Found..."; 0 if it is no reply.
int reply_status(const std::string& reply);
std::string reply_body(const std::string& reply);

// A server scripted by the test, on one thread, one connection at a time.
class RawServer {
 public:
  using Talk = std::function<void(RawSocket& socket)>;

  explicit RawServer(Talk talk);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }
  // Waits for the end of the test: for a script that sends nothing more.
  void wait_for_end() const;

 private:
  void run();

  UniqueFd listener_;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  WakeFd end_;
  Talk talk_;
  std::jthread thread_;
};

// A port without a listener.
int unused_port();

}  // namespace nervex::test
