// webhook/flags.h - which flags configure nervex-webhook?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/program.h"
#include "base/tls/certificate_files.h"
#include "job/topology_levels.h"
#include "webhook/review.h"

namespace nervex::webhook {

struct Flags {
  CommonFlags common;
  TlsFiles tls{"/etc/nervex/tls/tls.crt", "/etc/nervex/tls/tls.key"};
  std::string server_user = "system:serviceaccount:nervex-system:nervex-server";
  // Namespace for dry runs of pod templates; empty: no dry runs.
  std::string dry_run_namespace = "nervex-system";
  std::string aggregator_config = "nervex-system/aggregator-config";
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;
  std::vector<std::string> topology_levels = job::default_topology_levels();
  Strictness host_access = Strictness::kWarn;
  Strictness pod_access = Strictness::kRefuse;
  Strictness capacity = Strictness::kWarn;
};

// nullopt: continue with `flags`; else the exit code.
std::optional<int> parse(int argc, char** argv, Flags& flags);

}  // namespace nervex::webhook
