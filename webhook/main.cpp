// nervex-webhook - is a NerveXJob well-formed and allowed?
#include "base/http/ops_routes.h"
#include "kube/manager.h"
#include "webhook/flags.h"
#include "webhook/live_check.h"
#include "webhook/routes.h"

using namespace nervex;  // NOLINT: main only

int main(int argc, char** argv) {
  webhook::Flags flags;
  if (const auto code = webhook::parse(argc, argv, flags)) return *code;

  bound_malloc();
  const auto manager = kube::Manager::create("nervex-webhook", flags.common);
  if (manager == nullptr) return kExitFailure;
  webhook::LiveCheck check(manager->client());
  manager->health().add_ready("schema", [&check] { return check.check_ready(); });
  manager->add_thread([&check](const std::stop_token& stop) { check.keep_loaded(stop); });

  MemoryBudget memory(webhook::kReviewBytes);
  HttpServer server(webhook::server_options(flags));
  webhook::add_routes(server, check, flags, memory, manager->metrics());
  show_certificate(server, manager->metrics(), manager->health());
  manager->add(server);
  return manager->run();
}
