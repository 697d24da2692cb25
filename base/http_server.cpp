#include "base/http_server.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/http_conversation.h"
#include "base/http_reply.h"
#include "base/listener.h"
#include "base/tls.h"

namespace nervex {

namespace {

// For a newcomer that finds no room. A TLS caller could not read it: there is no time to agree on
// keys with somebody for whom there is no thread.
std::string full_text(const HttpServerOptions& options) {
  if (options.tls) return "";
  HttpReply reply = options.refusal(503, "too many connections");
  reply.headers.emplace("Retry-After", "1");
  return http_reply_head(reply, true) + reply.body;
}

HttpHandler only_get(HttpHandler handler) {
  return [handler = std::move(handler)](const HttpRequest& request) {
    const bool allowed = request.method == "GET" || request.method == "HEAD";
    return allowed ? handler(request) : method_not_allowed("GET, HEAD");
  };
}

}  // namespace

struct HttpServer::Impl {
  explicit Impl(HttpServerOptions options)
      : site(std::move(options)),
        listener(
            {site.options.max_connections, site.options.crowded_percent, full_text(site.options)},
            [this](Listener::Place& place) { serve(place); }) {}

  void serve(Listener::Place& place) {
    Connection connection(place.socket(),
                          certificate ? accepting_session(certificate->current()) : nullptr);
    HttpConversation(site, listener, place, connection).hold();
  }

  HttpSite site;
  const SystemClock clock;
  std::optional<CertificateFiles> certificate;  // none: plain HTTP
  Listener listener;                            // last: its threads use the rest
};

HttpServer::HttpServer(HttpServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

HttpServer::~HttpServer() { stop(); }

void HttpServer::handle(std::string path, HttpHandler handler) {
  impl_->site.handlers.insert_or_assign(std::move(path), std::move(handler));
}

void HttpServer::handle_rest(HttpHandler handler) { impl_->site.rest = std::move(handler); }

Result<Nothing> HttpServer::start() {
  const auto& options = impl_->site.options;
  if (options.tls) {
    auto& certificate = impl_->certificate.emplace(*options.tls, impl_->clock);
    if (auto started = certificate.start(); !started) return started;
  }
  return impl_->listener.start(options.listen);
}

void HttpServer::stop() { impl_->listener.stop(); }

int HttpServer::port() const { return impl_->listener.port(); }

std::string HttpServer::not_ready() const {
  return impl_->certificate ? impl_->certificate->not_ready() : "";
}

std::string HttpServer::certificate_problem() const {
  return impl_->certificate ? impl_->certificate->problem() : "";
}

std::optional<SysTime> HttpServer::certificate_expires() const {
  return impl_->certificate ? impl_->certificate->expires() : std::nullopt;
}

HttpReply json_refusal(int status, const std::string& reason) {
  using Json = nlohmann::json;
  return {status, Json{{"error", reason}}.dump(-1, ' ', true, Json::error_handler_t::replace)};
}

HttpReply method_not_allowed(const std::string& allowed) {
  return {405, "use one of: " + allowed + "\n", "text/plain", {{"Allow", allowed}}};
}

void add_health_routes(HttpServer& server, std::function<std::string()> not_ready) {
  server.handle("/healthz", only_get([](const HttpRequest&) {
                  return HttpReply{200, "ok", "text/plain"};
                }));
  server.handle("/readyz", only_get([not_ready = std::move(not_ready)](const HttpRequest&) {
                  const std::string reason = not_ready();
                  return reason.empty() ? HttpReply{200, "ok", "text/plain"}
                                        : HttpReply{503, reason, "text/plain"};
                }));
}

}  // namespace nervex
