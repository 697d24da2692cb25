// kube/leader/flags.h - which flags configure leader election?
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/program.h"
#include "kube/config.h"
#include "kube/leader/lease.h"

namespace nervex::kube {

// Names and defaults of Kubernetes' own components.
struct LeaderFlags {
  bool elect = true;
  LeaseOptions lease;  // without an identity
};

// Adds --leader-elect and --leader-elect-*. Inconsistent durations are a usage error. `flags` must
// live as long as `app`; `lease_name` is the Lease's.
void add_leader_flags(CLI::App& app, LeaderFlags& flags, const std::string& lease_name);

// For the client that renews the lease: a hanging call leaves time for another one on a new
// connection before the renew deadline.
ConnectionConfig lease_connection(ConnectionConfig config, const LeaderFlags& flags);

// With a new identity; nullopt: no election.
std::optional<LeaseOptions> lease_options(const LeaderFlags& flags);

}  // namespace nervex::kube
