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

// The largest job has to fit, or it would never start.
std::string check_pod_limit(const std::string& text) {
  constexpr std::int64_t kMost = 1'000'000'000;
  std::int64_t value = 0;
  const bool is_number = CLI::detail::lexical_cast(text, value);
  const bool is_good = is_number && (value == 0 || (value >= kMaxGroupPods && value <= kMost));
  return is_good ? "" : "must be 0, or the pods of the largest job, 10000, to 1000000000";
}

}  // namespace

std::optional<int> parse(int argc, char** argv, Flags& flags) {
  CLI::App app(
      "Controller of NerveXJobs: creates their pods and services, and writes their status.",
      "nervex-controller");
  add_common_flags(app, flags.common, "", "");
  kube::add_leader_flags(app, flags.leader, "nervex-controller");
  app.add_option("--server-url", flags.server_url,
                 "address of nervex-server for the pods of jobs; a leading http:// is removed")
      ->type_name("HOST:PORT")
      ->transform(CLI::Validator(without_scheme, ""))
      ->check(CLI::Validator(check_address, ""))
      ->capture_default_str();
  add_object_name(app, "--aggregator-config", flags.aggregator_config,
                  "the AggregatorConfig with the template of aggregator pods");
  app.add_option_function<std::string>(
         "--server-auth",
         [&flags](const std::string& mode) { flags.server_token = mode == "token"; },
         "with token, new pods of jobs get a token for nervex-server, which its --auth=token and "
         "--auth=transition need")
      ->type_name("")
      ->check(CLI::IsMember({"none", "token"}))
      ->default_str("none");
  app.add_option_function<std::string>(
         "--services",
         [&flags](const std::string& mode) { flags.shared_services = mode == "shared"; },
         "how pods get their DNS names <pod>.<namespace>: from one headless Service per namespace "
         "(shared), or one per pod (per-pod)")
      ->type_name("")
      ->check(CLI::IsMember({"shared", "per-pod"}))
      ->default_str("shared");
  app.add_flag(
      "--direct-placement", flags.direct_placement,
      "create the initial workers of a gang on their planned nodes, without kube-scheduler, if "
      "nervex-extender knows all their constraints; the coordinator is bound when the kubelets "
      "have started them. This is faster, but conflicts with pods that others place on those nodes "
      "are found only by the kubelets; see docs/concepts/direct-placement.md");
  app.add_option("--workers", flags.workers, "number of jobs that are reconciled in parallel")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--concurrent-writes", flags.concurrent_writes,
                 "number of writes to the API server in parallel, over all jobs")
      ->type_name("N")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  add_duration(app, "--status-update-period", flags.status_update_period,
               "minimum time between two status writes of a job that only report progress: pods "
               "that start or become ready, a gang that is placed");
  add_duration(app, "--retry-delay", flags.retry_delay,
               "back-off before the first retry of a job, doubling up to 6 min; also the minimum "
               "time between two requeues");
  add_duration(
      app, "--start-timeout", flags.start_timeout,
      "default of startTimeoutSeconds of jobs: an attempt fails, and its capacity is released, if "
      "not all pods of its base gang run within this time after the first was bound; 0s: no limit");
  add_duration(app, "--max-termination-grace", flags.max_termination_grace,
               "limit on the grace period of jobs' pods that are being deleted: a longer one is "
               "shortened to it, so that a pod cannot keep its capacity from others; 0s: no limit");
  app.add_option(
         "--max-pods-per-namespace", flags.max_pods_per_namespace,
         "number of pods that the jobs of a namespace may ask for together, with four times "
         "as many in all namespaces: a short job may ask for thousands, which cost memory "
         "while they wait; at least 10000, or 0: no limit")
      ->type_name("N")
      ->check(check_pod_limit)
      ->capture_default_str();
  app.add_option(
         "--max-reservation-seconds", flags.max_reservation_seconds,
         "limit on reservationSeconds, the time for which a job may reserve capacity for requests; "
         "set the same in nervex-webhook, which warns about jobs that ask for more")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  add_help_footer(app,
                  "nervex-controller --kubeconfig ~/.kube/config --leader-elect=false --workers 8");
  return parse_flags(app, argc, argv, flags.common);
}

}  // namespace nervex::controller
