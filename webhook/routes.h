// webhook/routes.h - which address of the webhook answers which hook, within which limits?
#pragma once

#include "base/http/server.h"
#include "base/memory_budget.h"
#include "base/metrics.h"
#include "webhook/flags.h"
#include "webhook/live_check.h"
#include "webhook/nodes.h"
#include "webhook/template_dry_run.h"

namespace nervex::webhook {

// The server for the API server's calls: TLS, and limits on connections and on bodies in flight.
HttpServerOptions server_options(const Flags& flags);

// What all reviews together may take (webhook/bounded.h). With the bodies that they come in and
// with what the program needs for itself: 200 of the 256 MiB that the deployment gives it.
inline constexpr std::size_t kReviewBytes = std::size_t{112} << 20U;
// Of that, reviews from one address, if anybody may send them: they keep it while they wait for a
// turn to ask the API server. 0: no limit of its own.
std::size_t review_bytes_of_one_address(const Flags& flags);

// Both hooks, counted in `metrics`. `api` should not wait for longer than a second; `nodes` may be
// null. A review waits at most 2 s for its part of `memory`: our configurations give a hook 5 s, so
// that the API server has time to ask once more. All are borrowed for the server's life.
void add_routes(HttpServer& server, LiveCheck& check, TemplateDryRuns& dry_runs, kube::Api& api,
                Nodes* nodes, const Flags& flags, MemoryBudget& memory, Metrics& metrics);

}  // namespace nervex::webhook
