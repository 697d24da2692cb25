// nervex-server: the HTTP API for a job's coordinator to request and list replicas.
#include "base/clock.h"
#include "base/http/ops_routes.h"
#include "base/malloc.h"
#include "base/tls/flags.h"
#include "kube/leader/lease.h"
#include "kube/manager.h"
#include "server/flags.h"
#include "server/http/authorizer.h"
#include "server/http/routes.h"
#include "server/replica_metrics.h"
#include "server/replicas.h"
#include "server/stores.h"

using namespace nervex;  // NOLINT: main only

int main(int argc, char** argv) {
  give_large_blocks_back();
  server::Flags flags;
  if (const auto code = server::parse(argc, argv, flags)) return *code;
  const auto manager = kube::Manager::create("nervex-server", flags.common);
  if (manager == nullptr) return kExitFailure;

  manager->add_thread(keep_giving_memory_back);

  server::Stores stores;
  server::add_watches(manager->caches(), stores,
                      kube::NamespacedName::parse(flags.aggregator_config));
  // Names this process as leader election does: its pod, and a unique suffix.
  server::Replicas replicas(manager->client(), stores, manager->clock(),
                            {.writer = kube::make_lease_identity(), .limits = flags.limits});
  const auto tokenless = flags.auth == server::AuthMode::kTransition ? server::Tokenless::kByAddress
                                                                     : server::Tokenless::kRefused;
  const auto authorizer =
      flags.auth == server::AuthMode::kNone
          ? server::allow_all()
          : server::authorize_by_token(manager->client(), stores, manager->clock(), tokenless);
  server::add_replica_metrics(manager->metrics(), stores);

  server::RequestLimits limits(server::part_of_one_caller(flags.max_connections));
  HttpServer http(server::server_options(flags.common.listen, flags.max_connections,
                                         optional_tls_files(flags.tls),
                                         flags.max_connections_per_address));
  server::add_routes(
      http, replicas, *authorizer, limits, [&manager] { return manager->caches().check_synced(); },
      manager->metrics());
  if (optional_tls_files(flags.tls)) show_certificate(http, manager->metrics(), manager->health());
  manager->add(http);
  return manager->run();
}
