#include "controller/flags.h"

#include <CLI/CLI.hpp>
#include <limits>

namespace nervex::controller {
namespace {

// Common copy-and-paste mistakes.
std::string without_scheme(std::string& text) {
  constexpr std::string_view kScheme = "http://";
  if (text.starts_with(kScheme)) text.erase(0, kScheme.size());
  return "";
}

// Pods get HOST:PORT, as the contract requires; a scheme would reach clients that add their own.
std::string check_address(const std::string& text) {
  const auto colon = text.rfind(':');
  const bool is_good = colon != std::string::npos && colon > 0 && colon + 1 < text.size() &&
                       text.find('/') == std::string::npos;
  return is_good ? "" : "must be HOST:PORT, without a scheme";
}

}  // namespace

std::optional<int> parse(int argc, char** argv, Flags& flags) {
  CLI::App app(
      "Controller of NerveXJobs: creates their pods and services, and writes their status.",
      "nervex-controller");
  add_common_flags(app, flags.common, "", "");
  kube::add_leader_flags(app, flags.leader, "nervex-controller");
  app.add_option("--server-url", flags.server_url,
                 "address of nervex-server that pods of jobs get; a leading http:// is dropped")
      ->type_name("HOST:PORT")
      ->transform(CLI::Validator(without_scheme, ""))
      ->check(CLI::Validator(check_address, ""))
      ->capture_default_str();
  add_object_name(app, "--aggregator-config", flags.aggregator_config,
                  "the AggregatorConfig: the template of aggregator pods");
  app.add_option_function<std::string>(
         "--server-auth",
         [&flags](const std::string& mode) { flags.server_token = mode == "token"; },
         "nervex-server's --auth; with token, pods of jobs get a token for it")
      ->type_name("")
      ->check(CLI::IsMember({"none", "token"}))
      ->default_str("none");
  app.add_option_function<std::string>(
         "--services",
         [&flags](const std::string& mode) { flags.shared_services = mode == "shared"; },
         "what gives pods their names <pod>.<namespace>: one headless Service per namespace "
         "(shared), or one per pod (per-pod)")
      ->type_name("")
      ->check(CLI::IsMember({"shared", "per-pod"}))
      ->default_str("shared");
  app.add_flag("--direct-placement", flags.direct_placement,
               "create the workers that a job starts with on their nodes, past kube-scheduler, "
               "where nervex-extender knows all that decides where they may go; the coordinator "
               "is bound when the kubelets have started them. Faster; what else writes pods to "
               "those nodes is found out by kubelets then, see docs/concepts/direct-placement.md");
  app.add_option("--workers", flags.workers, "jobs that are reconciled in parallel")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--concurrent-writes", flags.concurrent_writes,
                 "writes that are sent to the API server in parallel, over all jobs")
      ->type_name("N")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  add_duration(app, "--status-update-period", flags.status_update_period,
               "least time between two status writes of a job of which the second only tells of "
               "progress: pods that start or become ready, a gang that is placed");
  add_duration(
      app, "--retry-delay", flags.retry_delay,
      "back-off before a failed attempt of a job is retried, doubling up to 6 min; also the "
      "least time between two attempts that were requeued without a failure");
  add_duration(
      app, "--start-timeout", flags.start_timeout,
      "time from when a job's first pod is bound until all pods of its base gang must run; "
      "then the attempt has failed and gives its capacity back. Of jobs without "
      "startTimeoutSeconds; 0s: no limit");
  app.add_option("--max-reservation-seconds", flags.max_reservation_seconds,
                 "limit on reservationSeconds of jobs, which keep the capacity of reservedReplicas "
                 "from others. "
                 "Set the same in nervex-webhook, which warns of more")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  add_help_footer(app,
                  "nervex-controller --kubeconfig ~/.kube/config --leader-elect=false --workers 8");
  return parse_flags(app, argc, argv, flags.common);
}

}  // namespace nervex::controller
