#include "webhook/flags.h"

#include <limits>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/tls/flags.h"

namespace nervex::webhook {
namespace {

void add_strictness(CLI::App& app, const std::string& flag, Strictness& value,
                    const std::string& variable, const std::string& help) {
  static const std::map<std::string, Strictness> kNames{
      {"off", Strictness::kOff}, {"warn", Strictness::kWarn}, {"refuse", Strictness::kRefuse}};
  app.add_option(flag, value, help + ": off, warn or refuse")
      ->transform(CLI::CheckedTransformer(kNames))
      ->envname(variable)
      ->type_name("WHAT")
      ->default_str(value == Strictness::kRefuse ? "refuse" : "warn");
}

}  // namespace

std::optional<int> parse(int argc, char** argv, Flags& flags) {
  CLI::App app("Validates NerveXJobs at admission and fills in their defaults.", "nervex-webhook");
  add_common_flags(app, flags.common, "0.0.0.0:9443", "address for the API server's calls (TLS)");
  add_tls_flags(app, flags.tls);
  app.add_option("--server-user", flags.server_user,
                 "user name of nervex-server, the only one that may write spec.requests")
      ->envname("NERVEX_SERVER_USER")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--dry-run-namespace", flags.dry_run_namespace,
                 "namespace of dry runs (of creating podtemplates) in which the API server checks "
                 "the templates of jobs; empty: no dry runs")
      ->envname("NERVEX_DRY_RUN_NAMESPACE")
      ->type_name("NAME")
      ->capture_default_str();
  add_object_name(app, "--aggregator-config", flags.aggregator_config,
                  "the AggregatorConfig of the cluster: a job gets a warning if it does not exist");
  add_strictness(app, "--host-access", flags.host_access, "NERVEX_HOST_ACCESS",
                 "jobs with templates beyond level baseline of Pod Security 1.36, or with volumes "
                 "such as nfs and csi");
  add_strictness(app, "--pod-access", flags.pod_access, "NERVEX_POD_ACCESS",
                 "jobs of users who may not create pods in their namespace");
  add_strictness(app, "--capacity", flags.capacity, "NERVEX_CAPACITY",
                 "jobs that could not run even if all nodes were empty");
  app.add_option(
         "--max-reservation-seconds", flags.max_reservation_seconds,
         "nervex-controller's limit on reservationSeconds: a job that asks for more gets a warning")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  add_list(app, "--topology-levels", flags.topology_levels, job::parse_topology_levels,
           "node labels that a job's topology may name, those with the largest domains first; as "
           "in nervex-extender");
  add_help_footer(app, "nervex-webhook --tls-cert-file tls.crt --tls-key-file tls.key");
  return parse_flags(app, argc, argv, flags.common);
}

}  // namespace nervex::webhook
