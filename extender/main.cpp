// nervex-extender - where does each gang go, and may this pod be bound there?
#include <thread>

#include "base/http_server.h"
#include "base/log.h"
#include "base/ops_routes.h"
#include "base/stop.h"
#include "base/tls_flags.h"
#include "extender/bind.h"
#include "extender/flags.h"
#include "extender/metrics.h"
#include "extender/planner.h"
#include "extender/plans.h"
#include "extender/routes.h"
#include "extender/watches.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/leader_api.h"
#include "kube/metrics.h"

using namespace nervex;  // NOLINT: main only

namespace {

struct Stores {
  kube::Store<kube::Node> nodes;
  kube::Store<kube::Pod> pods;
  kube::Store<gang::PodGroup> groups;
};

void show(Metrics& metrics, const Stores& stores, const extender::Planner& planner,
          const kube::Leadership& leadership, const std::function<std::string()>& not_synced) {
  add_process_metrics(metrics, program_version());
  kube::add_queue_metrics(metrics, "planner", planner.queue());
  kube::add_leader_metrics(metrics, "nervex-extender", leadership);
  kube::add_synced_metric(metrics, not_synced);
  kube::add_cache_metrics(metrics, "nodes", [&stores] { return stores.nodes.size(); });
  kube::add_cache_metrics(metrics, "pods", [&stores] { return stores.pods.size(); });
  kube::add_cache_metrics(metrics, "podgroups", [&stores] { return stores.groups.size(); });
  extender::add_gang_metrics(metrics, stores.groups);
}

}  // namespace

int main(int argc, char** argv) {
  extender::Flags flags;
  if (const auto code = extender::parse(argc, argv, flags)) return *code;
  StopSignal stop;  // first: later threads inherit the blocked signals
  const auto config = kube::load_config(flags.common.kubeconfig);
  if (!config) return fatal("configuration", config.error());

  const SystemClock clock;
  Metrics metrics;
  Health health;
  const auto observer = kube::request_observer(metrics, config->url);
  kube::Client client(*config, "nervex-extender", observer);
  kube::Client lease_client(kube::lease_connection(*config, flags.leader),
                            "nervex-extender/leader-election", observer);
  kube::Leadership leadership(lease_client, clock, kube::lease_options(flags.leader),
                              [&stop] { stop.fail(); });
  kube::LeaderApi planner_api(client, leadership);
  Stores stores;
  extender::Plans plans(stores.groups);
  extender::Planner planner(planner_api, plans, clock);
  planner.observe_cycles(extender::cycle_observer(metrics));
  extender::Binder binder(client, plans, stores.pods);  // every replica binds
  extender::Watches watches(client, stores.nodes, stores.pods, stores.groups, plans, planner);
  const auto not_synced = [&watches] { return watches.not_synced(); };
  // Filter and bind need synced caches, and any replica answers them. A leader's planner needs what
  // the leader before it wrote as well.
  const auto not_current = [&watches] {
    auto reason = watches.not_synced();
    return reason.empty() ? watches.not_fresh() : reason;
  };
  show(metrics, stores, planner, leadership, not_synced);
  health.add_live("leader-election", [&leadership] { return leadership.not_live(); });
  health.add_ready("leader-election", [&leadership] { return leadership.not_ready(); });
  health.add_ready("caches", not_current);
  HttpServer server(extender::server_options(flags.common.listen, tls_of(flags.tls)));
  extender::add_routes(server, plans, binder, not_synced, metrics);
  if (tls_of(flags.tls)) show_certificate(server, metrics, health);
  add_health_routes(server, health);
  HttpServer ops(ops_options(flags.common.metrics_listen));
  add_ops_routes(ops, metrics, health);

  watches.start();  // from here on there are threads
  if (auto started = ops.start(); !started) return fatal("serve metrics", started.error());
  if (auto started = server.start(); !started) return fatal("serve", started.error());
  leadership.start();
  std::jthread planning([&](const std::stop_token& stopped) {
    if (!leadership.wait(stopped)) return;
    watches.refresh();
    planner.run(stopped, [&] { return not_current().empty(); });
  });
  log_info("nervex-extender started",
           {{"port", std::to_string(server.port())}, {"metrics_port", std::to_string(ops.port())}});

  const int exit_code = stop.wait();
  const Ending ending(flags.common.shutdown_delay);
  health.set_stopping();
  client.end_calls_by(ending.calls_end());
  lease_client.end_calls_by(ending.lease_calls_end());
  ending.linger();
  server.stop();
  planning.request_stop();
  planning.join();  // before the lease is given back: a pass writes
  ops.stop();
  leadership.release();
  return exit_code;
}  // destructors run upwards: the watches end before what they fill
