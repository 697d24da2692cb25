#include "webhook/routes.h"

#include "base/http/request_metrics.h"
#include "webhook/answer.h"
#include "webhook/bounded.h"

namespace nervex::webhook {
namespace {

constexpr std::size_t kMaxBody = std::size_t{7} << 20U;  // an object of 3 MiB, old and new
constexpr std::size_t kBodyBytes = std::size_t{32} << 20U;
constexpr std::chrono::milliseconds kReviewTimeout = std::chrono::seconds(2);

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

}  // namespace

HttpServerOptions server_options(const Flags& flags) {
  HttpServerOptions options;
  options.listen = flags.common.listen;
  options.tls = flags.tls;
  options.max_connections = 256;
  options.max_body_bytes = kMaxBody;
  options.max_bytes_in_flight = kBodyBytes;
  options.allow_chunked_bodies = false;  // API servers send Content-Length
  options.refusal = refusal;
  return options;
}

void add_routes(HttpServer& server, const LiveCheck& check, const Flags& flags,
                MemoryBudget& memory, Metrics& metrics) {
  add_hook(server, "/mutate-nervex-sensetime-com-v1alpha1-nervexjob", Hook::kMutate, check,
           flags.server_user, memory, metrics);
  add_hook(server, "/validate-nervex-sensetime-com-v1alpha1-nervexjob", Hook::kValidate, check,
           flags.server_user, memory, metrics);
}

}  // namespace nervex::webhook
