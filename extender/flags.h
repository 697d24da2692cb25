// extender/flags.h - which flags has the extender?
#pragma once

#include <string>
#include <vector>

#include "base/program.h"
#include "base/tls/certificate_files.h"
#include "extender/bind/holds.h"
#include "job/topology_levels.h"
#include "kube/leader/flags.h"
#include "planner/facts/cycle_facts.h"
#include "planner/recovery/plan_expiry.h"

namespace nervex::extender {

struct Flags {
  CommonFlags common;
  kube::LeaderFlags leader;
  TlsFiles tls;  // none: plain HTTP, on loopback only
  HoldOptions holds;
  planner::PlanExpiryOptions plan_expiry;
  planner::CycleOptions cycle;
  std::chrono::milliseconds node_lost_after{60'000};  // 0: never
  std::string node_class_label = "nvidia.com/gpu.product";
  std::vector<std::string> topology_levels = job::default_topology_levels();
  std::string aggregator_config = "nervex-system/aggregator-config";  // of simulated jobs
};

// nullopt: continue with `flags`; else the exit code. A caller of bind can bind pods: an address
// beyond loopback is rejected unless callers must present a certificate.
std::optional<int> parse(int argc, char** argv, Flags& flags);

}  // namespace nervex::extender
