// nervex-controller - which objects does each NerveXJob need now?
#include "base/http_server.h"
#include "base/log.h"
#include "controller/flags.h"
#include "controller/runner.h"
#include "controller/watches.h"
#include "kube/client.h"
#include "kube/config.h"

using namespace nervex;  // NOLINT: main only

int main(int argc, char** argv) {
  controller::Flags flags;
  if (const auto code = controller::parse(argc, argv, flags)) return *code;
  StopSignal stop;  // first: later threads inherit the blocked signals
  const auto config = kube::load_config(flags.common.kubeconfig);
  if (!config) return fatal("configuration", config.error());

  const SystemClock clock;
  kube::Client api(*config, "nervex-controller");
  kube::EventRecorder events(api, clock, "nervex-controller");
  kube::WorkQueue queue(clock);
  controller::Caches caches;
  controller::Performer performer(api, caches, events);
  controller::Worker worker(api, caches, queue, performer, clock,
                            {flags.server_url, flags.aggregator_config, flags.server_token});
  controller::Watches watches(api, caches, queue);
  const auto not_synced = [&watches] { return watches.not_synced(); };
  HttpServerOptions options;
  options.listen = flags.common.listen;
  HttpServer server(options);
  add_health_routes(server, not_synced);

  watches.start();  // from here on there are threads
  if (auto started = server.start(); !started) return fatal("server", started.error());
  controller::Runner runner(queue, worker, not_synced);
  runner.start(flags.workers);
  log_info("nervex-controller works", {{"port", std::to_string(server.port())}});

  stop.wait();
  server.stop();
  return kExitOk;
}  // destructors run upwards: workers finish before the watches, they before what they fill
