#include "kube/leader/flags.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace nervex::kube {

void add_leader_flags(CLI::App& app, LeaderFlags& flags, const std::string& lease_name) {
  flags.lease.lease.name = lease_name;
  app.add_flag("--leader-elect", flags.elect,
               "elect a leader by the Lease " + lease_name +
                   ", and work only as the leader; false: work always")
      ->default_str("true");
  add_duration(app, "--leader-elect-lease-duration", flags.lease.lease_duration,
               "time after its last renewal when another replica may take the lease");
  add_duration(app, "--leader-elect-renew-deadline", flags.lease.renew_deadline,
               "how long the leader tries to renew the lease before it exits");
  add_duration(app, "--leader-elect-retry-period", flags.lease.retry_period,
               "time between tries to acquire or renew the lease");
  app.add_option("--leader-elect-resource-namespace", flags.lease.lease.ns,
                 "namespace of the Lease")
      ->type_name("NAME")
      ->capture_default_str();
  app.callback([&flags] {
    if (const auto checked = check(flags.lease); flags.elect && !checked) {
      throw CLI::ValidationError("--leader-elect-*", checked.error().message);
    }
  });
}

ConnectionConfig lease_connection(ConnectionConfig config, const LeaderFlags& flags) {
  config.request_timeout = std::min(config.request_timeout, flags.lease.renew_deadline / 2);
  return config;
}

std::optional<LeaseOptions> lease_options(const LeaderFlags& flags) {
  if (!flags.elect) return std::nullopt;
  LeaseOptions options = flags.lease;
  options.identity = make_lease_identity();
  return options;
}

}  // namespace nervex::kube
