// base/http/messages.h - HTTP requests and replies as values, shared by the server and the client.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace nervex {

// By name, in lower case. A request has a handful: to make a map costs more than all look-ups.
using RequestHeaders = std::vector<std::pair<std::string, std::string>>;

// The value of the header with that name (in lower case), any one of repeats; null: there is none.
inline const std::string* find_header(const RequestHeaders& headers, std::string_view name) {
  for (const auto& [own, value] : headers) {
    if (own == name) return &value;
  }
  return nullptr;
}

struct HttpRequest {
  std::string method;                             // "GET", "POST", ...
  std::string path;                               // without the query
  std::multimap<std::string, std::string> query;  // decoded
  RequestHeaders headers;
  std::string body;
  std::string peer;  // address of the caller
  // When its first byte had come, which is when a caller with a time-out began to wait.
  MonoTime received{};
  // For a handler that waits: the caller has closed the connection, as far as the system knows by
  // now, so that nobody reads a reply. On the handler's thread; a system call.
  std::function<bool()> has_caller_left = [] { return false; };
  // For a handler that waits for requests of others, on its thread: while that is set, its
  // connection's place may be given to a new caller. Once it was, has_lost_place() is true, and the
  // handler should reply soon, for there is one connection more than allowed.
  std::function<void(bool)> set_waiting = [](bool) {};
  std::function<bool()> has_lost_place = [] { return false; };
};

struct HttpReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  // Further headers: Allow, Retry-After, ... What frames the message (Connection, Content-Length)
  // is the server's business. A name or value that no header may have is left out.
  std::map<std::string, std::string> headers{};
  // Called once, when the reply is on its way or will never be; on the connection's thread, which
  // waits for it. True: the caller had not left when it was written, and it was written whole. That
  // it also arrived is more than a server can know. Must not throw.
  std::function<void(bool written)> on_written{};
};

// Runs on a server thread, many at once: must be thread-safe. May throw: the server then answers
// as its fallback says, and logs.
using HttpHandler = std::function<HttpReply(const HttpRequest&)>;

// What the caller reads when the server itself refuses a request that no handler gets to see:
// status is the one HTTP has for it (400, 408, 413, 414, 415, 417, 431, 501, 503, 505), reason a
// phrase for people. Thread-safe.
using HttpRefusalHandler = std::function<HttpReply(int status, const std::string& reason)>;

}  // namespace nervex
