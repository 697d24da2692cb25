// base/http/exchange.h - one request and its reply on a connection. The client's door to the HTTP
// library, which frames messages and does nothing else.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/http/call_limit.h"
#include "base/http/client.h"
#include "base/net/address.h"
#include "base/net/connection.h"

namespace nervex {

struct HttpExchange {
  std::string method;
  std::string target;  // path and query
  std::map<std::string, std::string> headers;
  std::string body;
  // The longest waits for the next piece of the reply, and for the server to take the request's.
  std::chrono::milliseconds read_timeout;
  std::chrono::milliseconds write_timeout;
  // For a reply that is not kept whole, both or none: its status, then its body's pieces, until
  // false.
  std::function<void(int status)> on_status{};
  std::function<bool(std::string_view bytes)> on_bytes{};
};

struct HttpOutcome {
  bool complete = false;  // the reply came whole
  bool reusable = false;  // it said where it ends, and that another may follow
  HttpResponse reply;     // status 0: none came
  std::string why;        // if it is not complete
};

// kInvalid for what could end the request's head and begin one that nobody meant to send.
Result<Nothing> check_exchange(const HttpExchange& exchange);

// Does it once; waits as the connection's deadline and wake descriptor allow, and reads nothing
// more once `limit` is over. A kept reply is 1 GiB at most.
HttpOutcome run_exchange(HttpExchange exchange, const HostPort& server, Connection& connection,
                         const CallLimit& limit);

}  // namespace nervex
