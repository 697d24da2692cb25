// controller/flags.h - which flags has the controller?
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/program.h"
#include "controller/decide/round/observed.h"
#include "kube/leader/flags.h"

namespace nervex::controller {

struct Flags {
  CommonFlags common;
  kube::LeaderFlags leader;
  std::string server_url = "nervex-server.nervex-system:8080";
  std::string aggregator_config = "nervex-system/aggregator-config";
  bool server_token = false;      // pods of jobs get a token for nervex-server
  bool shared_services = true;    // one headless Service per namespace; false: one per pod
  bool direct_placement = false;  // workers get their node at creation if the planner knows all
  int workers = 32;
  int concurrent_writes = 32;
  std::chrono::milliseconds status_update_period{2'000};  // of status writes that only inform
  std::chrono::milliseconds retry_delay{10'000};
  std::chrono::milliseconds start_timeout{0};  // of jobs without startTimeoutSeconds; 0: none
  std::chrono::milliseconds max_termination_grace{3'600'000};  // of pods that end; 0: no limit
  // The jobs of a namespace may ask for so many pods together; 0: no limit.
  std::int64_t max_pods_per_namespace = 250'000;
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;

  // Enough that no request waits for a connection: each worker may read, and two threads write
  // Events and EndpointSlices.
  std::size_t connections() const {
    return static_cast<std::size_t>(workers + concurrent_writes) + 2;
  }
};

// The exit code if the program has to end here (--help, --version, wrong usage).
std::optional<int> parse(int argc, char** argv, Flags& flags);

}  // namespace nervex::controller
