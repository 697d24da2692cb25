// nervex-controller - which objects does each NerveXJob need now?
#include "base/http_server.h"
#include "base/log.h"
#include "base/ops_routes.h"
#include "base/stop.h"
#include "controller/flags.h"
#include "controller/observe/watches.h"
#include "controller/runner.h"
#include "kube/access_review.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/leader_api.h"
#include "kube/metrics.h"

using namespace nervex;  // NOLINT: main only

namespace {

void show(Metrics& metrics, const controller::Caches& caches, const kube::WorkQueue& queue,
          const kube::Leadership& leadership, const std::function<std::string()>& not_synced) {
  add_process_metrics(metrics, program_version());
  kube::add_queue_metrics(metrics, controller::kControllerName, queue);
  kube::add_leader_metrics(metrics, "nervex-controller", leadership);
  kube::add_synced_metric(metrics, not_synced);
  kube::add_cache_metrics(metrics, "nervexjobs", [&] { return caches.jobs.size(); });
  kube::add_cache_metrics(metrics, "pods", [&] { return caches.pods.size(); });
  kube::add_cache_metrics(metrics, "services", [&] { return caches.services.size(); });
  kube::add_cache_metrics(metrics, "podgroups", [&] { return caches.pod_groups.size(); });
  kube::add_cache_metrics(metrics, "aggregatorconfigs",
                          [&] { return caches.aggregator_configs.size(); });
  kube::add_cache_metrics(metrics, "priorityclasses",
                          [&] { return caches.priority_classes.size(); });
}

}  // namespace

int main(int argc, char** argv) {
  controller::Flags flags;
  if (const auto code = controller::parse(argc, argv, flags)) return *code;
  StopSignal stop;  // first: later threads inherit the blocked signals
  const auto config = kube::load_config(flags.common.kubeconfig);
  if (!config) return fatal("configuration", config.error());

  const SystemClock clock;
  Metrics metrics;
  Health health;
  const auto observer = kube::request_observer(metrics, config->url);
  kube::Client client(*config, "nervex-controller", observer);
  kube::Client lease_client(kube::lease_connection(*config, flags.leader),
                            "nervex-controller/leader-election", observer);
  kube::Leadership leadership(lease_client, clock, kube::lease_options(flags.leader),
                              [&stop] { stop.fail(); });
  kube::AccessReviewApi reviewed(client);
  kube::LeaderApi api(reviewed, leadership);
  kube::EventRecorder events(client, clock, "nervex-controller");
  kube::WorkQueue queue(clock);
  controller::Caches caches;
  controller::Performer performer(api, caches, events);
  controller::Worker worker(api, caches, queue, performer, clock,
                            {flags.server_url, flags.aggregator_config, flags.server_token,
                             flags.status_update_period, flags.retry_delay});
  controller::Watches watches(client, caches, queue, flags.status_update_period);
  const auto not_synced = [&watches] { return watches.not_synced(); };
  const auto not_current = [&watches] {
    auto reason = watches.not_synced();
    return reason.empty() ? watches.not_fresh() : reason;
  };
  show(metrics, caches, queue, leadership, not_synced);
  const controller::RoundMetrics rounds(metrics, flags.workers);
  health.add_live("leader-election", [&leadership] { return leadership.not_live(); });
  health.add_ready("leader-election", [&leadership] { return leadership.not_ready(); });
  health.add_ready("caches", not_current);
  HttpServer ops(ops_options(flags.common.metrics_listen));
  add_ops_routes(ops, metrics, health);
  controller::Runner runner(
      queue, worker, leadership, [&watches] { watches.refresh(); }, not_current, rounds);

  watches.start();  // from here on there are threads
  events.start();
  if (auto started = ops.start(); !started) return fatal("serve metrics", started.error());
  leadership.start();
  runner.start(flags.workers);
  log_info("nervex-controller started", {{"metrics_port", std::to_string(ops.port())}});

  const int exit_code = stop.wait();
  const Ending ending(flags.common.shutdown_delay);
  health.set_stopping();
  client.end_calls_by(ending.calls_end());
  lease_client.end_calls_by(ending.lease_calls_end());
  ending.linger();
  runner.stop();  // before the lease is given back: its rounds write
  ops.stop();
  leadership.release();
  return exit_code;
}  // destructors run upwards: the watches end before what they fill
