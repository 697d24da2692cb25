// controller/decide/status/waiting.h - what does a job wait for: its base gang, later requests, an
// AggregatorConfig?
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/decide/round/round.h"

namespace nervex::controller {

// The content of a condition.
struct Finding {
  bool is_true = false;
  std::string_view reason;
  std::string message;
};

// For condition Scheduled: does the base gang have its placements, and if not, why?
Finding check_scheduled(const Round& round);
// For RequestsScheduled: the first requested gang that waits. nullopt: nothing was ever requested.
// A gang that was removed while waiting leaves no message.
std::optional<Finding> check_requests_scheduled(const Round& round);
// For AggregatorMissing. nullopt: the job has an aggregator, or wants none, and never lacked one.
std::optional<Finding> check_aggregator_missing(const Round& round);

// The job, or a part of it, waits for an AggregatorConfig.
bool waits_for_config(const Round& round);

}  // namespace nervex::controller
