// extender/bind/routes.h - how are kube-scheduler's calls answered? HTTP in front of filter and
// bind.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/http/server.h"
#include "base/metrics.h"
#include "extender/bind/bind.h"
#include "extender/observe/bind_cache.h"
#include "planner/bind/filter.h"

namespace nervex::extender {

// The input of filter() for this pod, once all caches are synced.
planner::FilterView filter_view(const BindCache& cache, const kube::FilterArgs& args);

// The server for kube-scheduler on `listen`, with connections for `most_held` held calls and for
// others. kube-scheduler ignores the body of any status but 200, so a handler that throws and a
// request that is too large are also answered 200 with the error in `Error`:
// docs/adr/2026-11-22-pod-groups-and-plans.md.
HttpServerOptions server_options(const std::string& listen, std::size_t most_held,
                                 std::optional<TlsFiles> tls = std::nullopt);

// POST /filter and /bind: always 200, and counted in `metrics`. `check_ready` succeeds once all
// caches are synced; until then filter and bind answer with an error. Borrows all arguments for the
// server's life.
void add_routes(HttpServer& server, BindCache& cache, Binder& binder,
                const std::function<Result<Nothing>()>& check_ready, Metrics& metrics);

}  // namespace nervex::extender
