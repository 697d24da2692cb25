// server/http/routes.h - which address and method does what? HTTP in, HTTP out.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/counted_turns.h"
#include "base/http/messages.h"
#include "base/http/server.h"
#include "base/log.h"
#include "base/metrics.h"
#include "server/http/authorizer.h"
#include "server/replicas.h"

namespace nervex::server {

// What all requests share.
struct RequestLimits {
  // `of_one_caller`: how many requests of one user, or of pods with one ServiceAccount, are
  // answered at a time. More are told to ask again. Of callers who are not identified the server
  // bounds the connections from each address.
  explicit RequestLimits(std::size_t of_one_caller) : under_way(of_one_caller) {}

  CountedTurns under_way;
  // Lines a second; all are counted in nervex_server_requests_total. A flood of nonsense must not
  // hide who was turned away for a missing token or right.
  LogLimit refusals{10};
  LogLimit denials{10};
};

// The answer to a request for /v1alpha1/replicas.
HttpReply answer_replicas(Replicas& replicas, Authorizer& authorizer, RequestLimits& limits,
                          const HttpRequest& request);
// The same for /v1alpha1/replicas/failed.
HttpReply answer_failed(Replicas& replicas, Authorizer& authorizer, RequestLimits& limits,
                        const HttpRequest& request);

// What one caller may take of `max_connections`, unless a flag says otherwise: a quarter.
std::size_t part_of_one_caller(std::size_t max_connections);

// The server for coordinators: short-lived callers, as many as there are jobs. Whatever it refuses
// by itself is in the envelope, too. `max_per_address`: connections from one address; 0:
// part_of_one_caller().
HttpServerOptions server_options(const std::string& listen, std::size_t max_connections,
                                 std::optional<TlsFiles> tls = std::nullopt,
                                 std::size_t max_per_address = 0);

// Adds the whole API, counted in `metrics`. Until `check_ready` succeeds every replicas request is
// answered success:false, which clients repeat. All are used until the server has stopped.
void add_routes(HttpServer& server, Replicas& replicas, Authorizer& authorizer,
                RequestLimits& limits, std::function<Result<Nothing>()> check_ready,
                Metrics& metrics);

}  // namespace nervex::server
