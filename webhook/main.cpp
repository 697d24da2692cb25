// nervex-webhook: admission of NerveXJobs.
#include <thread>

#include <CLI/CLI.hpp>

#include "base/http/ops_routes.h"
#include "base/http/request_metrics.h"
#include "base/memory_budget.h"
#include "kube/manager.h"
#include "webhook/answer.h"
#include "webhook/bounded.h"
#include "webhook/flags.h"
#include "webhook/live_check.h"

namespace nervex::webhook {
namespace {

constexpr const char* kMutatePath = "/mutate-nervex-sensetime-com-v1alpha1-nervexjob";
constexpr const char* kValidatePath = "/validate-nervex-sensetime-com-v1alpha1-nervexjob";

// What all reviews together may take (webhook/bounded.h), and the bodies that they come in:
// with what the program needs for itself, 200 of the 256 MiB that the deployment gives it.
constexpr std::size_t kReviewBytes = std::size_t{112} << 20U;
constexpr std::size_t kBodyBytes = std::size_t{32} << 20U;
// Well within the 5 s that our configurations give a hook: the API server then asks once more.
constexpr std::chrono::milliseconds kReviewTimeout = std::chrono::seconds(2);

HttpServerOptions server_options(const Flags& flags) {
  HttpServerOptions options;
  options.listen = flags.common.listen;
  options.tls = flags.tls;
  options.max_connections = 256;
  options.max_body_bytes = std::size_t{7} << 20U;  // an object of 3 MiB, old and new
  options.max_bytes_in_flight = kBodyBytes;
  options.allow_chunked_bodies = false;  // API servers send Content-Length
  options.refusal = refusal;
  return options;
}

void add_hook(HttpServer& server, const std::string& path, Hook hook, const LiveCheck& check,
              const std::string& server_user, MemoryBudget& memory, Metrics& metrics) {
  const HttpHandler handler =
      bounded(memory, kReviewTimeout, [hook, &check, server_user](const HttpRequest& request) {
        return answer(request, hook, check.current().get(), server_user);
      });
  const RequestMetricNames names{
      "controller_runtime_webhook_requests_total", "controller_runtime_webhook_latency_seconds",
      "controller_runtime_webhook_requests_in_flight", "Admission reviews"};
  server.handle(path, counted(metrics, names, {{"webhook", path}}, code_label, handler));
}

int run(int argc, char** argv) {
  CLI::App app("Validates NerveXJobs at admission and fills in their defaults.", "nervex-webhook");
  Flags flags;
  add_flags(app, flags);
  if (const auto exit_code = parse_flags(app, argc, argv, flags.common)) return *exit_code;

  bound_malloc();
  const auto manager = kube::Manager::create("nervex-webhook", flags.common);
  if (manager == nullptr) return kExitFailure;
  LiveCheck check(manager->client());
  MemoryBudget memory(kReviewBytes);
  manager->health().add_ready("schema", [&check] { return check.not_ready(); });
  HttpServer server(server_options(flags));
  Metrics& metrics = manager->metrics();
  add_hook(server, kMutatePath, Hook::kMutate, check, flags.server_user, memory, metrics);
  add_hook(server, kValidatePath, Hook::kValidate, check, flags.server_user, memory, metrics);
  show_certificate(server, metrics, manager->health());
  manager->add(server);
  std::jthread loader;
  manager->add({[&] {
                  loader = std::jthread(
                      [&check](const std::stop_token& stop) { check.keep_loaded(stop); });
                },
                [&] { loader = {}; }});
  return manager->run();
}

}  // namespace
}  // namespace nervex::webhook

int main(int argc, char** argv) { return nervex::webhook::run(argc, argv); }
