// nervex-extender - where does each gang go, and may this pod be bound there?
#include "base/http/ops_routes.h"
#include "base/tls/flags.h"
#include "extender/act/lost_nodes.h"
#include "extender/act/parallelize.h"
#include "extender/act/planner.h"
#include "extender/act/simulator.h"
#include "extender/bind/bind.h"
#include "extender/bind/holds.h"
#include "extender/bind/routes.h"
#include "extender/flags.h"
#include "extender/metrics.h"
#include "extender/observe/cluster_cache.h"
#include "extender/watches.h"
#include "kube/events.h"
#include "kube/leader/leadership.h"
#include "kube/manager.h"
#include "kube/metrics.h"

using namespace nervex;  // NOLINT: main only

int main(int argc, char** argv) {
  extender::Flags flags;
  if (const auto code = extender::parse(argc, argv, flags)) return *code;
  const auto manager = kube::Manager::create("nervex-extender", flags.common, &flags.leader);
  if (manager == nullptr) return kExitFailure;
  kube::Reflectors& caches = manager->caches();

  kube::LeaderApi planner_api(manager->client(), manager->leadership());
  extender::Stores stores;
  extender::ClusterCache cache(stores.groups, stores.pods, stores.volumes, manager->clock());
  cache.set_node_labels({flags.node_class_label, flags.topology_levels});
  extender::Planner planner(planner_api, cache.planner, manager->clock(), flags.cycle,
                            flags.plan_expiry, extender::kParallelism);
  extender::Holds holds(cache.binds, manager->clock(), flags.holds);
  cache.observe_folds([&holds](const std::string& uid) { holds.group_changed(uid); });
  extender::LostNodes lost_nodes(planner_api, stores.nodes, stores.pods, manager->clock(),
                                 flags.node_lost_after);
  kube::EventRecorder events(manager->client(), manager->clock(), "nervex-extender");
  planner.tell_events_to(events);
  planner.begin_cycles_with([&lost_nodes] { return lost_nodes.mark_pods(); });
  extender::Simulator simulator(planner_api, cache.planner, stores.groups, stores.volumes,
                                stores.simulations, manager->clock(), flags.cycle,
                                flags.aggregator_config);
  extender::add_watches(caches, stores, cache.updates, holds, planner, lost_nodes, simulator);
  extender::Binder binder(manager->client(), cache.binds, holds, stores.pods,
                          manager->clock());  // every replica binds
  binder.wake_planner_with([&planner] { planner.wake(); });
  planner.observe_cycles(extender::cycle_observer(manager->metrics()));
  kube::add_queue_metrics(manager->metrics(), "planner", planner.queue());
  kube::add_queue_metrics(manager->metrics(), "simulations", simulator.queue());
  extender::add_gang_metrics(manager->metrics(), stores.groups);
  extender::add_hold_metrics(manager->metrics(), holds);
  extender::add_queue_metrics(manager->metrics(), planner.queues(), manager->clock());
  planner.observe_preemptions(extender::preemption_observer(manager->metrics()));
  planner.observe_starts(extender::start_observer(manager->metrics(), manager->clock()));

  HttpServer server(extender::server_options(flags.common.listen, flags.holds.most_calls,
                                             optional_tls_files(flags.tls)));
  // Every replica answers filter and bind, as soon as its caches are synced.
  extender::add_routes(
      server, cache.binds, binder, [&caches] { return caches.check_synced(); }, manager->metrics());
  if (optional_tls_files(flags.tls))
    show_certificate(server, manager->metrics(), manager->health());
  manager->add(server);
  manager->add({[&] { events.start(); }, {}});
  manager->at_stop([&holds] { holds.stop(); });
  // A new leader first brings each cache to the version that the API server has now, so that it
  // sees what the leader before it wrote. Only then it plans.
  manager->add_thread([&](const std::stop_token& stop) {
    if (!manager->leadership().wait(stop)) return;
    caches.refresh();
    if (caches.wait_until_current(stop)) planner.run(stop);
  });
  manager->add_thread([&](const std::stop_token& stop) {
    if (!manager->leadership().wait(stop)) return;
    if (caches.wait_until_current(stop)) simulator.run(stop);
  });
  return manager->run();
}
