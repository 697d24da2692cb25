// webhook/routes.h - which path of the webhook calls which hook, within which limits?
#pragma once

#include "base/http/server.h"
#include "base/memory_budget.h"
#include "base/metrics.h"
#include "webhook/flags.h"
#include "webhook/live_check.h"
#include "webhook/nodes.h"
#include "webhook/recent_answers.h"
#include "webhook/template_dry_run.h"

namespace nervex::webhook {

// The server for the API server's calls: TLS, and limits on connections and on bodies in flight.
HttpServerOptions server_options(const Flags& flags);

// Memory limit of all reviews together (webhook/bounded.h). With their bodies and the program's own
// needs: 200 of the deployment's 256 MiB.
inline constexpr std::size_t kReviewBytes = std::size_t{112} << 20U;
// The share of reviews from one address, if any client may send them: they hold it while they wait
// for a turn to ask the API server. 0: no separate limit.
std::size_t review_bytes_of_one_address(const Flags& flags);

// Adds both hooks, counted in `metrics`. `nodes` may be null. A review waits at most 2 s for its
// part of `memory`: our configurations give a hook 5 s, so the API server has time for one retry.
// All arguments are borrowed for the server's life.
void add_routes(HttpServer& server, LiveCheck& check, TemplateDryRuns& dry_runs,
                RecentAnswers& answers, Nodes* nodes, const Flags& flags, MemoryBudget& memory,
                Metrics& metrics);

}  // namespace nervex::webhook
