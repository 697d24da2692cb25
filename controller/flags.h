// controller/flags.h - what can be set from the command line or the environment?
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/program.h"
#include "kube/leader/flags.h"

namespace nervex::controller {

struct Flags {
  CommonFlags common;
  kube::LeaderFlags leader;
  std::string server_url = "nervex-server.nervex-system:8080";
  std::string aggregator_config = "nervex-system/aggregator-config";
  bool server_token = false;    // pods of jobs get a token for nervex-server
  bool shared_services = true;  // one headless Service per namespace; false: one per pod
  int workers = 4;
  std::chrono::milliseconds status_update_period{200};  // of changes that only move counts
  std::chrono::milliseconds retry_delay{10'000};
};

// The exit code if the program has to end here (--help, --version, wrong usage).
std::optional<int> parse(int argc, char** argv, Flags& flags);

}  // namespace nervex::controller
