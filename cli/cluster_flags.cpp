#include "cli/cluster_flags.h"

#include "base/clock.h"
#include "cli/checked_api.h"
#include "cli/failure.h"
#include "kube/client.h"

namespace nervex::cli {

void add_cluster_flags(CLI::App& command, ClusterFlags& flags) {
  command
      .add_option("--kubeconfig", flags.kubeconfig,
                  "kubeconfig file (default: $KUBECONFIG, else ~/.kube/config, else the service "
                  "account of the pod)")
      ->type_name("FILE");
  command
      .add_option("--context", flags.context,
                  "context of the kubeconfig (default: its current one)")
      ->type_name("NAME");
  command.add_option("-n,--namespace", flags.ns, "namespace (default: that of the context)")
      ->type_name("NAME");
}

Result<kube::ConnectionConfig> load_connection(const ClusterFlags& flags) {
  auto config = kube::load_user_config(flags.kubeconfig, flags.context);
  if (config && !flags.ns.empty()) config->ns = flags.ns;
  return config;
}

int with_cluster(const ClusterFlags& flags,
                 const std::function<int(kube::Api& api, const std::string& ns)>& work,
                 std::optional<std::chrono::milliseconds> limit) {
  const auto config = load_connection(flags);
  if (!config) return fail("find the API server", config.error());
  kube::Client client(*config, "nervexctl", [](const kube::RequestSeen& seen) {
    for (const auto& warning : kube::parse_warnings(seen.warnings)) note("warning: " + warning);
  });
  if (limit) client.end_calls_by(SystemClock().mono() + *limit + std::chrono::seconds(1));
  CheckedApi api(client, limit);
  return work(api, config->ns);
}

}  // namespace nervex::cli
