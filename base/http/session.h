// base/http/session.h - one caller's requests, one after the other: from bytes to a handler
// and back.
#pragma once

#include <map>
#include <string>

#include "base/http/body.h"
#include "base/http/head.h"
#include "base/http/server.h"
#include "base/net/connection.h"
#include "base/net/listener.h"

namespace nervex {

// What the threads of a server share. But for the budget read-only while they run.
struct HttpSite {
  explicit HttpSite(HttpServerOptions given);

  HttpServerOptions options;
  HttpHeadLimits limits;
  BodyBudget budget;
  std::map<std::string, HttpHandler, std::less<>> handlers;
  HttpHandler rest = [](const HttpRequest&) { return HttpReply{404, "{}"}; };

  // A handler that throws costs its caller a reply without reason; the reason is in the log.
  HttpReply answer(const HttpRequest& request) const;
};

class HttpSession {
 public:
  // All are borrowed for its life.
  HttpSession(HttpSite& site, const Listener& listener, Listener::Permit& permit,
              Connection& connection)
      : site_(site), listener_(listener), permit_(permit), connection_(connection) {}

  // Until one side ends it, or the listener stops.
  void hold();

 private:
  enum class Wait { kRequest, kHandshake };
  bool wait_for_bytes(Wait wait);
  bool take_request();
  std::variant<HttpHead, HttpRefusal> read_head();
  std::variant<std::string, HttpRefusal> read_body(const HttpHead& head, BodyShare& share);
  bool reply_to(const HttpHead& head, const HttpReply& reply);
  bool refuse(const HttpRefusal& refusal);
  bool write(const HttpReply& reply, bool with_body);
  void linger();
  void set_deadline_in(std::chrono::milliseconds time);

  HttpSite& site_;
  const Listener& listener_;
  Listener::Permit& permit_;
  Connection& connection_;
  bool closing_ = false;  // the last reply said so
};

}  // namespace nervex
