// kube/leader/flags.h - which flags say whether and how to elect a leader?
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/program.h"
#include "kube/config.h"
#include "kube/leader/lease.h"

namespace nervex::kube {

// Names and defaults as Kubernetes' own components have them.
struct LeaderFlags {
  bool elect = true;
  LeaseOptions lease;  // without an identity
};

// Adds --leader-elect and --leader-elect-*. Durations that do not fit each other are an error of
// usage. `flags` lives as long as `app`; `lease_name` is the Lease's.
void add_leader_flags(CLI::App& app, LeaderFlags& flags, const std::string& lease_name);

// For the client that renews the lease: a call that hangs leaves time for another one on a new
// connection, before the renew deadline.
ConnectionConfig lease_connection(ConnectionConfig config, const LeaderFlags& flags);

// With a new identity; nullopt: no election.
std::optional<LeaseOptions> lease_options(const LeaderFlags& flags);

}  // namespace nervex::kube
