// base/http/messages.h - what do HTTP requests and replies contain? Values for server and client.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace nervex {

// By name, in lower case. Requests have few: building a map would cost more than all look-ups.
using RequestHeaders = std::vector<std::pair<std::string, std::string>>;

// The value of the header with that name (in lower case), any one if repeated; null: absent.
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
  // When its first byte arrived, which is when a caller with a timeout started to wait.
  MonoTime received{};
  // For a handler that waits: the caller has closed the connection, as far as the system knows, so
  // the reply would not be read. Call it on the handler's thread; costs a system call.
  std::function<bool()> has_caller_left = [] { return false; };
  // For a handler that waits for other requests, on its thread: while set, a new caller may take
  // its connection's place. Afterwards has_lost_place() is true, and the handler should reply soon,
  // because there is one connection more than allowed.
  std::function<void(bool)> set_waiting = [](bool) {};
  std::function<bool()> has_lost_place = [] { return false; };
};

struct HttpReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  // Further headers: Allow, Retry-After, ... The server sets those that frame the message
  // (Connection, Content-Length). Invalid names and values are omitted.
  std::map<std::string, std::string> headers{};
  // Called once on the connection's thread, which waits for it, when the reply is sent or has
  // failed. True: the reply was written completely, and the caller was still connected. A server
  // cannot know that it arrived. Must not throw.
  std::function<void(bool written)> on_written{};
};

// Runs on server threads, concurrently: must be thread-safe. May throw: the server then sends its
// fallback answer, and logs.
using HttpHandler = std::function<HttpReply(const HttpRequest&)>;

// The reply when the server refuses a request before any handler: status is HTTP's (400, 408, 413,
// 414, 415, 417, 431, 501, 503, 505), reason a phrase for people. Thread-safe.
using HttpRefusalHandler = std::function<HttpReply(int status, const std::string& reason)>;

}  // namespace nervex
