// nervex-server: the HTTP API through which a job's coordinator asks for replicas and lists them.
#include "base/ops_routes.h"
#include "base/stop.h"
#include "base/tls_flags.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/lease.h"
#include "kube/metrics.h"
#include "server/flags.h"
#include "server/replica_metrics.h"
#include "server/routes.h"

using namespace nervex;  // NOLINT: main only

namespace {

void show(Metrics& metrics, const server::Stores& stores,
          const std::function<std::string()>& not_synced) {
  add_process_metrics(metrics, program_version());
  kube::add_synced_metric(metrics, not_synced);
  kube::add_cache_metrics(metrics, "pods", [&stores] { return stores.pods.size(); });
  kube::add_cache_metrics(metrics, "nervexjobs", [&stores] { return stores.jobs.size(); });
  kube::add_cache_metrics(metrics, "podgroups", [&stores] { return stores.groups.size(); });
  kube::add_cache_metrics(metrics, "nodes", [&stores] { return stores.gpu_nodes.size(); });
  kube::add_cache_metrics(metrics, "aggregatorconfigs",
                          [&stores] { return stores.aggregator_configs.size(); });
  server::add_replica_metrics(metrics, stores);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Answers the replicas API: collectors and learners on request, over HTTP.",
               "nervex-server"};
  server::Flags flags;
  server::add_flags(app, flags);
  if (const auto exit_code = parse_flags(app, argc, argv, flags.common)) return *exit_code;

  StopSignal stop;  // first: later threads inherit the blocked signals
  const auto config = kube::load_config(flags.common.kubeconfig);
  if (!config) return fatal("find the API server", config.error());
  Metrics metrics;
  Health health;
  kube::Client api(*config, "nervex-server", kube::request_observer(metrics, config->url));
  server::Stores stores;
  const SystemClock clock;
  // Names this process as leaders do theirs: by its pod, and by what no other process has.
  server::Replicas replicas(api, stores, clock, {kube::make_lease_identity(), flags.limits});
  server::Caches caches(api, stores, flags.aggregator_config);
  server::Authorizer authorizer(api, stores, clock);
  const auto not_synced = [&caches] { return caches.not_ready(); };
  show(metrics, stores, not_synced);
  health.add_ready("caches", not_synced);

  HttpServer http(
      server::server_options(flags.common.listen, flags.max_connections, tls_of(flags.tls)));
  server::add_routes(http, replicas, flags.auth_by_token ? &authorizer : nullptr, not_synced,
                     metrics);
  if (tls_of(flags.tls)) show_certificate(http, metrics, health);
  add_health_routes(http, health);
  HttpServer ops(ops_options(flags.common.metrics_listen));
  add_ops_routes(ops, metrics, health);

  caches.start();  // from here on there are threads
  if (const auto started = ops.start(); !started) return fatal("serve metrics", started.error());
  if (const auto started = http.start(); !started) return fatal("listen", started.error());
  log_info("nervex-server started",
           {{"port", std::to_string(http.port())}, {"metrics_port", std::to_string(ops.port())}});

  const int exit_code = stop.wait();
  const Ending ending(flags.common.shutdown_delay);
  health.set_stopping();
  api.end_calls_by(ending.calls_end());
  ending.linger();
  http.stop();
  ops.stop();
  return exit_code;
}  // destructors run upwards: watches join before the stores they fill go away
