// nervex-extender - where does each gang go, and may this pod be bound there?
#include <thread>

#include "base/http_server.h"
#include "base/log.h"
#include "extender/bind.h"
#include "extender/flags.h"
#include "extender/planner.h"
#include "extender/plans.h"
#include "extender/routes.h"
#include "extender/watches.h"
#include "kube/client.h"
#include "kube/config.h"

using namespace nervex;  // NOLINT: main only

int main(int argc, char** argv) {
  extender::Flags flags;
  if (const auto code = extender::parse(argc, argv, flags)) return *code;
  StopSignal stop;  // first: later threads inherit the blocked signals
  const auto config = kube::load_config(flags.common.kubeconfig);
  if (!config) return fatal("configuration", config.error());

  const SystemClock clock;
  kube::Client api(*config, "nervex-extender");
  kube::Store<kube::Node> nodes;
  kube::Store<kube::Pod> pods;
  kube::Store<gang::PodGroup> groups;
  extender::Plans plans(groups);
  extender::Planner planner(api, plans, clock);
  extender::Binder binder(api, plans, pods);
  extender::Watches watches(api, nodes, pods, groups, plans, planner);
  const auto not_ready = [&watches] { return watches.not_synced(); };
  HttpServer server(extender::server_options(flags.common.listen));
  extender::add_routes(server, plans, binder, not_ready);

  watches.start();  // from here on there are threads
  if (auto started = server.start(); !started) return fatal("server", started.error());
  std::jthread planning([&](const std::stop_token& stopped) {
    planner.run(stopped, [&] { return not_ready().empty(); });
  });
  log_info("nervex-extender listens", {{"port", std::to_string(server.port())}});

  stop.wait();
  server.stop();
  return kExitOk;
}  // destructors run upwards: the planner stops before the watches, they before what they fill
