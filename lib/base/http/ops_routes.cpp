#include "base/http/ops_routes.h"

#include <nlohmann/json.hpp>

#include "base/log.h"

namespace nervex {
namespace {

constexpr const char* kText = "text/plain; charset=utf-8";

HttpReply probe_reply(const Result<Nothing>& health) {
  return health ? HttpReply{200, "ok", kText} : HttpReply{503, health.error().message, kText};
}

bool is_loopback(const std::string& peer) { return peer.starts_with("127.") || peer == "::1"; }

bool is_read(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

HttpReply not_allowed() { return {405, "use GET or PUT\n", kText, {{"Allow", "GET, HEAD, PUT"}}}; }

HttpReply tell_level() {
  return {200, nlohmann::json{{"level", to_string(log_level())}}.dump() + "\n"};
}

// The word alone, as from curl -d, or JSON as in GET's answer.
std::string asked_level(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (json.is_object() && json.contains("level") && json["level"].is_string()) {
    return json["level"].get<std::string>();
  }
  const auto first = body.find_first_not_of(" \r\n\t");
  const auto last = body.find_last_not_of(" \r\n\t");
  return first == std::string::npos ? "" : body.substr(first, last - first + 1);
}

HttpReply set_level(const HttpRequest& request) {
  if (!is_loopback(request.peer)) {
    return {403,
            "the level can be set only from this host, for example through kubectl port-forward\n",
            kText};
  }
  const auto level = parse_log_level(asked_level(request.body));
  if (!level) return {400, "the level must be debug, info, warn or error\n", kText};
  set_log_level(*level);
  log_info("log level set", {{"level", std::string(to_string(*level))}, {"peer", request.peer}});
  return tell_level();
}

}  // namespace

HttpReply answer_log_level(const HttpRequest& request) {
  if (is_read(request)) return tell_level();
  return request.method == "PUT" ? set_level(request) : not_allowed();
}

void add_health_routes(HttpServer& server, const Health& health) {
  server.handle_get("/healthz",
                    [&health](const HttpRequest&) { return probe_reply(health.check_live()); });
  server.handle_get("/readyz",
                    [&health](const HttpRequest&) { return probe_reply(health.check_ready()); });
}

void add_ops_routes(HttpServer& server, const Metrics& metrics, const Health& health) {
  add_health_routes(server, health);
  server.handle_get("/metrics", [&metrics](const HttpRequest&) {
    return HttpReply{200, metrics.text(), kMetricsContentType};
  });
  server.handle("/loglevel", answer_log_level);
}

void show_certificate(const HttpServer& server, Metrics& metrics, Health& health) {
  using Samples = std::vector<MetricSample>;
  health.add_ready("certificate", [&server] { return server.check_certificate(); });
  metrics.collect(
      "nervex_certificate_expiration_timestamp_seconds",
      "Earliest expiry of the certificates in the served chain, in seconds since unix epoch.",
      MetricType::kGauge, [&server] {
        const auto end = server.certificate_expires();
        if (!end) return Samples{};
        const auto since_epoch = end->time_since_epoch();
        return Samples{{{}, std::chrono::duration<double>(since_epoch).count()}};
      });
  metrics.collect("nervex_certificate_problem",
                  "1 if the certificate files cannot be used, else 0; the log says why.",
                  MetricType::kGauge, [&server] {
                    return Samples{{{}, server.check_certificate_files() ? 0.0 : 1.0}};
                  });
}

HttpServerOptions ops_options(const std::string& listen) {
  HttpServerOptions options;
  options.listen = listen;
  options.max_connections = 256;
  options.max_connections_per_peer = 64;  // kubelets must reach it despite any pod
  options.max_body_bytes = 1024;
  options.idle_timeout = std::chrono::seconds(60);
  return options;
}

}  // namespace nervex
