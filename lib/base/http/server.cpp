#include "base/http/server.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/http/session.h"
#include "base/net/listener.h"
#include "base/tls/tls.h"

namespace nervex {

namespace {

// For a new connection above the limit. A TLS caller gets nothing: without a thread there is no
// handshake, so it could not read a reply.
std::string full_text(const HttpSite& site) {
  if (site.options().tls) return "";
  return site.last_reply(site.options().refusal(503, "too many connections"));
}

}  // namespace

struct HttpServer::Impl {
  explicit Impl(HttpServerOptions options)
      : site(std::move(options)),
        listener(
            {site.options().max_connections, site.options().max_connections_per_peer,
             site.options().high_watermark_percent, site.options().queue_timeout, full_text(site)},
            [this](Listener::Permit& permit) { serve(permit); }) {}

  void serve(Listener::Permit& permit) {
    Connection connection(permit.socket(),
                          certificate ? accepting_session(certificate->current()) : nullptr);
    site.serve(listener, permit, connection);
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
  impl_->site.handle(std::move(path), std::move(handler));
}

void HttpServer::handle_get(std::string path, HttpHandler handler) {
  handle(std::move(path), [this, handler = std::move(handler)](const HttpRequest& request) {
    if (request.method == "GET" || request.method == "HEAD") return handler(request);
    HttpReply reply = refusal(405, request.method + " is not allowed here, only GET");
    reply.headers.emplace("Allow", "GET, HEAD");  // required by RFC 9110, 15.5.6
    return reply;
  });
}

void HttpServer::handle_rest(HttpHandler handler) { impl_->site.handle_rest(std::move(handler)); }

HttpReply HttpServer::refusal(int status, const std::string& reason) const {
  return impl_->site.options().refusal(status, reason);
}

Result<Nothing> HttpServer::start() {
  const auto& options = impl_->site.options();
  if (options.tls) {
    auto& certificate = impl_->certificate.emplace(*options.tls, impl_->clock);
    if (auto started = certificate.start(); !started) return started;
  }
  return impl_->listener.start(options.listen);
}

void HttpServer::stop() { impl_->listener.stop(); }

int HttpServer::port() const { return impl_->listener.port(); }

Result<Nothing> HttpServer::check_certificate() const {
  return impl_->certificate ? impl_->certificate->check_valid() : ok();
}

Result<Nothing> HttpServer::check_certificate_files() const {
  return impl_->certificate ? impl_->certificate->check_files() : ok();
}

std::optional<SysTime> HttpServer::certificate_expires() const {
  return impl_->certificate ? impl_->certificate->expires() : std::nullopt;
}

HttpReply json_refusal(int status, const std::string& reason) {
  using Json = nlohmann::json;
  return {status, Json{{"error", reason}}.dump(-1, ' ', true, Json::error_handler_t::replace)};
}

}  // namespace nervex
