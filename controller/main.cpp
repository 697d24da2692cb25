// nervex-controller - which objects does each NerveXJob need now?
#include "base/malloc.h"
#include "controller/act/dry_run.h"
#include "controller/act/endpoint_slices.h"
#include "controller/flags.h"
#include "controller/observe/stores.h"
#include "controller/worker.h"
#include "kube/access_review.h"
#include "kube/leader/leadership.h"
#include "kube/manager.h"
#include "kube/metrics.h"

using namespace nervex;  // NOLINT: main only

int main(int argc, char** argv) {
  controller::Flags flags;
  if (const auto code = controller::parse(argc, argv, flags)) return *code;
  const auto manager =
      kube::Manager::create("nervex-controller", flags.common, &flags.leader, flags.connections());
  if (manager == nullptr) return kExitFailure;

  // A parsed job is large for a moment, and then packed.
  manager->add_thread(keep_giving_memory_back);

  kube::AccessReviewApi reviewed(manager->client());
  kube::LeaderApi api(reviewed, manager->leadership());
  kube::EventRecorder events(manager->client(), manager->clock(), "nervex-controller");
  controller::Queues queues(manager->clock());
  controller::Stores stores;
  stores.group_pods.set_limit(flags.max_pods_per_namespace);
  controller::add_watches(manager->caches(), stores, queues, flags.aggregator_config);
  controller::WritePool pool(static_cast<std::size_t>(flags.concurrent_writes));
  controller::Performer performer(api, stores, events, pool);
  const controller::ObserveOptions options{flags.server_url,       flags.aggregator_config,
                                           flags.server_token,     flags.status_update_period,
                                           flags.retry_delay,      flags.shared_services,
                                           flags.direct_placement, flags.max_reservation_seconds,
                                           flags.start_timeout,    flags.max_termination_grace};
  controller::Worker worker(api, stores, queues, performer, manager->clock(), options);
  controller::EndpointSliceWriter slices(api, stores, queues.endpoint_slices, events,
                                         manager->clock());
  kube::AccessReviewApi dry_run_api(manager->add_client(controller::kPodDryRunTimeout, 1));
  controller::PodDryRuns dry_runs(dry_run_api, stores, queues.jobs, manager->clock(), options);
  const controller::RoundMetrics rounds(manager->metrics(), flags.workers);
  kube::add_queue_metrics(manager->metrics(), controller::kControllerName, queues.jobs);
  kube::add_queue_metrics(manager->metrics(), "endpointslice", queues.endpoint_slices);
  controller::Runner runner(manager->leadership(), manager->caches());
  manager->add({[&] { events.start(); }, {}});
  manager->add_thread([&dry_runs](const std::stop_token& stop) { dry_runs.run(stop); });
  manager->add({[&] {
                  runner.start(queues.jobs, flags.workers,
                               [&](const std::string& key) { rounds.process(worker, key); });
                  runner.start(queues.endpoint_slices, 1,
                               [&](const std::string& key) { slices.process(key); });
                },
                [&] {
                  pool.stop();  // before the runner, which waits for the rounds under way
                  runner.stop();
                }});
  return manager->run();
}
