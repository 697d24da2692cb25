// base/http/session.h - how are one caller's requests served? Connects cpp-httplib, which parses
// and writes HTTP, to our connection, where every wait has a limit.
#pragma once

#include <memory>
#include <string>

#include "base/http/messages.h"
#include "base/http/server.h"
#include "base/net/connection.h"
#include "base/net/listener.h"

namespace nervex {

// State shared by all sessions of a server: routes, limits, and the library's server, which never
// listens. Add routes before the first serve(), which then runs on many threads at once.
class HttpSite {
 public:
  explicit HttpSite(HttpServerOptions options);
  ~HttpSite();
  HttpSite(const HttpSite&) = delete;
  HttpSite& operator=(const HttpSite&) = delete;

  // An exact path, any method.
  void handle(std::string path, HttpHandler handler);
  void handle_rest(HttpHandler handler);

  // Serves until one side ends the connection, or the listener stops.
  void serve(const Listener& listener, Listener::Permit& permit, Connection& connection);

  const HttpServerOptions& options() const;
  // The bytes of a reply to a caller without a session: it also ends the connection.
  std::string last_reply(const HttpReply& reply) const;

 private:
  class Library;
  std::unique_ptr<Library> library_;
};

}  // namespace nervex
