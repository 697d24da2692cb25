// nervex-server: the HTTP API through which a job's coordinator asks for replicas and lists them.
#include "kube/client.h"
#include "kube/config.h"
#include "server/flags.h"
#include "server/routes.h"

using namespace nervex;

int main(int argc, char** argv) {
  CLI::App app{"Answers the replicas API: collectors and learners on request, over HTTP.",
               "nervex-server"};
  server::Flags flags;
  server::add_flags(app, flags);
  if (const auto exit_code = parse_flags(app, argc, argv, flags.common)) return *exit_code;

  StopSignal stop;  // first: later threads inherit the blocked signals
  const auto config = kube::load_config(flags.common.kubeconfig);
  if (!config) return fatal("find the API server", config.error());
  kube::Client api(*config, "nervex-server");
  server::Stores stores;
  server::Replicas replicas(api, stores);
  server::Caches caches(api, stores);
  const SystemClock clock;
  server::Gate gate(api, stores, clock);

  HttpServerOptions options;
  options.listen = flags.common.listen;
  options.max_connections = flags.max_connections;
  options.idle_timeout = std::chrono::seconds(60);  // clients poll every second, and reconnect
  options.internal_error = server::failure({Code::kInternal, "internal error"});
  HttpServer http(options);
  server::add_routes(http, replicas, flags.auth_by_token ? &gate : nullptr,
                     [&caches] { return caches.not_ready(); });

  caches.start();  // from here on there are threads
  if (const auto started = http.start(); !started) return fatal("listen", started.error());
  log_info("serving", {{"port", std::to_string(http.port())}});

  stop.wait();
  http.stop();
  return kExitOk;
}  // destructors run upwards: watches join before the stores they fill go away
