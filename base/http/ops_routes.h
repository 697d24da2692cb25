// base/http/ops_routes.h - what do probes, Prometheus and administrators ask a program over HTTP?
#pragma once

#include <string>

#include "base/health.h"
#include "base/http/server.h"
#include "base/metrics.h"

namespace nervex {

// GET /healthz and /readyz: 200, or 503 with the reasons, one a line. `health` is borrowed for the
// server's life.
void add_health_routes(HttpServer& server, const Health& health);

// The listener that is not for the program's callers: health, GET /metrics, and /loglevel.
//   GET /loglevel              -> {"level":"info"}
//   PUT /loglevel  debug       (or {"level":"debug"}) -> the same, or 400
// PUT is for who is on this host or comes through `kubectl port-forward`, both of which arrive on
// loopback; others get 403. Both arguments are borrowed for the server's life.
void add_ops_routes(HttpServer& server, const Metrics& metrics, const Health& health);

// Of a server with TLS: not ready once its certificate has expired, and for alerts
// nervex_certificate_expiration_timestamp_seconds and nervex_certificate_problem (1: the files hold
// something else than what is in use). All are borrowed for the server's life.
void show_certificate(const HttpServer& server, Metrics& metrics, Health& health);

// The answer to a request for /loglevel; the peer decides whether PUT is allowed.
HttpReply answer_log_level(const HttpRequest& request);

// Small requests.
HttpServerOptions ops_options(const std::string& listen);

}  // namespace nervex
