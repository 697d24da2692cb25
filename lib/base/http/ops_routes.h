// base/http/ops_routes.h - which routes serve probes, Prometheus and administrators?
#pragma once

#include <string>

#include "base/health.h"
#include "base/http/server.h"
#include "base/metrics.h"

namespace nervex {

// GET /healthz and /readyz: 200, or 503 with one reason per line. `health` is borrowed for the
// server's life.
void add_health_routes(HttpServer& server, const Health& health);

// For the listener that the program's callers do not use: health, GET /metrics, and /loglevel.
//   GET /loglevel              -> {"level":"info"}
//   PUT /loglevel  debug       (or {"level":"debug"}) -> the same, or 400
// PUT is only for clients on this host or through `kubectl port-forward`, both of which arrive on
// loopback; others get 403. Both arguments are borrowed for the server's life.
void add_ops_routes(HttpServer& server, const Metrics& metrics, const Health& health);

// For a server with TLS: not ready once its certificate has expired. Adds metrics for alerts:
// nervex_certificate_expiration_timestamp_seconds and nervex_certificate_problem (1: the files
// differ from what is in use, or are not valid). All arguments are borrowed for the server's life.
void show_certificate(const HttpServer& server, Metrics& metrics, Health& health);

// The answer to a request for /loglevel; PUT depends on the peer.
HttpReply answer_log_level(const HttpRequest& request);

// For small requests.
HttpServerOptions ops_options(const std::string& listen);

}  // namespace nervex
