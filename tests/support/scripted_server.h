// tests/support/scripted_server.h - an HTTP server that misbehaves as told: one reply per
// connection.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace nervex::testing {

// Listens on loopback. Each connection's first request gets the next reply of the script, byte by
// byte as written there; with no reply left the connection is closed at once. Thread-safe.
class ScriptedServer {
 public:
  enum class Then { kClose, kHold };  // kHold: say nothing more until the server is destroyed
  struct Reply {
    std::string bytes;
    Then then = Then::kClose;
  };

  explicit ScriptedServer(std::deque<Reply> script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const;
  // The heads of the requests so far: request line and headers.
  std::vector<std::string> requests() const;

 private:
  void accept_connections(const std::stop_token& stop);
  void serve(int fd, const std::stop_token& stop);

  mutable std::mutex mutex_;
  std::deque<Reply> script_;
  std::vector<std::string> requests_;
  int listener_ = -1;
  int port_ = 0;
  std::vector<std::jthread> connections_;
  std::jthread acceptor_;
};

// "HTTP/1.1 200 OK" with a body and its length.
ScriptedServer::Reply whole_reply(int status, const std::string& body);
// 200, chunked, one chunk per line; ended properly, or left open (kHold), or cut (kClose).
ScriptedServer::Reply stream_reply(const std::vector<std::string>& lines, bool is_ended,
                                   ScriptedServer::Then then = ScriptedServer::Then::kClose);

}  // namespace nervex::testing
