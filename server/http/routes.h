// server/http/routes.h - which address and method does what? HTTP in, HTTP out.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/http/messages.h"
#include "base/http/server.h"
#include "base/metrics.h"
#include "server/http/authorizer.h"
#include "server/replicas.h"

namespace nervex::server {

// The answer to a request for /v1alpha1/replicas.
HttpReply answer_replicas(Replicas& replicas, Authorizer& authorizer, const HttpRequest& request);
// The same for /v1alpha1/replicas/failed.
HttpReply answer_failed(Replicas& replicas, Authorizer& authorizer, const HttpRequest& request);

// The server for coordinators: short-lived callers, as many as there are jobs. Whatever it refuses
// by itself is in the envelope, too.
HttpServerOptions server_options(const std::string& listen, std::size_t max_connections,
                                 std::optional<TlsFiles> tls = std::nullopt);

// Adds the whole API, counted in `metrics`. Until `check_ready` succeeds every replicas request is
// answered success:false, which clients repeat. `replicas`, `authorizer` and `metrics` are used
// until the server has stopped.
void add_routes(HttpServer& server, Replicas& replicas, Authorizer& authorizer,
                std::function<Result<Nothing>()> check_ready, Metrics& metrics);

}  // namespace nervex::server
