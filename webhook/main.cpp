// nervex-webhook - is a NerveXJob well-formed and allowed?
#include <optional>

#include "base/http/ops_routes.h"
#include "kube/manager.h"
#include "webhook/bounded.h"
#include "webhook/flags.h"
#include "webhook/live_check.h"
#include "webhook/nodes.h"
#include "webhook/recent_answers.h"
#include "webhook/routes.h"
#include "webhook/template_dry_run.h"

using namespace nervex;  // NOLINT: main only

// Read by jemalloc, which stores a review's JSON tree in a fifth less memory than glibc's malloc.
// Two arenas: as many threads usually get CPU time. Memory of finished reviews returns to the
// system within seconds, even without another review.
extern "C" const char* const malloc_conf =
    "narenas:2,background_thread:true,dirty_decay_ms:2000,muzzy_decay_ms:0";

int main(int argc, char** argv) {
  webhook::Flags flags;
  if (const auto code = webhook::parse(argc, argv, flags)) return *code;

  const auto manager = kube::Manager::create("nervex-webhook", flags.common);
  if (manager == nullptr) return kExitFailure;
  webhook::LiveCheck check(manager->client(), manager->clock());
  manager->health().add_ready("schema", [&check] { return check.check_ready(); });
  manager->add_thread([&check](const std::stop_token& stop) { check.keep_loaded(stop); });

  const HttpServerOptions options = webhook::server_options(flags);
  // Each concurrent review may ask.
  kube::Client& quick = manager->add_client(webhook::kDryRunTimeout, options.max_connections);
  webhook::TemplateDryRuns dry_runs(quick, flags.dry_run_namespace, manager->clock());
  webhook::RecentAnswers recent(quick, manager->clock());
  std::optional<webhook::Nodes> nodes;
  if (flags.capacity != webhook::Strictness::kOff) {
    nodes.emplace(manager->caches(), manager->clock());
  }

  MemoryBudget memory(webhook::kReviewBytes, webhook::review_bytes_of_one_address(flags));
  HttpServer server(options);
  webhook::add_routes(server, check, dry_runs, recent, nodes ? &*nodes : nullptr, flags, memory,
                      manager->metrics());
  show_certificate(server, manager->metrics(), manager->health());
  manager->add(server);
  return manager->run();
}
