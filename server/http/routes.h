// server/http/routes.h - which path and method does what? HTTP in, HTTP out.
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

// State shared by all requests.
struct RequestLimits {
  // `of_one_caller`: concurrent requests of one user, or of pods with one ServiceAccount. More are
  // told to retry. For unidentified callers the server limits connections per address.
  explicit RequestLimits(std::size_t of_one_caller) : under_way(of_one_caller) {}

  CountedTurns under_way;
  // Lines per second; nervex_server_requests_total counts all. A flood of invalid requests must not
  // hide callers that were refused for a missing token or right.
  LogLimit refusals{10};
  LogLimit denials{10};
};

// The answer to a request for /v1alpha1/replicas.
HttpReply answer_replicas(Replicas& replicas, Authorizer& authorizer, RequestLimits& limits,
                          const HttpRequest& request);
// The same for /v1alpha1/replicas/failed.
HttpReply answer_failed(Replicas& replicas, Authorizer& authorizer, RequestLimits& limits,
                        const HttpRequest& request);

// One caller's share of `max_connections`, unless a flag sets another: a quarter.
std::size_t part_of_one_caller(std::size_t max_connections);

// The server for coordinators: short-lived callers, as many as there are jobs. Its own refusals
// also use the envelope. `max_per_address`: connections from one address; 0: part_of_one_caller().
HttpServerOptions server_options(const std::string& listen, std::size_t max_connections,
                                 std::optional<TlsFiles> tls = std::nullopt,
                                 std::size_t max_per_address = 0);

// Adds the whole API, counted in `metrics`. Until `check_ready` succeeds, replicas requests get
// success:false, which clients repeat. All arguments are used until the server has stopped.
void add_routes(HttpServer& server, Replicas& replicas, Authorizer& authorizer,
                RequestLimits& limits, std::function<Result<Nothing>()> check_ready,
                Metrics& metrics);

}  // namespace nervex::server
