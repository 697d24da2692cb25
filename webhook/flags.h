// webhook/flags.h - how is nervex-webhook configured?
#pragma once

#include <optional>
#include <string>

#include "base/program.h"
#include "base/tls/certificate_files.h"
#include "webhook/review.h"

namespace nervex::webhook {

struct Flags {
  CommonFlags common;
  TlsFiles tls{"/etc/nervex/tls/tls.crt", "/etc/nervex/tls/tls.key"};
  std::string server_user = "system:serviceaccount:nervex-system:nervex-server";
  // Where pod templates are tried out; empty: they are not.
  std::string dry_run_namespace = "nervex-system";
  std::string aggregator_config = "nervex-system/aggregator-config";
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;
  Strictness host_access = Strictness::kWarn;
  Strictness pod_access = Strictness::kRefuse;
  Strictness capacity = Strictness::kWarn;
};

// nullopt: go on with `flags`; else the exit code.
std::optional<int> parse(int argc, char** argv, Flags& flags);

}  // namespace nervex::webhook
