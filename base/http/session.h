// base/http/session.h - one caller's requests, one after the other: how do cpp-httplib, which reads
// and writes HTTP, and our connection, on which no wait is without end, work together?
#pragma once

#include <memory>
#include <string>

#include "base/http/messages.h"
#include "base/http/server.h"
#include "base/net/connection.h"
#include "base/net/listener.h"

namespace nervex {

// What all sessions of a server share: routes, limits, and the library's server, which never
// listens. Routes are added before the first serve(), which then runs on many threads at once.
class HttpSite {
 public:
  explicit HttpSite(HttpServerOptions options);
  ~HttpSite();
  HttpSite(const HttpSite&) = delete;
  HttpSite& operator=(const HttpSite&) = delete;

  // An exact path, any method.
  void handle(std::string path, HttpHandler handler);
  void handle_rest(HttpHandler handler);

  // Until one side ends the connection, or the listener stops.
  void serve(const Listener& listener, Listener::Permit& permit, Connection& connection);

  const HttpServerOptions& options() const;
  // A reply as it is written to a caller for whom there is no session: it also ends the connection.
  std::string last_reply(const HttpReply& reply) const;

 private:
  class Library;
  std::unique_ptr<Library> library_;
};

}  // namespace nervex
