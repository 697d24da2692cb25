#include "server/flags.h"

#include "base/tls_flags.h"
#include "job/types.h"

namespace nervex::server {

void add_flags(CLI::App& app, Flags& flags) {
  add_common_flags(app, flags.common, "0.0.0.0:8080", "where coordinators reach the replicas API");
  app.add_option_function<std::string>(
         "--auth", [&flags](const std::string& mode) { flags.auth_by_token = mode == "token"; },
         "who may call: none = everybody; token = pods their own job, by the token that "
         "nervex-controller --server-auth=token gives them, and whoever may patch it")
      ->type_name("")
      ->check(CLI::IsMember({"none", "token"}))
      ->default_str("none");
  add_tls_flags(app, flags.tls);
  app.add_option("--max-connections", flags.max_connections,
                 "connections served at once, each with a thread of its own")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  add_object_name(app, "--aggregator-config", flags.aggregator_config,
                  "AggregatorConfig that aggregators of multi-GPU learners are made from, as "
                  "nervex-controller has it");
  app.add_option("--max-replicas-per-request", flags.limits.replicas_per_request,
                 "replicas of one role that one request may add or replace (400 above)")
      ->check(CLI::Range(1, job::kMaxPodsPerJob))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--max-replicas-per-job", flags.limits.replicas_per_job,
                 "pods that a job can have at once: base replicas and what was requested, a "
                 "multi-GPU learner counting with each of its pods (409 above)")
      ->check(CLI::Range(1, job::kMaxPodsPerJob))
      ->type_name("N")
      ->capture_default_str();
  add_help_footer(app, "nervex-server --kubeconfig ~/.kube/config --listen 127.0.0.1:8080");
}

}  // namespace nervex::server
