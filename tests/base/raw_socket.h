// tests/base/raw_socket.h - peers that say anything, in any order: what HTTP libraries would not.
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
  // Check is_open() if the peer may refuse. `from`: our own address on loopback; "": any.
  static RawSocket connect_to(int port, const std::string& from = "");

  bool is_open() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  // As much as the peer takes.
  void send(std::string_view bytes) const;
  // Says that nothing more comes.
  void finish_sending() const;
  void close() { fd_ = UniqueFd(); }
  // Everything up to the peer's end, or to a reset.
  std::string receive_all();
  // Up to and with `mark`, or up to the end.
  std::string receive_until(std::string_view mark);
  // One HTTP message with Content-Length (or without a body).
  std::string receive_message();
  // Nothing more came before the end, and the end has come.
  bool is_at_end();

 private:
  bool receive_more();

  UniqueFd fd_;
  std::string received_;  // and not returned yet
  bool gave_up_ = false;  // waiting
};

// Status of "HTTP/1.1 404 Not Found..."; 0 if it is no reply.
int status_of(const std::string& reply);
std::string body_of(const std::string& reply);

// A server that talks as a test says, on one thread, one connection after the other.
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
  // Readable when the test is over: what a talk waits for that has nothing more to say.
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

// A port on which nobody listens.
int unused_port();

}  // namespace nervex::test
