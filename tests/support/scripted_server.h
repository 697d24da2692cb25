// tests/support/scripted_server.h - how do tests script a misbehaving HTTP server, reply by reply?
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace nervex::testing {

// Listens on loopback. Each request (on a new connection, or after kNext) gets the next reply of
// the script, byte by byte; with no reply left its connection is closed at once. Thread-safe.
class ScriptedServer {
 public:
  // kHold: send nothing more until the server is destroyed; kNext: serve another request (the
  // previous one must not have had a body)
  enum class Then { kClose, kHold, kNext };
  struct Reply {
    std::string bytes;
    Then then = Then::kClose;
    std::chrono::milliseconds after_each_byte{0};  // trickles
    std::function<void()> before{};                // called on the connection's thread
  };

  explicit ScriptedServer(std::deque<Reply> script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const;
  // The heads of the requests so far: request line and headers.
  std::vector<std::string> requests() const;
  int connections() const;  // accepted so far
  // Ends every connection, like a restarting server; returns when they are closed.
  void close_connections();

 private:
  void accept_connections(const std::stop_token& stop);
  void serve(int fd, const std::stop_token& stop);
  std::string read_head(int fd, const std::stop_token& stop);
  Reply next_reply(const std::string& head);
  void send_all(int fd, const Reply& reply, const std::stop_token& stop) const;

  mutable std::mutex mutex_;
  std::deque<Reply> script_;
  std::vector<std::string> requests_;
  int listener_ = -1;
  int port_ = 0;
  std::vector<std::jthread> connections_;  // includes ended ones
  std::jthread acceptor_;
};

// "HTTP/1.1 200 OK" with a body and its length.
ScriptedServer::Reply whole_reply(int status, const std::string& body);
// The same on a connection that stays open.
ScriptedServer::Reply kept_reply(int status, const std::string& body);
// 200, chunked, one chunk per line; ended properly, or left open (kHold), or cut (kClose).
ScriptedServer::Reply stream_reply(const std::vector<std::string>& lines, bool is_ended,
                                   ScriptedServer::Then then = ScriptedServer::Then::kClose);

}  // namespace nervex::testing
