#include "server/flags.h"

#include <CLI/CLI.hpp>

#include "base/tls/flags.h"
#include "job/types.h"

namespace nervex::server {
namespace {

AuthMode parse_auth(std::string_view mode) {
  if (mode == "token") return AuthMode::kToken;
  return mode == "transition" ? AuthMode::kTransition : AuthMode::kNone;
}

}  // namespace

std::optional<int> parse(int argc, char** argv, Flags& flags) {
  CLI::App app(
      "Serves the replicas API: running jobs add, remove and replace collectors and learners over "
      "HTTP.",
      "nervex-server");
  add_common_flags(app, flags.common, "0.0.0.0:8080", "address of the replicas API");
  app.add_option_function<std::string>(
         "--auth", [&flags](const std::string& mode) { flags.auth = parse_auth(mode); },
         "who may call. none: all callers. token: a pod for its own job, with the token that it "
         "gets from nervex-controller --server-auth=token; and users, who need the right to patch "
         "the job to change its replicas, to get it to see them, and to list nervexjobs to see "
         "those of several jobs. transition: as token, and a pod that was created without a token "
         "for its own job, by its source address")
      ->type_name("")
      ->check(CLI::IsMember({"none", "transition", "token"}))
      ->default_str("none");
  add_tls_flags(app, flags.tls);
  app.add_option("--max-connections", flags.max_connections,
                 "maximum number of connections; each has its own thread")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option(
         "--max-connections-per-address", flags.max_connections_per_address,
         "maximum number of connections from one address, so that one caller cannot lock out "
         "others; 0: a quarter of --max-connections. Raise it if callers come through a proxy")
      ->check(CLI::Range(0, 100'000))
      ->type_name("N")
      ->capture_default_str();
  add_object_name(app, "--aggregator-config", flags.aggregator_config,
                  "the AggregatorConfig; must be the same as in nervex-controller");
  app.add_option(
         "--max-replicas-per-request", flags.limits.replicas_per_request,
         "maximum number of replicas of one role that one request may add or replace; more is "
         "answered with 400")
      ->check(CLI::Range(1, job::kMaxPodsPerJob))
      ->type_name("N")
      ->capture_default_str();
  app.add_option(
         "--max-replicas-per-job", flags.limits.replicas_per_job,
         "maximum number of pods of a job: base replicas, requested replicas, and each pod of "
         "a multi-GPU learner; more is answered with 409")
      ->check(CLI::Range(1, job::kMaxPodsPerJob))
      ->type_name("N")
      ->capture_default_str();
  add_help_footer(app, "nervex-server --kubeconfig ~/.kube/config --listen 127.0.0.1:8080");
  return parse_flags(app, argc, argv, flags.common);
}

}  // namespace nervex::server
