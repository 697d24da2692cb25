// nervex-webhook: admission of NerveXJobs.
#include <thread>

#include "base/http_server.h"
#include "base/program.h"
#include "kube/client.h"
#include "webhook/answer.h"
#include "webhook/flags.h"
#include "webhook/live_check.h"

namespace nervex::webhook {
namespace {

constexpr const char* kMutatePath = "/mutate-nervex-sensetime-com-v1alpha1-nervexjob";
constexpr const char* kValidatePath = "/validate-nervex-sensetime-com-v1alpha1-nervexjob";

HttpServerOptions server_options(const Flags& flags) {
  return {.listen = flags.common.listen,
          .tls = flags.tls,
          .max_connections = 256,
          .max_body_bytes = std::size_t{7} << 20U,  // an object of 3 MiB, old and new
          .allow_chunked_bodies = false};           // API servers send Content-Length
}

void add_hook(HttpServer& server, const std::string& path, Hook hook, const LiveCheck& check,
              const std::string& server_user) {
  server.handle(path, [hook, &check, server_user](const HttpRequest& request) {
    return answer(request, hook, check.current().get(), server_user);
  });
}

int run(int argc, char** argv) {
  CLI::App app("Checks NerveXJobs at admission", "nervex-webhook");
  Flags flags;
  add_flags(app, flags);
  if (const auto exit_code = parse_flags(app, argc, argv, flags.common)) return *exit_code;

  StopSignal stop;
  const auto config = kube::load_config(flags.common.kubeconfig);
  if (!config) return fatal("read the connection to the API server", config.error());
  kube::Client api(*config, "nervex-webhook");
  LiveCheck check(api);
  HttpServer server(server_options(flags));
  add_hook(server, kMutatePath, Hook::kMutate, check, flags.server_user);
  add_hook(server, kValidatePath, Hook::kValidate, check, flags.server_user);
  add_health_routes(server, [&check] { return check.not_ready(); });
  if (const auto started = server.start(); !started) return fatal("serve", started.error());
  log_info("serving", {{"port", std::to_string(server.port())}});

  const std::jthread loader([&check](std::stop_token token) { check.load_until_done(token); });
  stop.wait();
  server.stop();
  return kExitOk;
}

}  // namespace
}  // namespace nervex::webhook

int main(int argc, char** argv) { return nervex::webhook::run(argc, argv); }
